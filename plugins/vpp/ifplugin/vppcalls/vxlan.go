package vppcalls

import (
	"context"
	"errors"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vxlan"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// VxlanDevice is the device class of VXLAN tunnels.
const VxlanDevice = "VXLAN"

// Vxlan is a VXLAN tunnel, wanted or as VPP has it.
type Vxlan struct {
	Src, Dst netip.Addr
	VNI      uint32
	// Vrf is the table in which the other end is looked up.
	Vrf uint32
	// Multicast is the interface of the group if Dst is a multicast address, else
	// NoInterface.
	Multicast uint32
	// srcPort and dstPort are 0 for those of the protocol.
	srcPort, dstPort uint16
}

// vxlanVariant makes, removes and dumps tunnels.
type vxlanVariant struct {
	set  func(c *Calls, ctx context.Context, add bool, t Vxlan) (swIfIndex uint32, err error)
	dump func(c *Calls, ctx context.Context, swIfIndex uint32) (map[uint32]Vxlan, error)
}

var vxlanTunnels = session.Declare(&Operations, "interface VXLAN_TUNNEL", "vxlan",
	session.Variant(vxlanVariant{(*Calls).setVxlanV3, (*Calls).dumpVxlansV2},
		(*vxlan.VxlanAddDelTunnelV3)(nil), (*vxlan.VxlanAddDelTunnelV3Reply)(nil),
		(*vxlan.VxlanTunnelV2Dump)(nil), (*vxlan.VxlanTunnelV2Details)(nil)),
	session.Variant(vxlanVariant{(*Calls).setVxlanV1, (*Calls).dumpVxlansV1},
		(*vxlan.VxlanAddDelTunnel)(nil), (*vxlan.VxlanAddDelTunnelReply)(nil),
		(*vxlan.VxlanTunnelDump)(nil), (*vxlan.VxlanTunnelDetails)(nil)))

// CreateVxlan creates a tunnel that is administratively up. The error is
// api.TUNNEL_EXIST if there is one.
func (c *Calls) CreateVxlan(ctx context.Context, t Vxlan) (swIfIndex uint32, err error) {
	return c.setVxlan(ctx, true, t)
}

// DeleteVxlan deletes a tunnel. If it does not exist, that is a success.
func (c *Calls) DeleteVxlan(ctx context.Context, swIfIndex uint32) error {
	all, err := c.dumpVxlans(ctx, swIfIndex)
	if err != nil {
		return err
	}
	t, ok := all[swIfIndex]
	if !ok {
		return nil
	}
	if _, err = c.setVxlan(ctx, false, t); errors.Is(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

// DumpVxlans returns all tunnels by the index of the interface; none if VPP has
// no such tunnels.
func (c *Calls) DumpVxlans(ctx context.Context) (map[uint32]Vxlan, error) {
	return c.dumpVxlans(ctx, NoInterface)
}

func (c *Calls) setVxlan(ctx context.Context, add bool, t Vxlan) (uint32, error) {
	tunnels, err := vxlanTunnels.On(c.vpp)
	if err != nil {
		return NoInterface, err
	}
	return tunnels.set(c, ctx, add, t)
}

func (c *Calls) dumpVxlans(ctx context.Context, swIfIndex uint32) (map[uint32]Vxlan, error) {
	switch tunnels, err := vxlanTunnels.On(c.vpp); {
	case errors.Is(err, binding.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return tunnels.dump(c, ctx, swIfIndex)
	}
}

// anyInstance and anyNext leave the choice to VPP.
const (
	anyInstance = ^uint32(0)
	anyNext     = ^uint32(0)
)

func (c *Calls) setVxlanV3(ctx context.Context, add bool, t Vxlan) (uint32, error) {
	reply := &vxlan.VxlanAddDelTunnelV3Reply{}
	err := c.vpp.Call(ctx, &vxlan.VxlanAddDelTunnelV3{
		IsAdd: add, Instance: anyInstance, SrcAddress: ipconv.Address(t.Src), DstAddress: ipconv.Address(t.Dst),
		SrcPort: t.srcPort, DstPort: t.dstPort, McastSwIfIndex: interface_types.InterfaceIndex(t.Multicast),
		EncapVrfID: t.Vrf, DecapNextIndex: anyNext, Vni: t.VNI,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) setVxlanV1(ctx context.Context, add bool, t Vxlan) (uint32, error) {
	reply := &vxlan.VxlanAddDelTunnelReply{}
	err := c.vpp.Call(ctx, &vxlan.VxlanAddDelTunnel{
		IsAdd: add, Instance: anyInstance, SrcAddress: ipconv.Address(t.Src), DstAddress: ipconv.Address(t.Dst),
		McastSwIfIndex: interface_types.InterfaceIndex(t.Multicast), EncapVrfID: t.Vrf, DecapNextIndex: anyNext, Vni: t.VNI,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) dumpVxlansV2(ctx context.Context, swIfIndex uint32) (map[uint32]Vxlan, error) {
	found, err := session.Dump[*vxlan.VxlanTunnelV2Details](ctx, c.vpp, &vxlan.VxlanTunnelV2Dump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Vxlan, len(found))
	for _, d := range found {
		out[uint32(d.SwIfIndex)] = Vxlan{
			Src: ipconv.FromAddress(d.SrcAddress), Dst: ipconv.FromAddress(d.DstAddress), VNI: d.Vni, Vrf: d.EncapVrfID,
			Multicast: uint32(d.McastSwIfIndex), srcPort: d.SrcPort, dstPort: d.DstPort,
		}
	}
	return out, nil
}

func (c *Calls) dumpVxlansV1(ctx context.Context, swIfIndex uint32) (map[uint32]Vxlan, error) {
	found, err := session.Dump[*vxlan.VxlanTunnelDetails](ctx, c.vpp, &vxlan.VxlanTunnelDump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Vxlan, len(found))
	for _, d := range found {
		out[uint32(d.SwIfIndex)] = Vxlan{
			Src: ipconv.FromAddress(d.SrcAddress), Dst: ipconv.FromAddress(d.DstAddress), VNI: d.Vni, Vrf: d.EncapVrfID,
			Multicast: uint32(d.McastSwIfIndex),
		}
	}
	return out, nil
}
