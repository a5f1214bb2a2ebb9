package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gre"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A GRE tunnel carries IP packets (L3), Ethernet frames (TEB) or mirrored frames
// of a session (ERSPAN) to another end, which is looked up in a VRF table of its
// own, apart from that of the interface. The message is the one without keys, which all
// releases have: the newer one came together with a dump that cannot be used.
var greTunnels = linkSpec[gre.GreTunnel]{
	op:     declareLinks("interface GRE_TUNNEL", "gre", linkCalls[gre.GreTunnel]{setGre, dumpGre}),
	device: "GRE tunnel device",
	facts: traits{
		macInPlace: true, macAfter: true, packetMTU: true, link: func() proto.Message { return &interfaces.GreLink{} },
		noMAC: func(i *interfaces.Interface) string {
			if i.GetGre().GetTunnelType() == interfaces.GreLink_L3 {
				return "a GRE tunnel of type L3"
			}
			return ""
		},
	},
	valid: func(i *interfaces.Interface) []error {
		t, session, errs := i.GetGre().GetTunnelType(), i.GetGre().GetSessionId(), greEnds(i).check()
		if t < interfaces.GreLink_L3 || t > interfaces.GreLink_ERSPAN {
			errs = append(errs, invalid("gre.tunnel_type", "%s, expected L3, TEB or ERSPAN", t))
		} else if t != interfaces.GreLink_ERSPAN && session != 0 {
			errs = append(errs, invalid("gre.session_id", "%d, expected 0 for type %s: only ERSPAN has sessions", session, t))
		}
		return append(errs, atMost("gre.session_id", session, 1023))
	},
	needs: func(i *interfaces.Interface) []kvs.Dependency {
		return vrfExists("vrf-table-for-gre-exists", i.GetGre().GetOuterFibId(), isIPv6(i.GetGre().GetSrcAddr()))
	},
	params: func(i *interfaces.Interface, _ ifIndex) (gre.GreTunnel, error) {
		src, dst, err := greEnds(i).parse()
		return gre.GreTunnel{ // the types of VPP begin with 0, those of the configuration with 1
			Src: src, Dst: dst, Type: gre.GreTunnelType(i.GetGre().GetTunnelType() - interfaces.GreLink_L3), Instance: anyInstance,
			OuterTableID: i.GetGre().GetOuterFibId(), SessionID: uint16(i.GetGre().GetSessionId()),
		}, err
	},
	describe: func(i *interfaces.Interface, t gre.GreTunnel, _ *interfaces.Interface, _ func(ifIndex) string) {
		i.Type, i.Link = interfaces.Interface_GRE_TUNNEL, &interfaces.Interface_Gre{Gre: &interfaces.GreLink{
			SrcAddr: addressText(t.Src), DstAddr: addressText(t.Dst), OuterFibId: t.OuterTableID, SessionId: uint32(t.SessionID),
			TunnelType: interfaces.GreLink_Type(t.Type) + interfaces.GreLink_L3,
		}}
	},
	exists: api.IF_ALREADY_EXISTS, taken: func(found, wanted gre.GreTunnel) bool { return found == wanted },
	fields: func(i *interfaces.Interface) []field {
		return greEnds(i).fields(field{"gre.tunnel_type", i.GetGre().GetTunnelType()},
			field{"gre.outer_fib_id", i.GetGre().GetOuterFibId()}, field{"gre.session_id", i.GetGre().GetSessionId()})
	},
}

func greEnds(i *interfaces.Interface) ends {
	return ends{"gre.src_addr", i.GetGre().GetSrcAddr(), "gre.dst_addr", i.GetGre().GetDstAddr()}
}

func setGre(add bool, t gre.GreTunnel) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &gre.GreTunnelAddDelReply{}
	return &gre.GreTunnelAddDel{IsAdd: add, Tunnel: t}, done, &done.SwIfIndex
}

var dumpGre = dumpOf(func(which ifIndex) api.Message { return &gre.GreTunnelDump{SwIfIndex: which} },
	func(d *gre.GreTunnelDetails) (ifIndex, gre.GreTunnel) {
		t := d.Tunnel
		return t.SwIfIndex, gre.GreTunnel{
			Src: plain(t.Src), Dst: plain(t.Dst), Type: t.Type, Instance: anyInstance, OuterTableID: t.OuterTableID, SessionID: t.SessionID,
		}
	})
