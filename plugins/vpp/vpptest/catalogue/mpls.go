package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	mplsapi "go.fd.io/govpp/binapi/mpls"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	mpls "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
)

// mplsTable0 is the table in which VPP looks up the packets of all interfaces.
func mplsTable0() proto.Message { return &mpls.Table{} }

func mplsTable() Item {
	return Item{
		Name:       "vpp.mpls.table",
		Make:       func() proto.Message { return &mpls.Table{Id: 5, Label: "customers"} },
		Capability: "MPLS table",
		Recreates: []Change{
			To(func(t *mpls.Table) { t.Label = "" }),
			To(func(t *mpls.Table) { t.Label = "others" }),
		},
		Refusals: map[string]Change{
			"id: 4294967295, exp": To(func(t *mpls.Table) { t.Id = 4294967295 }),
			"label: has 64 bytes": To(func(t *mpls.Table) { t.Label = string(make([]byte, 64)) }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &mplsapi.MplsTableAddDel{MtTable: mplsapi.MplsTable{MtTableID: m.(*mpls.Table).Id}}, &mplsapi.MplsTableAddDelReply{}
		},
		Without: map[string]string{
			"Needs":     "a table needs nothing",
			"Spellings": "the name and the number are written in one way",
			"Updates":   "VPP cannot rename a table",
			"Conflicts": "the number is the key",
		},
	}
}

func mplsInterface() Item {
	return Item{
		Name:       "vpp.mpls.interface",
		Make:       func() proto.Message { return &mpls.Interface{Name: "lo"} },
		Needs:      func() []proto.Message { return []proto.Message{Base(), mplsTable0()} },
		Capability: "MPLS interface",
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &mplsapi.SwInterfaceSetMplsEnable{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*mpls.Interface).Name)),
			}, &mplsapi.SwInterfaceSetMplsEnableReply{}
		},
		Without: map[string]string{
			"Spellings": "a name is written in one way",
			"Updates":   "there is nothing but the name",
			"Refusals":  "there is nothing but the name, and no key without it",
			"Recreates": "there is nothing but the name",
			"Conflicts": "the name is the key",
		},
	}
}

func mplsRoute() Item {
	hop := func(next string, labels ...uint32) *mpls.Route_Path {
		return &mpls.Route_Path{NextHopAddr: next, OutgoingInterface: "lo", OutLabels: labels}
	}
	paths := func(all ...*mpls.Route_Path) Change { return To(func(r *mpls.Route) { r.Paths = all }) }
	return Item{
		Name: "vpp.mpls.route",
		Make: func() proto.Message {
			return &mpls.Route{TableId: 5, Label: 100, Paths: []*mpls.Route_Path{
				hop("10.1.1.9", 300, 400), {NextHopAddr: "10.1.1.8", VrfId: 7, Preference: 1},
			}}
		},
		Needs: func() []proto.Message {
			return []proto.Message{Base(), &mpls.Table{Id: 5, Label: "customers"}, &l3.VrfTable{Id: 7}}
		},
		Capability: "MPLS route",
		Spellings: []Change{
			To(func(r *mpls.Route) { r.Paths[0], r.Paths[1] = r.Paths[1], r.Paths[0] }),
			To(func(r *mpls.Route) { r.Paths[0].Weight = 1 }),
		},
		Updates: []Change{
			paths(hop("10.1.1.9")),
			paths(hop("10.1.1.9", 301), hop("2001:db8:1::9", 5)),
			paths(&mpls.Route_Path{VrfId: 7}),
			paths(&mpls.Route_Path{}),
			To(func(r *mpls.Route) { r.Paths[0].Weight, r.Paths[0].OutLabels = 7, []uint32{1048575} }),
		},
		Recreates: []Change{
			To(func(r *mpls.Route) { r.Payload = mpls.Route_IP6 }),
			To(func(r *mpls.Route) {
				r.Payload, r.Paths = mpls.Route_ETHERNET, []*mpls.Route_Path{{OutgoingInterface: "lo"}}
			}),
			To(func(r *mpls.Route) { r.Stacked, r.Paths = true, []*mpls.Route_Path{hop("10.1.1.9", 3)} }),
		},
		Refusals: mplsRouteRefusals(paths, hop),
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			r := m.(*mpls.Route)
			return &mplsapi.MplsRouteAddDel{MrRoute: mplsapi.MplsRoute{
				MrTableID: r.TableId, MrLabel: r.Label, MrEos: 1, MrNPaths: 1,
				MrPaths: []fib_types.FibPath{{Type: fib_types.FIB_API_PATH_TYPE_DROP, SwIfIndex: item.NoInterface}},
			}}, &mplsapi.MplsRouteAddDelReply{}
		},
		Without: map[string]string{"Conflicts": "table, label and stacked are the key, and VPP has nothing else that is unique"},
	}
}

func mplsRouteRefusals(paths func(...*mpls.Route_Path) Change, hop func(string, ...uint32) *mpls.Route_Path) map[string]Change {
	return map[string]Change{
		"label: 15, expected 16 to 1048575":               To(func(r *mpls.Route) { r.Label = 15 }),
		"label: 1048576, expected 16 to 1048575":          To(func(r *mpls.Route) { r.Label = 1048576 }),
		"payload: 7, expected IP4":                        To(func(r *mpls.Route) { r.Payload = 7 }),
		"paths: empty, expected":                          paths(),
		"paths[1]: goes where paths[0] goes":              paths(hop("10.1.1.9", 1), hop("10.1.1.9", 2)),
		"paths[0].next_hop_addr: 0.0.0.0":                 paths(hop("0.0.0.0")),
		"paths[0].next_hop_addr: empty, expected the nei": paths(&mpls.Route_Path{OutgoingInterface: "lo"}),
		"paths[0].next_hop_addr: empty, expected the nex": To(func(r *mpls.Route) { r.Stacked, r.Paths = true, []*mpls.Route_Path{{VrfId: 7}} }),
		"paths[0].outgoing_interface: empty":              To(func(r *mpls.Route) { r.Payload, r.Paths = mpls.Route_ETHERNET, []*mpls.Route_Path{{}} }),
		"paths[0].vrf_id: 7, expected 0":                  To(func(r *mpls.Route) { r.Paths[0].VrfId = 7 }),
		"paths[0].out_labels: has 1 labels":               paths(&mpls.Route_Path{OutLabels: []uint32{3}}),
		"paths[0].out_labels: has 17":                     paths(hop("10.1.1.9", make([]uint32, 17)...)),
		"paths[0].out_labels: empty":                      To(func(r *mpls.Route) { r.Stacked, r.Paths = true, []*mpls.Route_Path{hop("10.1.1.9")} }),
		"paths[0].out_labels[1]: 1048576":                 paths(hop("10.1.1.9", 16, 1048576)),
		"paths[0].weight: 256, expected 0 to 255":         To(func(r *mpls.Route) { r.Paths[0].Weight = 256 }),
	}
}
