package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
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

// table is the routing table of what goes out of the interface.
func (d route) table(meta ifaceidx.LinuxIfMetadata) (uint32, error) {
	if meta.VrfMasterIf == "" {
		return netlinkapi.MainTable, nil
	}
	vrf, ok := d.Index.Get(meta.VrfMasterIf)
	if !ok {
		return 0, fmt.Errorf("VRF %q: %w", meta.VrfMasterIf, netlinkapi.ErrNotFound)
	}
	return vrf.VrfDevRT, nil
}

// kernelRoute converts a value.
func (d route) kernelRoute(p *ifaceidx.Place, v *l3.Route) (netlinkapi.Route, error) {
	v, err := d.literalRoute(v)
	if err != nil {
		return netlinkapi.Route{}, err
	}
	dst, err := destination(v)
	if err != nil {
		return netlinkapi.Route{}, invalid("dst_network", "%w", err)
	}
	table, err := d.table(p.Meta)
	if err != nil {
		return netlinkapi.Route{}, err
	}
	if v.GetTable() == table {
		return netlinkapi.Route{}, invalid("table", "%d is the table of the interface; expected 0 for it", table)
	}
	if v.GetTable() != 0 {
		table = v.GetTable()
	}
	r := netlinkapi.Route{
		Link: p.Link.Index, Table: table, Dst: dst, Gateway: address(v.GetGwAddr()), OnLink: v.GetOnLink(),
		Metric: metric(v), Protocol: netlinkapi.ProtocolAgent, Source: address(v.GetSourceAddr()),
	}
	if dst.Addr().Is4() {
		r.Scope = scopes[v.GetScope()]
	}
	return r, nil
}

func (d route) create(ctx context.Context, _ string, v *l3.Route) (any, error) {
	p, err := d.find(ctx, v.GetOutgoingInterface())
	if err != nil {
		return nil, err
	}
	defer closeHandle(p)
	r, err := d.kernelRoute(p, v)
	if err != nil {
		return nil, err
	}
	err = p.AddRoute(r)
	if errors.Is(err, netlinkapi.ErrExists) {
		err = d.takeOver(p, r)
	}
	return nil, err
}

// takeOver makes a route the agent's that is there already.
func (d route) takeOver(p *ifaceidx.Place, r netlinkapi.Route) error {
	all, err := p.Routes()
	if err != nil {
		return err
	}
	for _, have := range all {
		if have.Dst != r.Dst || have.Table != r.Table || have.Metric != r.Metric {
			continue
		}
		if have.Link == r.Link && have.Protocol != netlinkapi.ProtocolKernel {
			return p.ReplaceRoute(r)
		}
		return fmt.Errorf("there is another route to %s with metric %d (link with index %d, protocol %d): %w",
			r.Dst, r.Metric, have.Link, have.Protocol, netlinkapi.ErrExists)
	}
	return p.AddRoute(r) // it has just gone
}

func (d route) update(ctx context.Context, _ string, _, v *l3.Route, _ any) (any, error) {
	p, err := d.find(ctx, v.GetOutgoingInterface())
	if err != nil {
		return nil, err
	}
	defer closeHandle(p)
	r, err := d.kernelRoute(p, v)
	if err != nil {
		return nil, err
	}
	return nil, p.ReplaceRoute(r)
}

func (d route) delete(ctx context.Context, _ string, v *l3.Route, _ any) error {
	p, err := d.find(ctx, v.GetOutgoingInterface())
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(p)
	r, err := d.kernelRoute(p, v)
	if err != nil {
		return ignoreGone(err)
	}
	r.Protocol = 0 // any
	return ignoreGone(p.DeleteRoute(r))
}

// retrieve returns the routes of the agent, and static routes of others where
// such a route is wanted.
func (d route) retrieve(ctx context.Context, correlate []routeKV) ([]routeKV, error) {
	wanted, spelled := d.literalRoutes(correlate)
	best := map[string]routeKV{}
	var order []string
	err := d.visit(ctx, func(h netlinkapi.Handle, names map[int]string) error {
		all, err := h.Routes()
		if err != nil {
			return err
		}
		for _, r := range all {
			iface := names[r.Link]
			if iface == "" {
				continue
			}
			own, known := d.ownTable(iface)
			if !known {
				continue
			}
			v := value(r, iface, own)
			key := l3model.RouteModel.Key(v)
			want := wanted[key]
			if r.Protocol != netlinkapi.ProtocolAgent && (want == nil || !r.Protocol.Static()) {
				continue
			}
			if want != nil {
				v.DstNetwork = want.GetDstNetwork()
				if r.Dst.Addr().Is6() {
					v.Scope = want.GetScope() // the kernel has none for IPv6
				}
			}
			if _, known := best[key]; !known {
				order = append(order, key)
			} else if want == nil || !sameRoute(key, v, want) {
				continue
			}
			best[key] = routeKV{Key: key, Value: v, Origin: api.FromNB}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := make([]routeKV, len(order))
	for i, key := range order {
		found[i] = best[key]
		if w, ok := spelled[key]; ok {
			found[i].Key = w.Key
			if sameRoute(key, found[i].Value, wanted[key]) {
				found[i].Value = w.Value
			}
		}
	}
	return found, nil
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

// ownTable is the table of an interface; false if its VRF is not known.
func (d route) ownTable(iface string) (table uint32, known bool) {
	meta, ok := d.Index.Get(iface)
	if !ok {
		return 0, false
	}
	table, err := d.table(meta)
	return table, err == nil
}

// value makes a value of a route; own is the table of its interface.
func value(r netlinkapi.Route, iface string, own uint32) *l3.Route {
	v := &l3.Route{OutgoingInterface: iface, DstNetwork: r.Dst.String(), Metric: r.Metric, OnLink: r.OnLink}
	if r.Table != own {
		v.Table = r.Table
	}
	if r.Gateway.IsValid() {
		v.GwAddr = r.Gateway.String()
	}
	if r.Source.IsValid() {
		v.SourceAddr = r.Source.String()
	}
	v.Scope = l3.Route_GLOBAL
	if r.Dst.Addr().Is6() {
		if !r.Gateway.IsValid() {
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
	p, err := d.find(ctx, last.GetOutgoingInterface())
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	defer closeHandle(p)
	want, err := d.kernelRoute(p, last)
	if err != nil {
		return nil, nil, false, err
	}
	r, err := p.FindRoute(want)
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	own, err := d.table(p.Meta)
	if err != nil {
		return nil, nil, false, err
	}
	v := value(r, last.GetOutgoingInterface(), own)
	if refers(last.GetDstNetwork(), last.GetGwAddr()) && r == want {
		return last, nil, true, nil
	}
	v.DstNetwork = last.GetDstNetwork()
	if r.Dst.Addr().Is6() {
		v.Scope = last.GetScope()
	}
	return v, nil, true, nil
}
