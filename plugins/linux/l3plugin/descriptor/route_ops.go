package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

var scopes = map[l3.Route_Scope]netlinkapi.Scope{
	l3.Route_UNDEFINED: netlinkapi.ScopeGlobal,
	l3.Route_GLOBAL:    netlinkapi.ScopeGlobal,
	l3.Route_SITE:      netlinkapi.ScopeSite,
	l3.Route_LINK:      netlinkapi.ScopeLink,
	l3.Route_HOST:      netlinkapi.ScopeHost,
}

var types = map[l3.Route_Type]netlinkapi.RouteType{
	l3.Route_UNICAST:     netlinkapi.RouteUnicast,
	l3.Route_BLACKHOLE:   netlinkapi.RouteBlackhole,
	l3.Route_UNREACHABLE: netlinkapi.RouteUnreachable,
	l3.Route_PROHIBIT:    netlinkapi.RouteProhibit,
}

// typeOf is the inverse of types.
func typeOf(kernel netlinkapi.RouteType) l3.Route_Type {
	for typ, k := range types {
		if k == kernel {
			return typ
		}
	}
	return l3.Route_UNICAST
}

// bareRoute converts a value but for its next hops, and returns it with literal addresses.
func (d route) bareRoute(ctx context.Context, w *ways, p *ifaceidx.Place, v *l3.Route) (*l3.Route, netlinkapi.Route, error) {
	v, err := d.literalRoute(v)
	if err != nil {
		return nil, netlinkapi.Route{}, err
	}
	dst, err := destination(v)
	if err != nil {
		return nil, netlinkapi.Route{}, invalid("dst_network", "%w", err)
	}
	table := uint32(netlinkapi.MainTable)
	if v.GetType() == l3.Route_UNICAST {
		if table, err = w.table(ctx, p); err != nil {
			return nil, netlinkapi.Route{}, err
		}
	}
	if v.GetTable() == table {
		return nil, netlinkapi.Route{}, invalid("table", "%d is the table of the interface; expected 0 for it", table)
	}
	if v.GetTable() != 0 {
		table = v.GetTable()
	}
	r := netlinkapi.Route{
		Type: types[v.GetType()], Table: table, Dst: dst, Metric: metric(v), Protocol: netlinkapi.ProtocolAgent,
		Source: address(v.GetSourceAddr()), MTU: v.GetMtu(), AdvMSS: v.GetAdvMss(),
	}
	if !ignoresScope(r) {
		r.Scope = scopes[v.GetScope()]
	}
	return v, r, nil
}

// ways finds interfaces and their routing tables, each once. Close it.
type ways struct {
	Deps
	found  map[string]*ifaceidx.Place
	tables map[*ifaceidx.Place]uint32
}

func (d route) ways() *ways {
	return &ways{d.Deps, map[string]*ifaceidx.Place{}, map[*ifaceidx.Place]uint32{}}
}

// table returns the routing table of what goes out of an interface.
func (w *ways) table(ctx context.Context, p *ifaceidx.Place) (uint32, error) {
	if table := w.tables[p]; table != 0 {
		return table, nil
	}
	var master netlinkapi.Link
	if p.Link.Master != 0 {
		var err error
		if master, err = p.LinkByIndex(ctx, p.Link.Master); ignoreGone(err) != nil {
			return 0, err
		}
	}
	w.tables[p] = tableOf(master)
	return w.tables[p], nil
}

// tableOf returns the routing table of what goes out of the ports of a link.
func tableOf(master netlinkapi.Link) uint32 {
	if vrf, ok := master.Params.(netlinkapi.VRF); ok {
		return vrf.Table
	}
	return netlinkapi.MainTable
}

func (w *ways) find(ctx context.Context, iface string) (*ifaceidx.Place, error) {
	if p := w.found[iface]; p != nil {
		return p, nil
	}
	p, err := w.Deps.find(ctx, iface)
	if err == nil {
		w.found[iface] = p
	}
	return p, err
}

func (w *ways) close() {
	for _, p := range w.found {
		closeHandle(p)
	}
}

// kernelRoute converts a value, and returns it with literal addresses, and the interface that
// it goes out of first.
func (d route) kernelRoute(ctx context.Context, w *ways, v *l3.Route) (*ifaceidx.Place, *l3.Route, netlinkapi.Route, error) {
	p, err := w.find(ctx, v.GetOutgoingInterface())
	if err != nil {
		return nil, nil, netlinkapi.Route{}, err
	}
	v, r, err := d.bareRoute(ctx, w, p, v)
	if err != nil {
		return nil, nil, r, err
	}
	all, err := kernelHops(ctx, w, p, hops(v))
	r.SetHops(all)
	if err == nil && v.GetNexthop() != "" {
		r.Nexthop, err = d.nexthopID(ctx, v.GetNexthop(), p)
	}
	return p, v, r, err
}

