package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/tunnel_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An IPIP tunnel carries IP packets in IP to another end, or to many that are
// distinguished by the next hop (TEIB). VPP identifies it by its ends and the
// VRF table of the interface.
var ipipTunnels = linkSpec[ipip.IpipTunnel]{
	op: declareLinks("interface IPIP_TUNNEL", "", linkCalls[ipip.IpipTunnel]{
		set: func(_ bool, t ipip.IpipTunnel) (req, reply api.Message) {
			return &ipip.IpipAddTunnel{Tunnel: t}, &ipip.IpipAddTunnelReply{}
		},
		dump: dumpOf[*ipip.IpipTunnelDump](ipipTunnel),
	}),
	device: "IPIP tunnel device",
	facts: traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.IPIPLink{} },
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) ipip.IpipTunnel {
		l, mode := i.GetIpip(), i.GetIpip().GetTunnelMode()
		t := ipip.IpipTunnel{Instance: anyInstance, Mode: tunnel_types.TunnelMode(mode)} // of the same numbers
		r.Enum("ipip.tunnel_mode", mode)
		switch {
		case mode == interfaces.IPIPLink_POINT_TO_POINT:
			t.Src, t.Dst = ends(r, "ipip.src_addr", l.GetSrcAddr(), "ipip.dst_addr", l.GetDstAddr())
		case l.GetDstAddr() != "":
			r.Fail("ipip.dst_addr", "%s, expected none for mode %s", l.GetDstAddr(), mode)
		default:
			t.Src = ipconv.Address(end(r, "ipip.src_addr", l.GetSrcAddr()))
			t.Dst.Af = t.Src.Af
		}
		t.TableID = r.TableAs("vrf-table-for-ipip-exists", i.GetVrf(), t.Src)
		return t
	},
	describe: func(i *interfaces.Interface, t ipip.IpipTunnel, _ about) {
		l := &interfaces.IPIPLink{SrcAddr: item.Addr(t.Src), TunnelMode: interfaces.IPIPLink_Mode(t.Mode)}
		if t.Mode == tunnel_types.TUNNEL_API_MODE_P2P {
			l.DstAddr = item.Addr(t.Dst)
		}
		i.Type, i.Vrf, i.Link = interfaces.Interface_IPIP_TUNNEL, t.TableID, &interfaces.Interface_Ipip{Ipip: l}
	},
	chosen: func(p *ipip.IpipTunnel, found ipip.IpipTunnel) {
		p.Instance, p.SwIfIndex = found.Instance, found.SwIfIndex
	},
	delete: deletion[*ipip.IpipDelTunnel, *ipip.IpipDelTunnelReply],
	gone:   []api.VPPApiError{api.NO_SUCH_ENTRY},
	exists: api.IF_ALREADY_EXISTS,
	key:    []string{"ipip.src_addr", "ipip.dst_addr", "vrf"},
}

// ipipTunnel takes the mode from the other end, which only tunnels to many lack: VPP before 23.10
// does not fill in the mode and what an IPv4 address leaves of an address, and does not clear its
// memory (send_ipip_tunnel_details in src/vnet/ipip/ipip_api.c).
func ipipTunnel(d *ipip.IpipTunnelDetails) (ifIndex, ipip.IpipTunnel) {
	d.Tunnel.Src, d.Tunnel.Dst = ipconv.Address(ipconv.FromAddress(d.Tunnel.Src)), ipconv.Address(ipconv.FromAddress(d.Tunnel.Dst))
	d.Tunnel.Mode = tunnel_types.TUNNEL_API_MODE_P2P
	if ipconv.FromAddress(d.Tunnel.Dst).IsUnspecified() {
		d.Tunnel.Mode, d.Tunnel.Dst = tunnel_types.TUNNEL_API_MODE_MP, ip_types.Address{Af: d.Tunnel.Src.Af}
	}
	return d.Tunnel.SwIfIndex, d.Tunnel
}
