package mplsplugin

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/mpls"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/mplsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
)

const (
	// firstLabel is the first one without a special meaning, and maxLabel the last.
	firstLabel, maxLabel = 16, 1<<20 - 1
	// maxLabels is how many labels VPP imposes on a packet.
	maxLabels = 16
	// maxPaths is how many paths a message can carry.
	maxPaths = 255
)

// route is a route with all of its paths. A message with paths replaces the paths of the route.
type route struct {
	routeID
	payload fib_types.FibPathNhProto
	paths   []path // sorted
	// multicast: all paths get a copy. VPP to 25.10 does not report it.
	multicast bool
}

type routeID struct {
	table, label uint32
	last         bool // the label is the last of the packet
}

// path of a route. VPP has a path once, whatever its labels.
type path struct {
	pathID
	weight, preference uint8
	labels             []uint32
	other              string // see ipconv.PathSettings
}

type pathID struct {
	proto     fib_types.FibPathNhProto
	swIfIndex uint32 // item.NoInterface: lookup in table
	table     uint32
	nextHop   netip.Addr // invalid: none
	receive   bool       // frames, as if the interface had received them
}

var routes = item.Declare("MPLS route", "", item.Variant[route]{
	Change: func(r route, add bool) (request, reply api.Message) {
		req := &mpls.MplsRouteAddDel{MrIsAdd: add, MrRoute: mpls.MplsRoute{
			MrTableID: r.table, MrLabel: r.label, MrEosProto: uint8(r.payload),
		}}
		if r.last {
			req.MrRoute.MrEos = 1
		}
		// VPP deletes all paths, but cannot do it with none (vec_validate in
		// mpls_route_add_del_t_handler), nor with paths of deleted interfaces.
		paths := []fib_types.FibPath{{Type: fib_types.FIB_API_PATH_TYPE_DROP, SwIfIndex: item.NoInterface}}
		if add {
			paths = messages(r.paths)
		}
		req.MrRoute.MrPaths, req.MrRoute.MrNPaths = paths, uint8(len(paths))
		return req, &mpls.MplsRouteAddDelReply{}
	},
	Dumps: []item.Dump[route]{item.ListEach(&mpls.MplsTableDump{}, func(t *mpls.MplsTableDetails) api.Message {
		return &mpls.MplsRouteDump{Table: t.MtTable}
	}, routeOf)},
})

func messages(paths []path) []fib_types.FibPath {
	all := make([]fib_types.FibPath, len(paths))
	for i, p := range paths {
		m := fib_types.FibPath{SwIfIndex: p.swIfIndex, TableID: p.table, Weight: p.weight, Preference: p.preference, Proto: p.proto}
		if p.receive {
			m.Type = fib_types.FIB_API_PATH_TYPE_INTERFACE_RX
		}
		if p.nextHop.IsValid() {
			m.Nh.Address = ipconv.Address(p.nextHop).Un
		}
		for n, label := range p.labels {
			m.LabelStack[n].Label = label
		}
		m.NLabels = uint8(len(p.labels))
		all[i] = m
	}
	return all
}

// routeOf is false for the routes of special labels, and for those with paths that no value has.
func routeOf(d *mpls.MplsRouteDetails) (route, bool) {
	m := d.MrRoute
	r := route{routeID: routeID{m.MrTableID, m.MrLabel, m.MrEos != 0}, payload: fib_types.FibPathNhProto(m.MrEosProto), multicast: m.MrIsMulticast}
	for _, p := range m.MrPaths {
		converted, ok := pathOf(p)
		if !ok {
			return r, false
		}
		r.paths = append(r.paths, converted)
	}
	sortPaths(r.paths)
	return r, m.MrLabel >= firstLabel && len(r.paths) > 0
}

