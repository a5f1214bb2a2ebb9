package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	mplsapi "go.fd.io/govpp/binapi/mpls"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func mplsTunnel() Item {
	link := func(change func(l *interfaces.MplsTunnelLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetMplsTunnel()) })
	}
	path := func(change func(p *interfaces.MplsTunnelLink_Path)) Change {
		return link(func(l *interfaces.MplsTunnelLink) { change(l.Paths[0]) })
	}
	return ofInterface(Item{
		Make: func() proto.Message {
			return &interfaces.Interface{
				Name: "mpls1", Type: interfaces.Interface_MPLS_TUNNEL, Enabled: true, IpAddresses: []string{"10.77.1.1/32"},
				Link: &interfaces.Interface_MplsTunnel{MplsTunnel: &interfaces.MplsTunnelLink{Paths: []*interfaces.MplsTunnelLink_Path{
					{NextHopAddr: "10.77.0.2", OutgoingInterface: "core", OutLabels: []uint32{100, 200}, Weight: 1},
					{NextHopAddr: "10.78.0.2", VrfId: 7, OutLabels: []uint32{300}, Weight: 1, Preference: 5},
				}}},
			}
		},
		Needs: func() []proto.Message {
			return []proto.Message{Loopback("core", "10.77.0.1/24"), &l3.VrfTable{Id: 7}}
		},
		Capability: "interface MPLS_TUNNEL",
		Spellings: []Change{
			path(func(p *interfaces.MplsTunnelLink_Path) { p.Weight = 0 }),
			link(func(l *interfaces.MplsTunnelLink) { l.Paths[0], l.Paths[1] = l.Paths[1], l.Paths[0] }),
		},
		Recreates: []Change{
			path(func(p *interfaces.MplsTunnelLink_Path) { p.OutLabels = []uint32{100} }),
			path(func(p *interfaces.MplsTunnelLink_Path) { p.NextHopAddr, p.OutLabels = "2001:db8::2", []uint32{3} }),
			link(func(l *interfaces.MplsTunnelLink) { l.Multicast, l.Paths = true, l.Paths[:1] }),
			link(func(l *interfaces.MplsTunnelLink) { l.Paths[1].Weight = 9 }),
		},
		Refusals: map[string]Change{
			"mpls_tunnel.paths: empty, expected 1 to 8":                 link(func(l *interfaces.MplsTunnelLink) { l.Paths = nil }),
			"mpls_tunnel.paths[1]: goes where mpls_tunnel.paths[0]":     link(func(l *interfaces.MplsTunnelLink) { l.Paths[1] = l.Paths[0] }),
			"mpls_tunnel.paths[0].next_hop_addr: empty":                 path(func(p *interfaces.MplsTunnelLink_Path) { p.NextHopAddr = "" }),
			"mpls_tunnel.paths[0].outgoing_interface: is the interface": path(func(p *interfaces.MplsTunnelLink_Path) { p.OutgoingInterface = "mpls1" }),
			"mpls_tunnel.paths[0].vrf_id: 7, expected 0":                path(func(p *interfaces.MplsTunnelLink_Path) { p.VrfId = 7 }),
			"mpls_tunnel.paths[0].out_labels: empty, expected 1":        path(func(p *interfaces.MplsTunnelLink_Path) { p.OutLabels = nil }),
			"mpls_tunnel.paths[0].out_labels[1]: 3, expected 16":        path(func(p *interfaces.MplsTunnelLink_Path) { p.OutLabels[1] = 3 }),
			"mpls_tunnel.paths[0].weight: 256, expected 0 to 255":       path(func(p *interfaces.MplsTunnelLink_Path) { p.Weight = 256 }),
			"mpls_tunnel.paths[0].preference: 256, expected 0 to":       path(func(p *interfaces.MplsTunnelLink_Path) { p.Preference = 256 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			via := func(addr string, out, table uint32) fib_types.FibPath {
				p := fib_types.FibPath{SwIfIndex: out, TableID: table}
				p.Nh.Address = ipconv.Address(netip.MustParseAddr(addr)).Un
				return p
			}
			return &mplsapi.MplsTunnelAddDel{MtTunnel: mplsapi.MplsTunnel{MtSwIfIndex: of(index, m), MtNPaths: 2, MtPaths: []fib_types.FibPath{
				via("10.77.0.2", index("core"), 0), via("10.78.0.2", ^uint32(0), 7),
			}}}, &mplsapi.MplsTunnelAddDelReply{}
		},
		Without: map[string]string{"Conflicts": "VPP distinguishes tunnels by their index alone"},
	})
}
