package vppcalls

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/vxlan_gpe"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// VxlanGpeDevice is the device class of VXLAN-GPE tunnels.
const VxlanGpeDevice = "VXLAN_GPE"

// VxlanGpe is a VXLAN-GPE tunnel, wanted or as VPP has it.
type VxlanGpe struct {
	Vxlan
	// Protocol is what it carries, in the numbers of VPP.
	Protocol uint8
	// DecapVrf is the table for received IPv4 packets.
	DecapVrf uint32
}

// vxlanGpeVariant makes, removes and dumps tunnels.
type vxlanGpeVariant struct {
	set  func(c *Calls, ctx context.Context, add bool, t VxlanGpe) (swIfIndex uint32, err error)
	dump func(c *Calls, ctx context.Context, swIfIndex uint32) (map[uint32]VxlanGpe, error)
}

var vxlanGpeTunnels = session.Declare(&Operations, "interface VXLAN_TUNNEL: GPE", "vxlan-gpe",
	session.Variant(vxlanGpeVariant{(*Calls).setVxlanGpeV2, (*Calls).dumpVxlanGpesV2},
		(*vxlan_gpe.VxlanGpeAddDelTunnelV2)(nil), (*vxlan_gpe.VxlanGpeAddDelTunnelV2Reply)(nil),
		(*vxlan_gpe.VxlanGpeTunnelV2Dump)(nil), (*vxlan_gpe.VxlanGpeTunnelV2Details)(nil)),
	session.Variant(vxlanGpeVariant{(*Calls).setVxlanGpeV1, (*Calls).dumpVxlanGpesV1},
		(*vxlan_gpe.VxlanGpeAddDelTunnel)(nil), (*vxlan_gpe.VxlanGpeAddDelTunnelReply)(nil),
		(*vxlan_gpe.VxlanGpeTunnelDump)(nil), (*vxlan_gpe.VxlanGpeTunnelDetails)(nil)))

// CreateVxlanGpe creates a tunnel that is administratively up. The error is
// api.TUNNEL_EXIST if there is one.
func (c *Calls) CreateVxlanGpe(ctx context.Context, t VxlanGpe) (swIfIndex uint32, err error) {
	return c.setVxlanGpe(ctx, true, t)
}

// DeleteVxlanGpe deletes a tunnel. If it does not exist, that is a success. VPP
// keeps the interface, with its tag, hidden for the next tunnel.
func (c *Calls) DeleteVxlanGpe(ctx context.Context, swIfIndex uint32) error {
	all, err := c.dumpVxlanGpes(ctx, swIfIndex)
	if err != nil {
		return err
	}
	t, ok := all[swIfIndex]
	if !ok {
		return nil
	}
	if _, err = c.setVxlanGpe(ctx, false, t); errors.Is(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

// DumpVxlanGpes returns all tunnels by the index of the interface; none if VPP
// has no such tunnels.
func (c *Calls) DumpVxlanGpes(ctx context.Context) (map[uint32]VxlanGpe, error) {
	return c.dumpVxlanGpes(ctx, NoInterface)
}

func (c *Calls) setVxlanGpe(ctx context.Context, add bool, t VxlanGpe) (uint32, error) {
	tunnels, err := vxlanGpeTunnels.On(c.vpp)
	if err != nil {
		return NoInterface, err
	}
	return tunnels.set(c, ctx, add, t)
}

func (c *Calls) dumpVxlanGpes(ctx context.Context, swIfIndex uint32) (map[uint32]VxlanGpe, error) {
	switch tunnels, err := vxlanGpeTunnels.On(c.vpp); {
	case errors.Is(err, binding.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return tunnels.dump(c, ctx, swIfIndex)
	}
}

func (c *Calls) setVxlanGpeV2(ctx context.Context, add bool, t VxlanGpe) (uint32, error) {
	reply := &vxlan_gpe.VxlanGpeAddDelTunnelV2Reply{}
	err := c.vpp.Call(ctx, &vxlan_gpe.VxlanGpeAddDelTunnelV2{
		IsAdd: add, Local: ipconv.Address(t.Src), Remote: ipconv.Address(t.Dst), LocalPort: t.srcPort, RemotePort: t.dstPort,
		McastSwIfIndex: interface_types.InterfaceIndex(t.Multicast), EncapVrfID: t.Vrf, DecapVrfID: t.DecapVrf,
		Protocol: ip_types.IPProto(t.Protocol), Vni: t.VNI,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) setVxlanGpeV1(ctx context.Context, add bool, t VxlanGpe) (uint32, error) {
	reply := &vxlan_gpe.VxlanGpeAddDelTunnelReply{}
	err := c.vpp.Call(ctx, &vxlan_gpe.VxlanGpeAddDelTunnel{
		IsAdd: add, Local: ipconv.Address(t.Src), Remote: ipconv.Address(t.Dst),
		McastSwIfIndex: interface_types.InterfaceIndex(t.Multicast), EncapVrfID: t.Vrf, DecapVrfID: t.DecapVrf,
		Protocol: ip_types.IPProto(t.Protocol), Vni: t.VNI,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) dumpVxlanGpesV2(ctx context.Context, swIfIndex uint32) (map[uint32]VxlanGpe, error) {
	found, err := session.Dump[*vxlan_gpe.VxlanGpeTunnelV2Details](ctx, c.vpp, &vxlan_gpe.VxlanGpeTunnelV2Dump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]VxlanGpe, len(found))
	for _, d := range found {
		out[uint32(d.SwIfIndex)] = VxlanGpe{Vxlan: Vxlan{
			Src: ipconv.FromAddress(d.Local), Dst: ipconv.FromAddress(d.Remote), VNI: d.Vni, Vrf: d.EncapVrfID,
			Multicast: uint32(d.McastSwIfIndex), srcPort: d.LocalPort, dstPort: d.RemotePort,
		}, Protocol: uint8(d.Protocol), DecapVrf: d.DecapVrfID}
	}
	return out, nil
}

func (c *Calls) dumpVxlanGpesV1(ctx context.Context, swIfIndex uint32) (map[uint32]VxlanGpe, error) {
	found, err := session.Dump[*vxlan_gpe.VxlanGpeTunnelDetails](ctx, c.vpp, &vxlan_gpe.VxlanGpeTunnelDump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]VxlanGpe, len(found))
	for _, d := range found {
		out[uint32(d.SwIfIndex)] = VxlanGpe{Vxlan: Vxlan{
			Src: ipconv.FromAddress(d.Local), Dst: ipconv.FromAddress(d.Remote), VNI: d.Vni, Vrf: d.EncapVrfID,
			Multicast: uint32(d.McastSwIfIndex),
		}, Protocol: uint8(d.Protocol), DecapVrf: d.DecapVrfID}
	}
	return out, nil
}