func pathOf(m fib_types.FibPath) (path, bool) {
	p := path{pathID{proto: m.Proto, swIfIndex: m.SwIfIndex, table: m.TableID}, m.Weight, m.Preference, nil, ipconv.PathSettings(m)}
	for _, l := range m.LabelStack[:min(m.NLabels, maxLabels)] {
		p.labels = append(p.labels, l.Label)
	}
	switch {
	case m.Type == fib_types.FIB_API_PATH_TYPE_INTERFACE_RX && m.Proto == fib_types.FIB_API_PATH_NH_PROTO_ETHERNET:
		p.receive = true
		return p, true
	case m.Type != fib_types.FIB_API_PATH_TYPE_NORMAL:
		return p, false
	case m.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP4:
		p.nextHop = netip.AddrFrom4(m.Nh.Address.GetIP4())
	case m.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6:
		p.nextHop = netip.AddrFrom16(m.Nh.Address.GetIP6())
	default:
		return p, false
	}
	if p.nextHop.IsUnspecified() {
		p.nextHop = netip.Addr{}
	}
	return p, true
}

func sortPaths(all []path) {
	slices.SortFunc(all, func(a, b path) int {
		return cmp.Or(cmp.Compare(a.proto, b.proto), cmp.Compare(a.swIfIndex, b.swIfIndex), cmp.Compare(a.table, b.table),
			a.nextHop.Compare(b.nextHop))
	})
}

// NewRoute describes MPLS routes. All paths of a route are replaced together. VPP does not report
// who made a route.
func NewRoute(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*pb.Route, route, routeID]{
		Name: RouteName, Model: model.RouteModel, Operation: routes,
		Resolve:    resolveRoute,
		ID:         func(r route) routeID { return r.routeID },
		Value:      routeValue,
		Changeable: func(old, r route) bool { return old.payload == r.payload },
		Learned:    byOthers[route],
		Gone:       []api.VPPApiError{api.NO_SUCH_FIB},
		Explain: map[api.VPPApiError]string{
			api.NO_SUCH_FIB:           "vrf_id: VPP has no such table",
			api.NO_MATCHING_INTERFACE: "outgoing_interface: VPP no longer has it",
		},
		After: []string{TableName},
	})
}

func resolveRoute(r *item.Resolver, v *pb.Route) route {
	r.DependsOn("mpls-table-exists", model.TableKey(v.GetTableId()))
	out := route{
		routeID: routeID{v.GetTableId(), v.GetLabel(), !v.GetStacked()},
		payload: payloadOf(r, v),
	}
	if n := len(v.GetPaths()); n > maxPaths {
		r.Fail("paths", "has %d, expected at most %d", n, maxPaths)
	}
	seen := map[pathID]int{}
	for i, p := range v.GetPaths() {
		resolved := resolvePath(r, fmt.Sprintf("paths[%d]", i), out.payload, p)
		if first, twice := seen[resolved.pathID]; twice {
			r.Fail(fmt.Sprintf("paths[%d]", i), "goes where paths[%d] goes", first)
		}
		seen[resolved.pathID] = i
		out.paths = append(out.paths, resolved)
	}
	sortPaths(out.paths)
	return out
}

var payloads = map[pb.Route_Payload]fib_types.FibPathNhProto{
	pb.Route_IP4:      fib_types.FIB_API_PATH_NH_PROTO_IP4,
	pb.Route_IP6:      fib_types.FIB_API_PATH_NH_PROTO_IP6,
	pb.Route_ETHERNET: fib_types.FIB_API_PATH_NH_PROTO_ETHERNET,
}

// payloadOf returns what a packet is without the label.
func payloadOf(r *item.Resolver, v *pb.Route) fib_types.FibPathNhProto {
	proto, known := payloads[v.GetPayload()]
	if !known {
		r.Fail("payload", "%d, expected IP4, IP6 or ETHERNET", v.GetPayload())
	}
	if v.GetStacked() {
		return fib_types.FIB_API_PATH_NH_PROTO_MPLS
	}
	return proto
}

