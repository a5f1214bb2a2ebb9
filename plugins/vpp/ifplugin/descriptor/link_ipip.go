package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/tunnel_types"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An IPIP tunnel carries IP packets in IP to another end, or to many that are
// told apart by the next hop (TEIB). It is known by its ends and the VRF table,
// which is that of the interface.
var ipipTunnels = linkSpec[ipip.IpipTunnel]{
	op:     declareLinks("interface IPIP_TUNNEL", "", linkCalls[ipip.IpipTunnel]{setIpip, dumpIpip}),
	device: "IPIP tunnel device",
	facts: traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.IPIPLink{} },
		noMAC: func(*interfaces.Interface) string { return "an IPIP tunnel" },
	},
	valid: func(i *interfaces.Interface) []error {
		e, mode := ipipEnds(i), i.GetIpip().GetTunnelMode()
		switch {
		case interfaces.IPIPLink_Mode_name[int32(mode)] == "":
			return []error{invalid("ipip.tunnel_mode", "%s, expected POINT_TO_POINT or POINT_TO_MULTIPOINT", mode)}
		case mode == interfaces.IPIPLink_POINT_TO_POINT:
			return e.check()
		case e.dst != "":
			return []error{invalid("ipip.dst_addr", "%s, expected none for mode %s", e.dst, mode)}
		}
		_, err := e.addr(e.srcField, e.src)
		return []error{err}
	},
	needs: func(i *interfaces.Interface) []kvs.Dependency {
		return vrfExists("vrf-table-for-ipip-exists", i.GetVrf(), isIPv6(i.GetIpip().GetSrcAddr()))
	},
	params: func(i *interfaces.Interface, _ ifIndex) (ipip.IpipTunnel, error) {
		src, dst, err := ipipEnds(i).parse()
		mode := tunnel_types.TunnelMode(i.GetIpip().GetTunnelMode()) // of the same numbers
		return ipip.IpipTunnel{Instance: anyInstance, Src: src, Dst: dst, TableID: i.GetVrf(), Mode: mode}, err
	},
	describe: func(i *interfaces.Interface, t ipip.IpipTunnel, _ *interfaces.Interface, _ func(ifIndex) string) {
		l := &interfaces.IPIPLink{SrcAddr: addressText(t.Src), TunnelMode: interfaces.IPIPLink_Mode(t.Mode)}
		if t.Mode == tunnel_types.TUNNEL_API_MODE_P2P {
			l.DstAddr = addressText(t.Dst)
		}
		i.Type, i.Vrf, i.Link = interfaces.Interface_IPIP_TUNNEL, t.TableID, &interfaces.Interface_Ipip{Ipip: l}
	},
	delete: func(idx ifIndex) (req, reply api.Message) {
		return &ipip.IpipDelTunnel{SwIfIndex: idx}, &ipip.IpipDelTunnelReply{}
	},
	gone:   []api.VPPApiError{api.NO_SUCH_ENTRY},
	exists: api.IF_ALREADY_EXISTS, taken: func(found, wanted ipip.IpipTunnel) bool { return found == wanted },
	fields: func(i *interfaces.Interface) []field { return ipipEnds(i).fields(field{"vrf", i.GetVrf()}) },
}

func ipipEnds(i *interfaces.Interface) ends {
	return ends{"ipip.src_addr", i.GetIpip().GetSrcAddr(), "ipip.dst_addr", i.GetIpip().GetDstAddr()}
}

func setIpip(_ bool, t ipip.IpipTunnel) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &ipip.IpipAddTunnelReply{}
	return &ipip.IpipAddTunnel{Tunnel: t}, done, &done.SwIfIndex
}

var dumpIpip = dumpOf(func(which ifIndex) api.Message { return &ipip.IpipTunnelDump{SwIfIndex: which} },
	func(d *ipip.IpipTunnelDetails) (ifIndex, ipip.IpipTunnel) {
		t := d.Tunnel
		if t.Dst.Un == (ip_types.AddressUnion{}) {
			// Only tunnels to many have no other end. VPP before 23.10 fills in neither
			// the mode nor, then, the family.
			t.Mode, t.Dst.Af = tunnel_types.TUNNEL_API_MODE_MP, t.Src.Af
		}
		return t.SwIfIndex, ipip.IpipTunnel{Instance: anyInstance, Src: plain(t.Src), Dst: plain(t.Dst), TableID: t.TableID, Mode: t.Mode}
	})