type (
	routeValue  = api.BatchValue[*l3.Route, any]
	routeResult = api.BatchResult[any]
)

// routeChange is the same change of several routes.
type routeChange struct {
	route
	op netlinkapi.RouteOp
	// convert returns the route of a value, and its interface.
	convert func(ctx context.Context, w *ways, v routeValue) (*ifaceidx.Place, netlinkapi.Route, error)
	// outcome returns the result of a change that had the error, or nil.
	outcome func(p *ifaceidx.Place, r netlinkapi.Route, err error) error
}

// run makes the changes, those in one namespace at once.
func (c routeChange) run(ctx context.Context, values []routeValue) []routeResult {
	w := c.ways()
	defer w.close()
	results := make([]routeResult, len(values))
	type part struct {
		places []*ifaceidx.Place
		routes []netlinkapi.Route
		at     []int // in results
	}
	parts := map[netlinkapi.NamespaceID]*part{}
	for i, v := range values {
		p, r, err := c.convert(ctx, w, v)
		if err != nil {
			results[i].Err = c.outcome(p, r, err)
			continue
		}
		some := parts[p.Namespace()]
		if some == nil {
			some = &part{}
			parts[p.Namespace()] = some
		}
		some.places, some.routes, some.at = append(some.places, p), append(some.routes, r), append(some.at, i)
	}
	for _, some := range parts {
		for n, err := range some.places[0].ChangeRoutes(ctx, c.op, some.routes) {
			results[some.at[n]].Err = c.outcome(some.places[n], some.routes[n], err)
		}
	}
	return results
}

func (d route) create(ctx context.Context, values []routeValue) []routeResult {
	return routeChange{d, netlinkapi.OpAdd, d.converted, func(p *ifaceidx.Place, r netlinkapi.Route, err error) error {
		if p != nil && errors.Is(err, netlinkapi.ErrExists) {
			return d.takeOver(ctx, p, r)
		}
		return explain(err)
	}}.run(ctx, values)
}

func (d route) update(ctx context.Context, values []routeValue) []routeResult {
	return routeChange{d, netlinkapi.OpReplace, d.converted, func(_ *ifaceidx.Place, _ netlinkapi.Route, err error) error {
		return explain(err)
	}}.run(ctx, values)
}

func (d route) delete(ctx context.Context, values []routeValue) []routeResult {
	return routeChange{d, netlinkapi.OpDelete, d.former, func(_ *ifaceidx.Place, _ netlinkapi.Route, err error) error {
		return ignoreGone(err)
	}}.run(ctx, values)
}

// explain marks what this kernel cannot do.
func explain(err error) error {
	if errors.Is(err, netlinkapi.ErrUnsupported) {
		return api.Unimplemented(err)
	}
	return err
}

// converted returns the desired route.
func (d route) converted(ctx context.Context, w *ways, v routeValue) (*ifaceidx.Place, netlinkapi.Route, error) {
	p, _, r, err := d.kernelRoute(ctx, w, v.New)
	return p, r, err
}

// former returns the route to delete.
func (d route) former(ctx context.Context, w *ways, v routeValue) (*ifaceidx.Place, netlinkapi.Route, error) {
	p, err := w.find(ctx, v.Old.GetOutgoingInterface())
	if err != nil {
		return nil, netlinkapi.Route{}, err
	}
	literal, r, err := d.bareRoute(ctx, w, p, v.Old)
	if err != nil {
		return nil, r, err
	}
	if all := hops(literal); len(all) == 1 { // of several, whatever they are now
		r.SetHops([]netlinkapi.NextHop{{Link: p.Link.Index, Gateway: all[0].gateway, OnLink: all[0].onLink}})
	}
	r.Protocol = 0 // any
	return p, r, nil
}

// takeOver makes a route that is there already the desired one, with the mark of the agent. The
// error is api.ErrFound if another program made it.
func (d route) takeOver(ctx context.Context, p *ifaceidx.Place, r netlinkapi.Route) error {
	have, err := p.FindRoute(ctx, r)
	if err == nil && have.Link == r.Link && have.Metric == r.Metric {
		if err = p.ReplaceRoute(ctx, r); err == nil && have.Protocol != r.Protocol {
			err = api.ErrFound
		}
		return err
	}
	if err != nil && !errors.Is(err, netlinkapi.ErrNotFound) {
		return err
	}
	all, err := p.Routes(ctx)
	if err != nil {
		return err
	}
	for _, have := range all {
		if have.Dst == r.Dst && have.Table == r.Table && have.Metric == r.Metric {
			return fmt.Errorf("there is another route to %s with metric %d (link with index %d, protocol %d): %w",
				r.Dst, r.Metric, have.Link, have.Protocol, netlinkapi.ErrExists)
		}
	}
	return p.AddRoute(ctx, r) // it has just gone
}
