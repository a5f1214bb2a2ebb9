//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gtpu"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// gtpuTunnel are the parameters of a tunnel, and those that its model lacks.
type gtpuTunnel struct {
	gtpu.GtpuAddDelTunnel
	PduExtension bool
	Qfi          uint8
}

// A GTP-U tunnel carries packets of mobile subscribers in UDP. Received packets
// are known by the other end and the TEID alone, so no two tunnels may share
// those; where they go is Ethernet switching unless something else is asked for.
// VPP creates it up; deleted, it is only hidden, with its tag, and used for the next one.
// The older message, which has all that is needed, is preferred: for the newer one VPP looks
// up the counters of the tunnel even if there is none, because it refused to create it, and
// crashes (seen with 25.10). Of the dumps only the newer one marks entries that are no tunnels:
// they say what becomes of packets that belong to none.
var gtpuTunnels = linkSpec[gtpuTunnel]{
	op: declareLinks("interface GTPU_TUNNEL", "gtpu",
		linkCalls[gtpuTunnel]{setGtpu, dumpGtpuV2},
		linkCalls[gtpuTunnel]{setGtpu, dumpOf[*gtpu.GtpuTunnelDump](func(d *gtpu.GtpuTunnelDetails) (ifIndex, gtpuTunnel) {
			return d.SwIfIndex, gtpuTunnel{GtpuAddDelTunnel: session.SameFields[gtpu.GtpuAddDelTunnel](d)}
		})}),
	device: "GTPU",
	facts: traits{
		packetMTU: true, initialMTU: noInitialMTU, startsUp: true, hidden: true,
		link: func() proto.Message { return &interfaces.GtpuLink{} },
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) gtpuTunnel {
		l, next, node := i.GetGtpu(), i.GetGtpu().GetDecapNext(), i.GetGtpu().GetDecapNextNode()
		r.Enum("gtpu.decap_next", next)
		if next != interfaces.GtpuLink_DEFAULT {
			if node != 0 && uint32(next) != node {
				r.Fail("gtpu.decap_next_node", "%d, but decap_next is %s: expected one of them", node, next)
			}
			node = uint32(next) // VPP uses the same numbers of nodes
		}
		src, dst := ends(r, "gtpu.src_addr", l.GetSrcAddr(), "gtpu.dst_addr", l.GetDstAddr())
		return gtpuTunnel{GtpuAddDelTunnel: gtpu.GtpuAddDelTunnel{
			SrcAddress: src, DstAddress: dst, Teid: l.GetTeid(), Tteid: orDefault(l.GetRemoteTeid(), l.GetTeid()),
			McastSwIfIndex: multicast(r, "gtpu-multicast-interface-exists", "gtpu.multicast", l.GetMulticast(), dst, i),
			EncapVrfID:     r.TableAs("vrf-table-for-gtpu-exists", l.GetEncapVrfId(), dst),
			DecapNextIndex: orDefault(node, uint32(gtpu.GTPU_API_DECAP_NEXT_L2)),
		}}
	},
	describe: func(i *interfaces.Interface, t gtpuTunnel, known about) {
		i.Type, i.Link = interfaces.Interface_GTPU_TUNNEL, &interfaces.Interface_Gtpu{Gtpu: &interfaces.GtpuLink{
			SrcAddr: item.Addr(t.SrcAddress), DstAddr: item.Addr(t.DstAddress), Multicast: known.names(t.McastSwIfIndex),
			Teid: t.Teid, RemoteTeid: t.Tteid, EncapVrfId: t.EncapVrfID, DecapNextNode: t.DecapNextIndex,
		}}
	},
	chosen: func(p *gtpuTunnel, found gtpuTunnel) { p.McastSwIfIndex = found.McastSwIfIndex },
	exists: api.TUNNEL_EXIST,
	key:    []string{"gtpu.dst_addr", "gtpu.teid"},
}

var dumpGtpuV2 = dumpOf[*gtpu.GtpuTunnelV2Dump](func(d *gtpu.GtpuTunnelV2Details) (ifIndex, gtpuTunnel) {
	if d.IsForwarding {
		return noInterface, gtpuTunnel{}
	}
	return d.SwIfIndex, gtpuTunnel{session.SameFields[gtpu.GtpuAddDelTunnel](d), d.PduExtension, d.Qfi}
})

func setGtpu(add bool, t gtpuTunnel) (req, reply api.Message) {
	t.IsAdd = add
	return &t.GtpuAddDelTunnel, &gtpu.GtpuAddDelTunnelReply{}
}
