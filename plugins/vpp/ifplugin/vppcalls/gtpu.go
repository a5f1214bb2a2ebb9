package vppcalls

import (
	"context"
	"errors"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gtpu"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// GtpuDevice is the device class of GTP-U tunnels.
const GtpuDevice = "GTPU"

// GtpuL2 is where received packets go if nothing is asked for: they are
// Ethernet frames.
const GtpuL2 = uint32(gtpu.GTPU_API_DECAP_NEXT_L2)

// Gtpu is a GTP-U tunnel, wanted or as VPP has it.
type Gtpu struct {
	Src, Dst netip.Addr
	// TEID is the number of the tunnel in received packets, RemoteTEID in those
	// that are sent.
	TEID, RemoteTEID uint32
	// Vrf is the table in which the other end is looked up.
	Vrf uint32
	// Next is the node of VPP that received packets go to.
	Next uint32
	// Multicast is the interface of the group if Dst is a multicast address, else
	// NoInterface.
	Multicast uint32
}

// setGtpu prefers the older message, which has all that is needed: for the
// newer one VPP looks up the counters of the tunnel even if there is none,
// because it refused to create it, and crashes (seen with 25.10).
var setGtpu = session.Declare(&Operations, "interface GTPU_TUNNEL", "gtpu",
	session.Variant((*Calls).setGtpuV1, (*gtpu.GtpuAddDelTunnel)(nil), (*gtpu.GtpuAddDelTunnelReply)(nil)),
	session.Variant((*Calls).setGtpuV2, (*gtpu.GtpuAddDelTunnelV2)(nil), (*gtpu.GtpuAddDelTunnelV2Reply)(nil)))

var dumpGtpus = session.Step("dump GTP-U tunnels",
	session.Variant((*Calls).dumpGtpusV2, (*gtpu.GtpuTunnelV2Dump)(nil), (*gtpu.GtpuTunnelV2Details)(nil)),
	session.Variant((*Calls).dumpGtpusV1, (*gtpu.GtpuTunnelDump)(nil), (*gtpu.GtpuTunnelDetails)(nil)))

// CreateGtpu creates a tunnel that is administratively up. The error is
// api.TUNNEL_EXIST if there is one with that other end and number.
func (c *Calls) CreateGtpu(ctx context.Context, t Gtpu) (swIfIndex uint32, err error) {
	return c.setGtpu(ctx, true, t)
}

// DeleteGtpu deletes a tunnel. If it does not exist, that is a success. VPP
// keeps the interface, with its tag, hidden for the next tunnel.
func (c *Calls) DeleteGtpu(ctx context.Context, swIfIndex uint32) error {
	all, err := c.dumpGtpus(ctx, swIfIndex)
	if err != nil {
		return err
	}
	t, ok := all[swIfIndex]
	if !ok {
		return nil
	}
	if _, err = c.setGtpu(ctx, false, t); errors.Is(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

// DumpGtpus returns all tunnels by the index of the interface.
func (c *Calls) DumpGtpus(ctx context.Context) (map[uint32]Gtpu, error) {
	return c.dumpGtpus(ctx, NoInterface)
}

func (c *Calls) setGtpu(ctx context.Context, add bool, t Gtpu) (uint32, error) {
	set, err := setGtpu.On(c.vpp)
	if err != nil {
		return NoInterface, err
	}
	return set(c, ctx, add, t)
}

func (c *Calls) dumpGtpus(ctx context.Context, swIfIndex uint32) (map[uint32]Gtpu, error) {
	dump, err := dumpGtpus.On(c.vpp)
	if err != nil {
		return nil, err
	}
	return dump(c, ctx, swIfIndex)
}

func (c *Calls) setGtpuV2(ctx context.Context, add bool, t Gtpu) (uint32, error) {
	reply := &gtpu.GtpuAddDelTunnelV2Reply{}
	err := c.vpp.Call(ctx, &gtpu.GtpuAddDelTunnelV2{
		IsAdd: add, SrcAddress: ipconv.Address(t.Src), DstAddress: ipconv.Address(t.Dst),
		McastSwIfIndex: interface_types.InterfaceIndex(t.Multicast), EncapVrfID: t.Vrf,
		DecapNextIndex: gtpu.GtpuDecapNextType(t.Next), Teid: t.TEID, Tteid: t.RemoteTEID,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) setGtpuV1(ctx context.Context, add bool, t Gtpu) (uint32, error) {
	reply := &gtpu.GtpuAddDelTunnelReply{}
	err := c.vpp.Call(ctx, &gtpu.GtpuAddDelTunnel{
		IsAdd: add, SrcAddress: ipconv.Address(t.Src), DstAddress: ipconv.Address(t.Dst),
		McastSwIfIndex: interface_types.InterfaceIndex(t.Multicast), EncapVrfID: t.Vrf,
		DecapNextIndex: t.Next, Teid: t.TEID, Tteid: t.RemoteTEID,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) dumpGtpusV2(ctx context.Context, swIfIndex uint32) (map[uint32]Gtpu, error) {
	found, err := session.Dump[*gtpu.GtpuTunnelV2Details](ctx, c.vpp, &gtpu.GtpuTunnelV2Dump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Gtpu, len(found))
	for _, d := range found {
		if d.IsForwarding {
			continue // no tunnel, but what becomes of packets that belong to none
		}
		out[uint32(d.SwIfIndex)] = Gtpu{
			Src: ipconv.FromAddress(d.SrcAddress), Dst: ipconv.FromAddress(d.DstAddress), TEID: d.Teid, RemoteTEID: d.Tteid,
			Vrf: d.EncapVrfID, Next: uint32(d.DecapNextIndex), Multicast: uint32(d.McastSwIfIndex),
		}
	}
	return out, nil
}

func (c *Calls) dumpGtpusV1(ctx context.Context, swIfIndex uint32) (map[uint32]Gtpu, error) {
	found, err := session.Dump[*gtpu.GtpuTunnelDetails](ctx, c.vpp, &gtpu.GtpuTunnelDump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Gtpu, len(found))
	for _, d := range found {
		out[uint32(d.SwIfIndex)] = Gtpu{
			Src: ipconv.FromAddress(d.SrcAddress), Dst: ipconv.FromAddress(d.DstAddress), TEID: d.Teid, RemoteTEID: d.Tteid,
			Vrf: d.EncapVrfID, Next: d.DecapNextIndex, Multicast: uint32(d.McastSwIfIndex),
		}
	}
	return out, nil
}