func resolvePath(r *item.Resolver, field string, payload fib_types.FibPathNhProto, v *pb.Route_Path) path {
	p := path{
		pathID{proto: payload, swIfIndex: item.NoInterface},
		uint8(max(v.GetWeight(), 1)),
		uint8(v.GetPreference()),
		resolveLabels(r, field, payload, v),
		"",
	}
	if v.GetNextHopAddr() != "" {
		p.nextHop = ipconv.FromAddress(r.Host(field+".next_hop_addr", v.GetNextHopAddr()))
		p.proto = fib_types.FIB_API_PATH_NH_PROTO_IP4
		if p.nextHop.Is6() {
			p.proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
		}
	}
	if v.GetOutgoingInterface() != "" {
		p.swIfIndex = uint32(r.Interface(field+".outgoing_interface", v.GetOutgoingInterface()))
		p.receive = payload == fib_types.FIB_API_PATH_NH_PROTO_ETHERNET && v.GetNextHopAddr() == ""
	}
	checkPath(r, field, v, p)
	if p.swIfIndex == item.NoInterface {
		p.table = v.GetVrfId()
		lookUpIn(r, field, p)
	}
	return p
}

// checkPath refuses the combinations that VPP cannot do. Without a next hop it would use a random
// one on the interface, and of an Ethernet frame it would crash.
func checkPath(r *item.Resolver, field string, v *pb.Route_Path, p path) {
	onInterface, hop := v.GetOutgoingInterface() != "", v.GetNextHopAddr() != ""
	switch {
	case onInterface && v.GetVrfId() != 0:
		r.Fail(field+".vrf_id", "%d, expected 0 with an outgoing interface", v.GetVrfId())
	case onInterface && !hop && !p.receive:
		r.Fail(field+".next_hop_addr", "empty, expected the neighbor on %q", v.GetOutgoingInterface())
	case !onInterface && !hop && p.proto == fib_types.FIB_API_PATH_NH_PROTO_ETHERNET:
		r.Fail(field+".outgoing_interface", "empty, expected the interface of frames")
	case !onInterface && !hop && p.proto == fib_types.FIB_API_PATH_NH_PROTO_MPLS:
		r.Fail(field+".next_hop_addr", "empty, expected the next hop of packets with more labels")
	}
	if !hop && len(p.labels) > 0 {
		r.Fail(field+".out_labels", "has %d labels, expected none without a next hop", len(p.labels))
	}
}

// lookUpIn makes a route wait for the VRF table of a path.
func lookUpIn(r *item.Resolver, field string, p path) {
	if p.table == 0 || p.proto > fib_types.FIB_API_PATH_NH_PROTO_IP6 {
		return
	}
	family := netip.IPv4Unspecified()
	if p.proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
		family = netip.IPv6Unspecified()
	}
	r.DependsOn(field+".vrf-table-exists", l3model.VrfTableKey(p.table, item.Protocol(family)))
}

func resolveLabels(r *item.Resolver, field string, payload fib_types.FibPathNhProto, v *pb.Route_Path) []uint32 {
	all := v.GetOutLabels()
	switch {
	case len(all) > maxLabels:
		r.Fail(field+".out_labels", "has %d, expected at most %d", len(all), maxLabels)
	case len(all) == 0 && payload == fib_types.FIB_API_PATH_NH_PROTO_MPLS:
		r.Fail(field+".out_labels", "empty, expected the label that replaces the label of the packet, or 3 to remove it")
	case len(all) == 0:
		return nil
	}
	out := make([]uint32, len(all))
	for i, label := range all {
		out[i] = r.Range(fmt.Sprintf("%s.out_labels[%d]", field, i), label, 0, maxLabel)
	}
	return out
}

func routeValue(n *item.Names, e route) *pb.Route {
	v := &pb.Route{TableId: e.table, Label: e.label, Stacked: !e.last}
	for payload, proto := range payloads {
		if proto == e.payload {
			v.Payload = payload
		}
	}
	for _, p := range e.paths {
		out := &pb.Route_Path{VrfId: p.table, OutLabels: p.labels, Weight: uint32(p.weight), Preference: uint32(p.preference)}
		if p.nextHop.IsValid() {
			out.NextHopAddr = p.nextHop.String()
		}
		if p.swIfIndex != item.NoInterface {
			out.OutgoingInterface = n.Interface(ifIndex(p.swIfIndex))
		}
		v.Paths = append(v.Paths, out)
	}
	return v
}
