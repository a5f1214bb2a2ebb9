package descriptor

import (
	"context"
	"errors"
	"fmt"

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

// bareRoute converts a value but for its next hops, and returns it with literal addresses.
func (d route) bareRoute(p *ifaceidx.Place, v *l3.Route) (*l3.Route, netlinkapi.Route, error) {
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
		if table, err = d.table(p.Meta); err != nil {
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

// kernelRoute converts a value, and returns it with literal addresses.
func (d route) kernelRoute(ctx context.Context, p *ifaceidx.Place, v *l3.Route) (*l3.Route, netlinkapi.Route, error) {
	v, r, err := d.bareRoute(p, v)
	if err != nil {
		return nil, r, err
	}
	all, err := d.kernelHops(ctx, p, hops(v))
	r.SetHops(all)
	return v, r, err
}

func (d route) create(ctx context.Context, _ string, v *l3.Route) (any, error) {
	p, err := d.find(ctx, v.GetOutgoingInterface())
	if err != nil {
		return nil, err
	}
	defer closeHandle(p)
	_, r, err := d.kernelRoute(ctx, p, v)
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
	_, r, err := d.kernelRoute(ctx, p, v)
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
	literal, r, err := d.bareRoute(p, v)
	if err != nil {
		return ignoreGone(err)
	}
	if all := hops(literal); len(all) == 1 { // of several, whatever they are now
		r.SetHops([]netlinkapi.NextHop{{Link: p.Link.Index, Gateway: all[0].gateway, OnLink: all[0].onLink}})
	}
	r.Protocol = 0 // any
	return ignoreGone(p.DeleteRoute(r))
}
