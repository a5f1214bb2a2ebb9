package descriptor

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	bfdmodel "github.com/tenuto-dev/tenuto/plugins/vpp/bfdplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A route is one path of a destination: VPP keeps all paths of a destination in
// one entry, and values for the same destination add to it and remove from it.
// VPP makes routes itself, for interfaces, addresses and neighbours; it marks
// those that came over its API, which are the only ones read back.

// maxByte is the largest value of numbers that VPP keeps in a byte.
const maxByte = 255

type routeDescriptor struct {
	vpp *vppcalls.Calls
	ifs item.Interfaces
	// loose are the paths that led through interfaces which VPP did not have any
	// more when the routes were read last.
	loose loosePaths
	// direct are the dependencies of the latest route that needs nothing but an interface:
	// the many routes over one interface share them.
	direct atomic.Pointer[[]kvs.Dependency]
}

// NewRoute describes routes.
func NewRoute(vpp *vppcalls.Calls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &routeDescriptor{vpp: vpp, ifs: ifs}
	return kvs.Adapt(kvs.Describe(model.RouteModel, kvs.Descriptor[*l3.Route, kvs.Metadata]{
		Name:                 RouteName,
		Southbound:           item.Southbound,
		Validate:             validateRoute,
		Dependencies:         d.dependencies,
		ValueComparator:      sameRoute,
		CreateBatch:          d.create,
		DeleteBatch:          d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: []string{item.InterfaceName, VrfTableName},
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}))
}

func validateRoute(_ string, v *l3.Route) error {
	var r item.Resolver
	dst, err := destination(v)
	if err != nil {
		r.Fail("dst_network", "%w", err)
	}
	checkNextHop(&r, v, dst)
	checkRouteType(&r, v)
	checkLabels(&r, v)
	if v.GetBfd() && (v.GetType() != l3.Route_INTRA_VRF || v.GetOutgoingInterface() == "" || !nextHop(v).IsValid()) {
		r.Fail("bfd", "expected an address in next_hop_addr, and outgoing_interface, for type INTRA_VRF")
	}
	return r.Err()
}

const (
	maxMPLSLabel = 1<<20 - 1
	implicitNull = 3 // stands for no label
)

func checkLabels(r *item.Resolver, v *l3.Route) {
	labels, onLink := v.GetOutLabels(), v.GetOutgoingInterface() != "" && v.GetType() == l3.Route_INTRA_VRF
	switch {
	case len(labels) == 0:
	case len(labels) > vppcalls.MaxLabels:
		r.Fail("out_labels", "has %d, expected at most %d", len(labels), vppcalls.MaxLabels)
	case v.GetType() == l3.Route_DROP || !onLink && !nextHop(v).IsValid():
		r.Fail("out_labels", "has %d, expected none without a next hop or outgoing interface", len(labels))
	default:
		for n, label := range labels {
			if label > maxMPLSLabel || label == implicitNull {
				r.Fail(fmt.Sprintf("out_labels[%d]", n), "%d, expected 0 to %d, but not %d", label, maxMPLSLabel, implicitNull)
			}
		}
	}
}

func checkNextHop(r *item.Resolver, v *l3.Route, dst netip.Prefix) {
	if v.GetNextHopAddr() == "" {
		return
	}
	nh, err := host(v.GetNextHopAddr())
	switch {
	case err != nil:
		r.Fail("next_hop_addr", "%w", err)
	case dst.IsValid() && dst.Addr().Is6() && nh.Is4():
		r.Fail("next_hop_addr", "%s is IPv4, expected IPv6 as dst_network %s is", nh, v.GetDstNetwork())
	}
}

func checkRouteType(r *item.Resolver, v *l3.Route) {
	switch v.GetType() {
	case l3.Route_INTRA_VRF:
		if v.GetOutgoingInterface() == "" && !nextHop(v).IsValid() {
			r.Fail("next_hop_addr, outgoing_interface", "both empty, expected at least one for type INTRA_VRF")
		}
	case l3.Route_INTER_VRF:
		if v.GetViaVrfId() == v.GetVrfId() && !nextHop(v).IsValid() {
			r.Fail("via_vrf_id", "%d is the table of the route itself", v.GetViaVrfId())
		}
	case l3.Route_DROP:
	default:
		r.Fail("type", "%d, expected INTRA_VRF, INTER_VRF or DROP", v.GetType())
	}
}

// destination parses the destination.
func destination(r *l3.Route) (netip.Prefix, error) {
	p, err := netallocmodel.ParseNetwork(r.GetDstNetwork())
	if err != nil {
		return p, fmt.Errorf("%q: expected an IP network such as 10.0.0.0/24", r.GetDstNetwork())
	}
	return p, nil
}

// host parses an address with or without prefix length.
func host(text string) (netip.Addr, error) {
	a, err := netallocmodel.ParseHost(text)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q: expected an IP address", text)
	}
	return a.Unmap(), nil
}

// nextHop returns the next hop; invalid if there is none, or an unspecified
// one, which means the same.
func nextHop(r *l3.Route) netip.Addr {
	nh, err := host(r.GetNextHopAddr())
	if err != nil || nh.IsUnspecified() {
		return netip.Addr{}
	}
	return nh
}

