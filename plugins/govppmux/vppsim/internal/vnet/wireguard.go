package vnet

import (
	"crypto/ecdh"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/wireguard"
)

const wireguardDevice = "Wireguard Tunnel"

type wireguards struct {
	pool[wireguardInterface]
	names instances
}

type wireguardInterface struct {
	swIndex uint32
	wireguard.WireguardInterface
}

func (n *VNet) handleWireguards() {
	wire.Handle(n.server, func(_ *wire.Call, req *wireguard.WireguardInterfaceCreate) *wireguard.WireguardInterfaceCreateReply {
		index, rv := n.createWireguard(req.Interface)
		return &wireguard.WireguardInterfaceCreateReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *wireguard.WireguardInterfaceDelete) *wireguard.WireguardInterfaceDeleteReply {
		return &wireguard.WireguardInterfaceDeleteReply{Retval: int32(n.deleteWireguard(req.SwIfIndex))}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *wireguard.WireguardInterfaceDump) {
		for _, w := range n.tunnels.wireguard.all() {
			if req.SwIfIndex != noInterface && uint32(req.SwIfIndex) != w.swIndex {
				continue
			}
			d := &wireguard.WireguardInterfaceDetails{Interface: w.WireguardInterface}
			d.Interface.SwIfIndex = interface_types.InterfaceIndex(w.swIndex)
			if !req.ShowPrivateKey {
				d.Interface.PrivateKey = make([]byte, len(w.PrivateKey))
			}
			c.Send(d)
		}
	})
}

// createWireguard makes wg<instance>, down, with the lowest free instance if none
// is asked for. VPP finds the public key out by itself.
func (n *VNet) createWireguard(w wireguard.WireguardInterface) (interface_types.InterfaceIndex, api.VPPApiError) {
	key, err := ecdh.X25519().NewPrivateKey(w.PrivateKey)
	if err != nil {
		return noInterface, api.INVALID_REGISTRATION
	}
	if w.UserInstance == none {
		w.UserInstance = n.tunnels.wireguard.names.take()
	} else if !n.tunnels.wireguard.names.claim(w.UserInstance) {
		return noInterface, api.INVALID_REGISTRATION
	}
	w.PublicKey = key.PublicKey().Bytes()
	i := n.newTunnel(fmt.Sprintf("wg%d", w.UserInstance), wireguardDevice, 0)
	i.hw.instance = n.tunnels.wireguard.add(&wireguardInterface{swIndex: i.index, WireguardInterface: w})
	return interface_types.InterfaceIndex(i.index), ok
}

func (n *VNet) deleteWireguard(index interface_types.InterfaceIndex) api.VPPApiError {
	i := n.byIndex(index)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case i.isSub || i.hw.device != wireguardDevice:
		return api.INVALID_VALUE
	}
	n.tunnels.wireguard.names.release(n.tunnels.wireguard.at(i.hw.instance).UserInstance)
	n.tunnels.wireguard.remove(i.hw.instance)
	n.deleteHardware(i.hw)
	return ok
}
