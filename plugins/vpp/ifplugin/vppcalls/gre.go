package vppcalls

import (
	"context"
	"errors"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gre"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// GreDevice is the device class of GRE tunnels.
const GreDevice = "GRE tunnel device"

// What a GRE tunnel carries.
const (
	// GreL3 is IP packets.
	GreL3 = uint8(gre.GRE_API_TUNNEL_TYPE_L3)
	// GreTEB is Ethernet frames.
	GreTEB = uint8(gre.GRE_API_TUNNEL_TYPE_TEB)
	// GreERSPAN is mirrored Ethernet frames, see SPAN.
	GreERSPAN = uint8(gre.GRE_API_TUNNEL_TYPE_ERSPAN)
)

var setGre = session.Require(&Operations, "interface GRE_TUNNEL", "gre",
	(*gre.GreTunnelAddDel)(nil), (*gre.GreTunnelAddDelReply)(nil))

// Gre is a GRE tunnel between two points, wanted or as VPP has it.
type Gre struct {
	Src, Dst netip.Addr
	Type     uint8
	// Vrf is the table in which the other end is looked up.
	Vrf uint32
	// Session is the number of an ERSPAN session, up to 1023.
	Session uint16
}

// CreateGre creates a tunnel. The error is api.IF_ALREADY_EXISTS if there is one.
func (c *Calls) CreateGre(ctx context.Context, t Gre) (swIfIndex uint32, err error) {
	return c.setGre(ctx, true, t)
}

// DeleteGre deletes a tunnel. If it does not exist, that is a success.
func (c *Calls) DeleteGre(ctx context.Context, swIfIndex uint32) error {
	all, err := c.dumpGres(ctx, swIfIndex)
	if err != nil {
		return err
	}
	t, ok := all[swIfIndex]
	if !ok {
		return nil
	}
	if _, err = c.setGre(ctx, false, t); errors.Is(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

// DumpGres returns all tunnels by the index of the interface.
func (c *Calls) DumpGres(ctx context.Context) (map[uint32]Gre, error) {
	return c.dumpGres(ctx, NoInterface)
}

// setGre uses the message without keys, which all releases have: the newer one
// came together with a dump that cannot be used.
func (c *Calls) setGre(ctx context.Context, add bool, t Gre) (uint32, error) {
	reply := &gre.GreTunnelAddDelReply{}
	err := c.call(ctx, setGre, &gre.GreTunnelAddDel{IsAdd: add, Tunnel: gre.GreTunnel{
		Type: gre.GreTunnelType(t.Type), SessionID: t.Session, Instance: anyInstance, OuterTableID: t.Vrf,
		Src: ipconv.Address(t.Src), Dst: ipconv.Address(t.Dst),
	}}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) dumpGres(ctx context.Context, swIfIndex uint32) (map[uint32]Gre, error) {
	found, err := session.Dump[*gre.GreTunnelDetails](ctx, c.vpp, &gre.GreTunnelDump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Gre, len(found))
	for _, d := range found {
		out[uint32(d.Tunnel.SwIfIndex)] = Gre{
			Src: ipconv.FromAddress(d.Tunnel.Src), Dst: ipconv.FromAddress(d.Tunnel.Dst),
			Type: uint8(d.Tunnel.Type), Vrf: d.Tunnel.OuterTableID, Session: d.Tunnel.SessionID,
		}
	}
	return out, nil
}
