package vppcalls

import (
	"context"
	"errors"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/wireguard"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// WireguardDevice is the device class of WireGuard interfaces.
const WireguardDevice = "Wireguard Tunnel"

// WireguardKeySize is the number of bytes in a key.
const WireguardKeySize = 32

var createWireguard = session.Require(&Operations, "interface WIREGUARD_TUNNEL", "wireguard",
	(*wireguard.WireguardInterfaceCreate)(nil), (*wireguard.WireguardInterfaceCreateReply)(nil))

// Wireguard is a WireGuard interface, wanted or as VPP has it.
type Wireguard struct {
	PrivateKey [WireguardKeySize]byte
	Port       uint16
	Src        netip.Addr
}

// CreateWireguard creates a WireGuard interface without peers.
func (c *Calls) CreateWireguard(ctx context.Context, w Wireguard) (swIfIndex uint32, err error) {
	reply := &wireguard.WireguardInterfaceCreateReply{}
	err = c.call(ctx, createWireguard, &wireguard.WireguardInterfaceCreate{Interface: wireguard.WireguardInterface{
		UserInstance: anyInstance, PrivateKey: w.PrivateKey[:], PublicKey: make([]byte, WireguardKeySize),
		Port: w.Port, SrcIP: ipconv.Address(w.Src),
	}}, reply)
	return uint32(reply.SwIfIndex), err
}

// DeleteWireguard deletes a WireGuard interface with its peers. If it does not
// exist, that is a success.
func (c *Calls) DeleteWireguard(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &wireguard.WireguardInterfaceDelete{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &wireguard.WireguardInterfaceDeleteReply{})
	if session.Gone(err) || errors.Is(err, api.INVALID_SW_IF_INDEX_2) {
		return nil
	}
	return err
}

// DumpWireguards returns all WireGuard interfaces by index, with their keys.
func (c *Calls) DumpWireguards(ctx context.Context) (map[uint32]Wireguard, error) {
	found, err := session.Dump[*wireguard.WireguardInterfaceDetails](ctx, c.vpp, &wireguard.WireguardInterfaceDump{
		ShowPrivateKey: true, SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Wireguard, len(found))
	for _, d := range found {
		w := Wireguard{Port: d.Interface.Port, Src: ipconv.FromAddress(d.Interface.SrcIP)}
		copy(w.PrivateKey[:], d.Interface.PrivateKey)
		out[uint32(d.Interface.SwIfIndex)] = w
	}
	return out, nil
}
