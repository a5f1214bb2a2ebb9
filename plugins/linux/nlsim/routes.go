package nlsim

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// What the kernel answers when a route cannot be used.
var (
	errNetworkDown        = errors.New("network is down")
	errNetworkUnreachable = errors.New("network is unreachable")
)

func (h *handle) Routes(ctx context.Context) (rs []netlinkapi.Route, err error) {
	err = h.read(ctx, "Routes", func() error { rs = slices.Clone(h.ns.routes); return nil })
	return rs, err
}

// StaticRoutes implements netlinkapi.Routes.
func (h *handle) StaticRoutes(ctx context.Context) (rs []netlinkapi.Route, err error) {
	err = h.read(ctx, "Routes", func() error {
		rs = slices.DeleteFunc(slices.Clone(h.ns.routes), func(r netlinkapi.Route) bool { return !r.Protocol.Static() })
		return nil
	})
	return rs, err
}

// FindRoute implements netlinkapi.Routes.
func (h *handle) FindRoute(ctx context.Context, want netlinkapi.Route) (found netlinkapi.Route, err error) {
	err = h.read(ctx, "FindRoute", func() error {
		found, err = netlinkapi.ChooseRoute(h.ns.routes, normal(want))
		return err
	})
	return found, err
}

func (h *handle) AddRoute(ctx context.Context, r netlinkapi.Route) error {
	return h.change(ctx, "AddRoute", func() error { return h.addRoute(r, false) })
}

func (h *handle) ReplaceRoute(ctx context.Context, r netlinkapi.Route) error {
	return h.change(ctx, "ReplaceRoute", func() error { return h.addRoute(r, true) })
}

// ChangeRoutes implements netlinkapi.Routes.
func (h *handle) ChangeRoutes(ctx context.Context, op netlinkapi.RouteOp, all []netlinkapi.Route) []error {
	change := h.AddRoute
	switch op {
	case netlinkapi.OpReplace:
		change = h.ReplaceRoute
	case netlinkapi.OpDelete:
		change = h.DeleteRoute
	}
	errs := make([]error, len(all))
	for i, r := range all {
		errs[i] = change(ctx, r)
	}
	return errs
}

func (h *handle) addRoute(r netlinkapi.Route, replace bool) error {
	if r.Dst != r.Dst.Masked() || r.Source.IsValid() && !h.ns.hasAddress(r.Source) || !h.ns.usable(r) {
		return errInvalid
	}
	for _, hop := range r.Hops() {
		if err := h.ns.checkHop(r, hop); err != nil {
			return err
		}
	}
	r = normal(r)
	at := slices.IndexFunc(h.ns.routes, sameRoute(r))
	switch {
	case at < 0:
		h.ns.routes = append(h.ns.routes, r)
	case replace:
		h.ns.routes[at] = r
		if r.Protocol != netlinkapi.ProtocolAgent {
			h.ns.routeGone(r)
		}
	default:
		return netlinkapi.ErrExists
	}
	return nil
}

// checkHop refuses a next hop that cannot be used.
func (ns *space) checkHop(r netlinkapi.Route, hop netlinkapi.NextHop) error {
	l := ns.links[hop.Link]
	switch {
	case l == nil:
		return netlinkapi.ErrNotFound
	case !l.Up:
		return errNetworkDown
	case r.Dst.Addr().Is6() && hop.Gateway.Is4():
		return errInvalid
	case hop.Gateway.IsValid() && !hop.OnLink && !ns.reachable(r, hop):
		return errNetworkUnreachable
	case hop.OnLink && !hop.Gateway.IsValid():
		return errInvalid
	}
	return nil
}

// reachable reports whether the gateway is in a network attached to its link.
func (ns *space) reachable(r netlinkapi.Route, hop netlinkapi.NextHop) bool {
	if hop.Gateway.Is6() && hop.Gateway.IsLinkLocalUnicast() { // every link is in that network
		return true
	}
	return slices.ContainsFunc(ns.routes, func(via netlinkapi.Route) bool {
		return via.Link == hop.Link && !via.Gateway.IsValid() && via.Dst.Contains(hop.Gateway) &&
			(via.Table == normal(r).Table || via.Table == ns.links[hop.Link].table())
	})
}

func (ns *space) hasAddress(ip netip.Addr) bool {
	return slices.ContainsFunc(ns.addrs, func(a netlinkapi.Address) bool { return a.Prefix.Addr() == ip })
}

func (h *handle) DeleteRoute(ctx context.Context, r netlinkapi.Route) error {
	return h.change(ctx, "DeleteRoute", func() error {
		r = normal(r)
		at := slices.IndexFunc(h.ns.routes, func(o netlinkapi.Route) bool {
			return sameRoute(r)(o) && (r.Link == 0 || o.Link == r.Link)
		})
		if at < 0 {
			return netlinkapi.ErrNotFound
		}
		h.ns.removed(h.ns.routes[at])
		h.ns.routes = slices.Delete(h.ns.routes, at, at+1)
		return nil
	})
}

func normal(r netlinkapi.Route) netlinkapi.Route {
	if r.Table == 0 {
		r.Table = netlinkapi.MainTable
	}
	if r.Type != netlinkapi.RouteUnicast || r.Nexthop != 0 {
		r.SetHops(nil)
	}
	if r.Dst.Addr().Is6() {
		r.Scope = netlinkapi.ScopeGlobal
		if r.Metric == 0 {
			r.Metric = 1024
		}
	}
	return r
}

func sameRoute(r netlinkapi.Route) func(netlinkapi.Route) bool {
	return func(o netlinkapi.Route) bool { return o.Dst == r.Dst && o.Table == r.Table && o.Metric == r.Metric }
}

// flushRoutes removes the routes of one IP version that have no other next hop than the
// link, or dead ones. The kernel sends events for IPv6 routes only.
func (l *link) flushRoutes(version func(netip.Addr) bool) {
	l.ns.routes = slices.DeleteFunc(l.ns.routes, func(r netlinkapi.Route) bool {
		if !r.Uses(l.Index) || !version(r.Dst.Addr()) || len(r.More) > 0 && slices.ContainsFunc(r.Hops(), l.ns.alive(r)) {
			return false
		}
		if r.Dst.Addr().Is6() {
			l.ns.removed(r)
		}
		return true
	})
}

// alive reports whether a next hop of several can be used; one that cannot stays in its route
// until it can.
func (ns *space) alive(r netlinkapi.Route) func(netlinkapi.NextHop) bool {
	return func(hop netlinkapi.NextHop) bool {
		l := ns.links[hop.Link]
		return l != nil && l.Up && (r.Dst.Addr().Is6() || l.hasAddress4())
	}
}

func (l *link) hasAddress4() bool {
	return slices.ContainsFunc(l.ns.addrs, func(a netlinkapi.Address) bool { return a.Link == l.Index && a.Prefix.Addr().Is4() })
}

// removed notifies of a static route that was deleted.
func (ns *space) removed(r netlinkapi.Route) {
	if r.Protocol.Static() {
		ns.routeGone(r)
	}
}

// routeGone sends the events of a route that is no longer there.
func (ns *space) routeGone(r netlinkapi.Route) {
	links := []int{r.Link}
	for _, h := range r.More {
		if !slices.Contains(links, h.Link) {
			links = append(links, h.Link)
		}
	}
	for _, link := range links {
		ns.notify(netlinkapi.Event{Kind: netlinkapi.RouteRemoved, Link: link, Prefix: r.Dst, Table: r.Table})
	}
}
