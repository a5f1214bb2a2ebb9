package vnet

import (
	"crypto/ecdh"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/wireguard"
)

const wireguardDevice = "Wireguard Tunnel"

type wireguards struct {
	*VNet
	kind[wireguard.WireguardInterface]
}

func newWireguards(n *VNet) feature { return &wireguards{VNet: n} }

func (ws *wireguards) register(server *wire.Server) {
	handleCreate[wireguard.WireguardInterfaceCreateReply](server, func(req *wireguard.WireguardInterfaceCreate) (ifIndex, retval) {
		return ws.createWireguard(req.Interface)
	})
	handle[wireguard.WireguardInterfaceDeleteReply](server, ws.deleteWireguard)
	wire.HandleDump(server, func(c *wire.Call, req *wireguard.WireguardInterfaceDump) {
		for index, w := range ws.of(req.SwIfIndex) {
			d := &wireguard.WireguardInterfaceDetails{Interface: *w}
			d.Interface.SwIfIndex = index
			if !req.ShowPrivateKey {
				d.Interface.PrivateKey = make([]byte, len(w.PrivateKey))
			}
			c.Send(d)
		}
	})
}

func (ws *wireguards) reset() { ws.kind = kind[wireguard.WireguardInterface]{} }

// createWireguard makes wg<instance>, down, with the lowest free instance if none
// is asked for. VPP finds the public key out by itself.
func (ws *wireguards) createWireguard(w wireguard.WireguardInterface) (ifIndex, retval) {
	key, err := ecdh.X25519().NewPrivateKey(w.PrivateKey)
	if err != nil {
		return noInterface, api.INVALID_REGISTRATION
	}
	if w.UserInstance == none {
		w.UserInstance = ws.names.take()
	} else if !ws.names.claim(w.UserInstance) {
		return noInterface, api.INVALID_REGISTRATION
	}
	w.PublicKey = key.PublicKey().Bytes()
	i := ws.newTunnel(fmt.Sprintf("wg%d", w.UserInstance), wireguardDevice, 0)
	ws.keep(i, &w)
	return ifIndex(i.index), ok
}

func (ws *wireguards) deleteWireguard(req *wireguard.WireguardInterfaceDelete) retval {
	i := ws.byIndex(req.SwIfIndex)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case i.isSub || i.hw.device != wireguardDevice:
		return api.INVALID_VALUE
	}
	ws.names.release(ws.at(i.hw.instance).config.UserInstance)
	ws.remove(i.hw.instance)
	ws.deleteHardware(i.hw)
	return ok
}
