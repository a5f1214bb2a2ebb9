package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func route() Item {
	return Item{
		Name: "vpp.route",
		Make: func() proto.Message {
			return &l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "lo"}
		},
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "route",
		Spellings:  []Change{To(func(r *l3.Route) { r.Weight = 1 }), To(func(r *l3.Route) { r.DstNetwork = "10.9.1.1/16" })},
		Recreates: []Change{To(func(r *l3.Route) { r.Weight = 2 }), To(func(r *l3.Route) { r.Preference = 4 }),
			To(func(r *l3.Route) { r.OutLabels = []uint32{100, 200} })},
		Refusals: map[string]Change{
			"dst_network: ":                             To(func(r *l3.Route) { r.DstNetwork = "10.1.1.1/33" }),
			"next_hop_addr: ":                           To(func(r *l3.Route) { r.NextHopAddr = "here" }),
			"next_hop_addr: 10.1.1.2 is IPv4":           To(func(r *l3.Route) { r.DstNetwork = "2001:db8::/32" }),
			"both empty":                                To(func(r *l3.Route) { r.NextHopAddr, r.OutgoingInterface = "", "" }),
			"via_vrf_id: ":                              To(func(r *l3.Route) { r.NextHopAddr, r.OutgoingInterface, r.Type = "", "", l3.Route_INTER_VRF }),
			"weight: 300, expected 0 to 255":            To(func(r *l3.Route) { r.Weight = 300 }),
			"bfd: expected an address in next_hop_addr": To(func(r *l3.Route) { r.NextHopAddr, r.Bfd = "", true }),
			"out_labels[1]: 3, expected":                To(func(r *l3.Route) { r.OutLabels = []uint32{100, 3} }),
			"out_labels: has 17":                        To(func(r *l3.Route) { r.OutLabels = make([]uint32, 17) }),
			"out_labels: has 1, expected none":          To(func(r *l3.Route) { r.Type, r.OutLabels = l3.Route_DROP, []uint32{100} }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ip.IPRouteAddDel{Route: ip.IPRoute{
				Prefix: ipconv.Prefix(netip.MustParsePrefix(m.(*l3.Route).DstNetwork)),
			}}, &ip.IPRouteAddDelReply{}
		},
		Without: map[string]string{
			"Updates": "a path is another one with another weight", "Conflicts": "paths of one destination share it",
		},
	}
}