func (d *routeDescriptor) dependencies(_ string, r *l3.Route) []kvs.Dependency {
	deps := routeDependencies(r)
	if len(deps) != 1 || r.GetOutgoingInterface() == "" {
		return deps
	}
	if direct := d.direct.Load(); direct != nil && (*direct)[0].Key == deps[0].Key {
		return *direct
	}
	d.direct.Store(&deps)
	return deps
}

func routeDependencies(r *l3.Route) []kvs.Dependency {
	var deps []kvs.Dependency
	if iface := r.GetOutgoingInterface(); iface != "" {
		deps = append(deps, item.DependsOnInterface("interface-exists", iface))
	}
	if r.GetBfd() {
		up := bfdmodel.StateKeyFor(r.GetOutgoingInterface(), nextHop(r), bfdmodel.Up)
		deps = append(deps, kvs.Dependency{Label: "bfd-session-up", Key: up})
	}
	dst, _ := destination(r) // validated
	deps = append(deps, item.DependsOnTable("vrf-table-exists", r.GetVrfId(), dst.Addr())...)
	// Through another table, or through one of the version of the next hop.
	via, hop := r.GetVrfId(), nextHop(r)
	if r.GetType() == l3.Route_INTER_VRF {
		via = r.GetViaVrfId()
	}
	if !hop.IsValid() {
		hop = dst.Addr()
	}
	onLink := r.GetType() == l3.Route_DROP || r.GetType() == l3.Route_INTRA_VRF && r.GetOutgoingInterface() != ""
	if !onLink && (via != r.GetVrfId() || item.Protocol(hop) != item.Protocol(dst.Addr())) {
		deps = append(deps, item.DependsOnTable("via-vrf-table-exists", via, hop)...)
	}
	return deps
}

// routeID is what distinguishes routes in VPP.
type routeID struct {
	typ     l3.Route_RouteType
	vrf     uint32
	dst     netip.Prefix
	nextHop netip.Addr
	iface   string
	via     uint32
}

func idOf(r *l3.Route) (routeID, error) {
	dst, err := destination(r)
	id := routeID{typ: r.GetType(), vrf: r.GetVrfId(), dst: dst}
	switch id.typ {
	case l3.Route_DROP:
	case l3.Route_INTER_VRF:
		id.nextHop, id.via = nextHop(r), r.GetViaVrfId()
	default:
		id.nextHop, id.iface = nextHop(r), r.GetOutgoingInterface()
	}
	return id, err
}

func sameRoute(_ string, a, b *l3.Route) bool {
	idA, errA := idOf(a)
	idB, errB := idOf(b)
	if errA != nil || errB != nil || idA != idB {
		return false
	}
	return max(a.GetWeight(), 1) == max(b.GetWeight(), 1) && a.GetPreference() == b.GetPreference() &&
		slices.Equal(a.GetOutLabels(), b.GetOutLabels())
}

type (
	routeValue  = kvs.BatchValue[*l3.Route, kvs.Metadata]
	routeResult = kvs.BatchResult[kvs.Metadata]
)

func (d *routeDescriptor) create(ctx context.Context, values []routeValue) []routeResult {
	if err := d.loose.clear(ctx, d.vpp.PruneRoute); err != nil {
		results := make([]routeResult, len(values))
		for i := range results {
			results[i].Err = fmt.Errorf("remove paths through interfaces that are gone: %w", err)
		}
		return results
	}
	defer d.loose.created()
	return d.change(ctx, values, true)
}

func (d *routeDescriptor) remove(ctx context.Context, values []routeValue) []routeResult {
	return d.change(ctx, values, false)
}

// change adds or removes the routes of a batch that can be resolved.
func (d *routeDescriptor) change(ctx context.Context, values []routeValue, add bool) []routeResult {
	results := make([]routeResult, len(values))
	routes, sent := make([]vppcalls.Route, 0, len(values)), make([]int, 0, len(values))
	for i := range values {
		v := values[i].Old
		if add {
			v = values[i].New
		}
		route, err := d.resolve(v)
		if err != nil {
			results[i].Err = err
			continue
		}
		routes, sent = append(routes, route), append(sent, i)
	}
	for n, err := range d.vpp.ChangeRoutes(ctx, routes, add) {
		results[sent[n]].Err = err
	}
	return results
}

func (d *routeDescriptor) resolve(r *l3.Route) (vppcalls.Route, error) {
	dst, err := destination(r)
	if err != nil {
		return vppcalls.Route{}, err
	}
	out := vppcalls.Route{Table: r.GetVrfId(), Destination: dst, Path: vppcalls.Path{
		NextHop: nextHop(r), SwIfIndex: vppcalls.NoInterface,
		Weight: uint8(max(r.GetWeight(), 1)), Preference: uint8(r.GetPreference()),
		Labels: r.GetOutLabels(),
	}}
	switch {
	case r.GetType() == l3.Route_DROP:
		out.Drop = true
	case r.GetType() == l3.Route_INTER_VRF:
		out.Via = r.GetViaVrfId()
	case r.GetOutgoingInterface() == "":
		out.Via = r.GetVrfId()
	default:
		out.SwIfIndex, err = item.SwIfIndex(d.ifs, r.GetOutgoingInterface())
	}
	return out, err
}
