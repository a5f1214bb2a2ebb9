package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gre"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A GRE tunnel carries IP packets (L3), Ethernet frames (TEB) or mirrored frames
// of a session (ERSPAN) to another end, which is looked up in a VRF table of its own,
// apart from the interface's. The message is the one without keys, which all releases
// have: the newer one came together with a dump that cannot be used.
var greTunnels = linkSpec[gre.GreTunnel]{
	op: declareLinks("interface GRE_TUNNEL", "gre", linkCalls[gre.GreTunnel]{
		set: func(add bool, t gre.GreTunnel) (req, reply api.Message) {
			return &gre.GreTunnelAddDel{IsAdd: add, Tunnel: t}, &gre.GreTunnelAddDelReply{}
		},
		dump: dumpOf[*gre.GreTunnelDump](func(d *gre.GreTunnelDetails) (ifIndex, gre.GreTunnel) { return d.Tunnel.SwIfIndex, d.Tunnel }),
	}),
	device: "GRE tunnel device",
	facts: traits{
		macInPlace: true, macAfter: true, packetMTU: true, link: func() proto.Message { return &interfaces.GreLink{} },
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) gre.GreTunnel {
		l, t := i.GetGre(), i.GetGre().GetTunnelType()
		if t < interfaces.GreLink_L3 || t > interfaces.GreLink_ERSPAN {
			r.Fail("gre.tunnel_type", "%s, expected L3, TEB or ERSPAN", t)
		} else if t != interfaces.GreLink_ERSPAN && l.GetSessionId() != 0 {
			r.Fail("gre.session_id", "%d, expected 0 for type %s: only ERSPAN has sessions", l.GetSessionId(), t)
		}
		src, dst := ends(r, "gre.src_addr", l.GetSrcAddr(), "gre.dst_addr", l.GetDstAddr())
		return gre.GreTunnel{ // the types of VPP begin with 0, the types of the configuration with 1
			Src: src, Dst: dst, Type: gre.GreTunnelType(t - interfaces.GreLink_L3), Instance: anyInstance,
			OuterTableID: r.TableAs("vrf-table-for-gre-exists", l.GetOuterFibId(), src),
			SessionID:    uint16(l.GetSessionId()),
		}
	},
	describe: func(i *interfaces.Interface, t gre.GreTunnel, _ about) {
		i.Type, i.Link = interfaces.Interface_GRE_TUNNEL, &interfaces.Interface_Gre{Gre: &interfaces.GreLink{
			SrcAddr: item.Addr(t.Src), DstAddr: item.Addr(t.Dst), OuterFibId: t.OuterTableID, SessionId: uint32(t.SessionID),
			TunnelType: interfaces.GreLink_Type(t.Type) + interfaces.GreLink_L3,
		}}
	},
	chosen: func(p *gre.GreTunnel, found gre.GreTunnel) { p.Instance, p.SwIfIndex = found.Instance, found.SwIfIndex },
	exists: api.IF_ALREADY_EXISTS,
	key:    []string{"gre.src_addr", "gre.dst_addr", "gre.tunnel_type", "gre.outer_fib_id", "gre.session_id"},
}
