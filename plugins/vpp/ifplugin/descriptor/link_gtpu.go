//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package descriptor

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gtpu"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A GTP-U tunnel carries packets of mobile subscribers in UDP. Received packets
// are known by the other end and the TEID alone, so no two tunnels may share
// those; where they go is Ethernet switching unless something else is asked for.
// VPP creates it up; deleted, it is only hidden, with its tag, and used for the next one.
// The older message, which has all that is needed, is preferred: for the newer one VPP looks
// up the counters of the tunnel even if there is none, because it refused to create it, and
// crashes (seen with 25.10).
var gtpuTunnels = linkSpec[gtpu.GtpuAddDelTunnel]{
	op: declareLinks("interface GTPU_TUNNEL", "gtpu",
		linkCalls[gtpu.GtpuAddDelTunnel]{setGtpuV1, dumpGtpu}, linkCalls[gtpu.GtpuAddDelTunnel]{setGtpuV2, dumpGtpu}),
	device: "GTPU",
	facts: traits{
		packetMTU: true, startsUp: true, keepsTag: true, link: func() proto.Message { return &interfaces.GtpuLink{} },
		noMAC: func(*interfaces.Interface) string { return "a GTP-U tunnel" },
	},
	valid: func(i *interfaces.Interface) []error {
		next, node := i.GetGtpu().GetDecapNext(), i.GetGtpu().GetDecapNextNode()
		errs := append(gtpuEnds(i).check(), checkGroup(i, "gtpu.multicast", gtpuEnds(i).dst, gtpuGroup(i)))
		switch {
		case interfaces.GtpuLink_NextNode_name[int32(next)] == "":
			return append(errs, invalid("gtpu.decap_next", "%s, expected DEFAULT, L2, IP4 or IP6", next))
		case next != interfaces.GtpuLink_DEFAULT && node != 0 && uint32(next) != node:
			return append(errs, invalid("gtpu.decap_next_node", "%d, but decap_next is %s: expected one of them", node, next))
		}
		return errs
	},
	needs: func(i *interfaces.Interface) []kvs.Dependency {
		return append(groupInterface("gtpu-multicast-interface-exists", gtpuGroup(i)),
			vrfExists("vrf-table-for-gtpu-exists", i.GetGtpu().GetEncapVrfId(), isIPv6(i.GetGtpu().GetDstAddr()))...)
	},
	group: gtpuGroup,
	params: func(i *interfaces.Interface, group ifIndex) (gtpu.GtpuAddDelTunnel, error) {
		l := i.GetGtpu()
		src, dst, err := gtpuEnds(i).parse()
		next := orDefault(l.GetDecapNextNode(), uint32(gtpu.GTPU_API_DECAP_NEXT_L2)) // the numbers of the nodes are those of VPP
		if l.GetDecapNext() != interfaces.GtpuLink_DEFAULT {
			next = uint32(l.GetDecapNext())
		}
		return gtpu.GtpuAddDelTunnel{
			SrcAddress: src, DstAddress: dst, McastSwIfIndex: group, EncapVrfID: l.GetEncapVrfId(),
			DecapNextIndex: next, Teid: l.GetTeid(), Tteid: orDefault(l.GetRemoteTeid(), l.GetTeid()),
		}, err
	},
	describe: func(i *interfaces.Interface, t gtpu.GtpuAddDelTunnel, _ *interfaces.Interface, names func(ifIndex) string) {
		i.Type, i.Link = interfaces.Interface_GTPU_TUNNEL, &interfaces.Interface_Gtpu{Gtpu: &interfaces.GtpuLink{
			SrcAddr: addressText(t.SrcAddress), DstAddr: addressText(t.DstAddress), Multicast: names(t.McastSwIfIndex),
			Teid: t.Teid, RemoteTeid: t.Tteid, EncapVrfId: t.EncapVrfID, DecapNextNode: t.DecapNextIndex,
		}}
	},
	exists: api.TUNNEL_EXIST,
	taken: func(found, wanted gtpu.GtpuAddDelTunnel) bool {
		return found.DstAddress == wanted.DstAddress && found.Teid == wanted.Teid
	},
	same: func(found, wanted gtpu.GtpuAddDelTunnel) bool { return found == wanted },
	fields: func(i *interfaces.Interface) []field {
		return gtpuEnds(i).fields(field{"gtpu.teid", i.GetGtpu().GetTeid()})[1:]
	},
}

