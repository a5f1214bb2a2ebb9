package descriptor

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// routeRetrieval is what was read so far.
type routeRetrieval struct {
	route
	wanted  map[string]*l3.Route      // with literal addresses, by the keys that those have
	spelled map[string]routeKV        // wanted values with references, by the same keys
	here    map[netip.Prefix][]string // keys of wanted routes without next hops of their own, by destination
	tables  map[string]uint32         // of the interfaces of the namespace that is read
	found   map[string]routeKV
	order   []string // of the keys of found
}

// retrieve returns the routes of the agent, and static routes of others where
// such a route is wanted.
func (d route) retrieve(ctx context.Context, correlate []routeKV) ([]routeKV, error) {
	r := routeRetrieval{route: d, here: map[netip.Prefix][]string{}, found: map[string]routeKV{}}
	r.wanted, r.spelled = d.literalRoutes(correlate)
	for _, key := range slices.Sorted(maps.Keys(r.wanted)) {
		if dst, err := destination(r.wanted[key]); err == nil && !ownHops(r.wanted[key]) {
			r.here[dst] = append(r.here[dst], key)
		}
	}
	if err := d.visit(ctx, func(h netlinkapi.Handle, names map[int]string) error { return r.read(ctx, h, names) }); err != nil {
		return nil, err
	}
	found := make([]routeKV, len(r.order))
	for i, key := range r.order {
		found[i] = r.found[key]
		if w, ok := r.spelled[key]; ok {
			found[i].Key = w.Key
			if sameRoute(key, found[i].Value, r.wanted[key]) {
				found[i].Value = w.Value
			}
		}
	}
	return found, nil
}