func gtpuEnds(i *interfaces.Interface) ends {
	return ends{"gtpu.src_addr", i.GetGtpu().GetSrcAddr(), "gtpu.dst_addr", i.GetGtpu().GetDstAddr()}
}

func gtpuGroup(i *interfaces.Interface) string { return i.GetGtpu().GetMulticast() }

func setGtpuV1(add bool, t gtpu.GtpuAddDelTunnel) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &gtpu.GtpuAddDelTunnelReply{}
	t.IsAdd = add
	return &t, done, &done.SwIfIndex
}

func setGtpuV2(add bool, t gtpu.GtpuAddDelTunnel) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &gtpu.GtpuAddDelTunnelV2Reply{}
	return &gtpu.GtpuAddDelTunnelV2{
		IsAdd: add, SrcAddress: t.SrcAddress, DstAddress: t.DstAddress, McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID,
		DecapNextIndex: gtpu.GtpuDecapNextType(t.DecapNextIndex), Teid: t.Teid, Tteid: t.Tteid,
	}, done, &done.SwIfIndex
}

// dumpGtpu selects its message independently of the creation: only the newer dump marks entries
// that are not tunnels.
var dumpGtpu = linkDump[gtpu.GtpuAddDelTunnel]{
	read: func(ctx context.Context, vpp *session.VPP, which ifIndex) (map[ifIndex]gtpu.GtpuAddDelTunnel, error) {
		dump, err := gtpuDumps.On(vpp)
		if err != nil {
			return nil, err
		}
		return dump.read(ctx, vpp, which)
	},
}

var (
	dumpGtpuV2 = dumpOf(func(which ifIndex) api.Message { return &gtpu.GtpuTunnelV2Dump{SwIfIndex: which} }, gtpuTunnelV2)
	dumpGtpuV1 = dumpOf(func(which ifIndex) api.Message { return &gtpu.GtpuTunnelDump{SwIfIndex: which} }, gtpuTunnelV1)
	gtpuDumps  = session.Step("dump GTP-U tunnels", session.Variant(dumpGtpuV2, dumpGtpuV2.needs...), session.Variant(dumpGtpuV1, dumpGtpuV1.needs...))
)

func gtpuTunnelV1(d *gtpu.GtpuTunnelDetails) (ifIndex, gtpu.GtpuAddDelTunnel) {
	return d.SwIfIndex, gtpu.GtpuAddDelTunnel{
		SrcAddress: plain(d.SrcAddress), DstAddress: plain(d.DstAddress), McastSwIfIndex: d.McastSwIfIndex, EncapVrfID: d.EncapVrfID,
		DecapNextIndex: d.DecapNextIndex, Teid: d.Teid, Tteid: d.Tteid,
	}
}

func gtpuTunnelV2(d *gtpu.GtpuTunnelV2Details) (ifIndex, gtpu.GtpuAddDelTunnel) {
	if d.IsForwarding {
		return noInterface, gtpu.GtpuAddDelTunnel{} // no tunnel, but what becomes of packets that belong to none
	}
	return d.SwIfIndex, gtpu.GtpuAddDelTunnel{
		SrcAddress: plain(d.SrcAddress), DstAddress: plain(d.DstAddress), McastSwIfIndex: d.McastSwIfIndex, EncapVrfID: d.EncapVrfID,
		DecapNextIndex: uint32(d.DecapNextIndex), Teid: d.Teid, Tteid: d.Tteid,
	}
}