// read reads a namespace; names has its interfaces by link.
func (r *routeRetrieval) read(ctx context.Context, h netlinkapi.Handle, names map[int]string) error {
	all, err := h.StaticRoutes(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	if err := r.readTables(ctx, h, names); err != nil {
		return err
	}
	var nexthops map[uint32]string
	for _, kernel := range all {
		switch {
		case kernel.Nexthop != 0:
			if nexthops == nil {
				nexthops = r.nexthopNames(ctx, h.Namespace())
			}
			r.without(kernel, names, nexthopName(nexthops, kernel.Nexthop))
		case kernel.Type == netlinkapi.RouteUnicast:
			r.away(kernel, names)
		default:
			r.without(kernel, names, "")
		}
	}
	return nil
}

// readTables reads the routing tables of the interfaces of a namespace. A VRF that has just been
// joined is not in the metadata of the interface.
func (r *routeRetrieval) readTables(ctx context.Context, h netlinkapi.Handle, names map[int]string) error {
	links, err := h.Links(ctx)
	if err != nil {
		return err
	}
	byIndex := make(map[int]netlinkapi.Link, len(links))
	for _, l := range links {
		byIndex[l.Index] = l
	}
	r.tables = make(map[string]uint32, len(names))
	for index, iface := range names {
		r.tables[iface] = tableOf(byIndex[byIndex[index].Master])
	}
	return nil
}

// away adds a route that leaves through interfaces of the configuration. Of several next
// hops the first in the value may be any in the kernel.
func (r *routeRetrieval) away(kernel netlinkapi.Route, names map[int]string) {
	all := valueHops(kernel, names)
	var first *l3.Route
	for i := range all {
		v := value(kernel, append(slices.Clone(all[i:]), all[:i]...), r.tables[all[i].iface])
		if r.wanted[l3model.RouteModel.Key(v)] != nil {
			r.add(kernel, v)
			return
		}
		if first == nil {
			first = v
		}
	}
	if first != nil {
		r.add(kernel, first)
	}
}

// without adds a route without next hops of its own: it keeps packets here, or goes through a
// nexthop object. It is the value of all desired routes to the destination in the namespace, or
// else of any interface there.
func (r *routeRetrieval) without(kernel netlinkapi.Route, names map[int]string, nexthop string) {
	there := slices.Sorted(maps.Values(names))
	of := func(iface string) *l3.Route {
		own := uint32(netlinkapi.MainTable)
		if nexthop != "" {
			own = r.tables[iface]
		}
		v := value(kernel, nil, own)
		v.OutgoingInterface, v.Nexthop = iface, nexthop
		return v
	}
	wanted := false
	for _, key := range r.here[kernel.Dst] {
		want := r.wanted[key]
		iface := want.GetOutgoingInterface()
		if _, here := slices.BinarySearch(there, iface); !here {
			continue
		}
		if v := of(iface); want.GetTable() == v.GetTable() {
			r.add(kernel, v)
			wanted = true
		}
	}
	if !wanted && len(there) > 0 {
		r.add(kernel, of(there[0]))
	}
}

// add adds a value, once; the best of several.
func (r *routeRetrieval) add(kernel netlinkapi.Route, v *l3.Route) {
	key := l3model.RouteModel.Key(v)
	want := r.wanted[key]
	if kernel.Protocol != netlinkapi.ProtocolAgent && want == nil {
		return
	}
	if want != nil {
		v.DstNetwork = want.GetDstNetwork()
		if ignoresScope(kernel) { // the kernel has none
			v.Scope = want.GetScope()
		}
	}
	if _, known := r.found[key]; !known {
		r.order = append(r.order, key)
	} else if want == nil || !sameRoute(key, v, want) {
		return
	}
	r.found[key] = routeKV{Key: key, Value: v, Origin: api.FromNB}
}

func ignoresScope(r netlinkapi.Route) bool {
	return r.Dst.Addr().Is6() || r.Type != netlinkapi.RouteUnicast
}

// literalRoutes returns the routes with literal addresses by the keys that those have, and the
// values of the routes that have references.
func (d route) literalRoutes(all []routeKV) (literal map[string]*l3.Route, spelled map[string]routeKV) {
	literal, spelled = map[string]*l3.Route{}, map[string]routeKV{}
	for _, kv := range all {
		v, err := d.literalRoute(kv.Value)
		if err != nil {
			continue // what is not allocated is not there
		}
		v = withLength(v)
		key := l3model.RouteModel.Key(v)
		if literal[key] != nil && v == kv.Value {
			continue // the value that refers to allocations has the key
		}
		literal[key] = v
		if v != kv.Value {
			spelled[key] = kv
		}
	}
	return literal, spelled
}

// withLength returns the route with the prefix length of its destination, which the key of a
// found route has.
func withLength(v *l3.Route) *l3.Route {
	if _, err := netip.ParsePrefix(v.GetDstNetwork()); err == nil {
		return v
	}
	dst, err := destination(v)
	if err != nil {
		return v
	}
	v = proto.CloneOf(v)
	v.DstNetwork = dst.String()
	return v
}

// value makes a value of a route with next hops; own is the table that it does not name.
func value(r netlinkapi.Route, all []hop, own uint32) *l3.Route {
	v := &l3.Route{DstNetwork: r.Dst.String(), Metric: r.Metric, Mtu: r.MTU, AdvMss: r.AdvMSS, Type: typeOf(r.Type)}
	setHops(v, all)
	if r.Table != own {
		v.Table = r.Table
	}
	if r.Source.IsValid() {
		v.SourceAddr = r.Source.String()
	}
	v.Scope = l3.Route_GLOBAL
	if r.Dst.Addr().Is6() {
		if r.Type == netlinkapi.RouteUnicast && !r.Gateway.IsValid() {
			v.Scope = l3.Route_LINK
		}
		return v
	}
	for scope, kernel := range scopes {
		if kernel == r.Scope && scope != l3.Route_UNDEFINED {
			v.Scope = scope
		}
	}
	return v
}

func (d route) retrieveValue(ctx context.Context, _ string, last *l3.Route, _ any) (*l3.Route, any, bool, error) {
	w := d.ways()
	defer w.close()
	p, literal, want, err := d.kernelRoute(ctx, w, last)
	if invalid := new(api.InvalidValueError); errors.Is(err, errApart) || errors.As(err, &invalid) {
		return nil, nil, false, nil // there cannot be such a route
	}
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	r, err := p.FindRoute(ctx, want)
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	if r.Equal(want) {
		return last, nil, true, nil
	}
	names := map[int]string{}
	for i, h := range want.Hops() {
		names[h.Link] = hops(literal)[i].iface
	}
	v := value(r, valueHops(r, names), 0)
	if r.Nexthop != 0 {
		v.Nexthop = nexthopName(d.nexthopNames(ctx, p.Namespace()), r.Nexthop)
	}
	v.OutgoingInterface, v.Table, v.DstNetwork = last.GetOutgoingInterface(), last.GetTable(), last.GetDstNetwork()
	if ignoresScope(r) {
		v.Scope = last.GetScope()
	}
	return v, nil, true, nil
}
