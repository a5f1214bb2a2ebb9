package nlsim

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// What the kernel answers when a route cannot be used.
var (
	errNetworkDown        = errors.New("network is down")
	errNetworkUnreachable = errors.New("network is unreachable")
	errInvalid            = errors.New("invalid argument")
)

// linkUp adds the routes of the addresses that the link has.
func (l *link) linkUp() {
	if l.Loopback && !slices.ContainsFunc(l.ns.addrs, func(a netlinkapi.Address) bool { return a.Link == l.Index }) {
		for _, p := range []string{"127.0.0.1/8", "::1/128"} {
			l.ns.addrs = append(l.ns.addrs, netlinkapi.Address{
				Link: l.Index, Prefix: netip.MustParsePrefix(p), Scope: netlinkapi.ScopeHost})
		}
	}
	for _, a := range l.ns.addrs {
		if a.Link == l.Index {
			l.connect(a)
		}
	}
}

// linkDown loses all routes and neighbours of the link, and the IPv6 addresses.
func (l *link) linkDown() {
	all := func(netlinkapi.Neighbour) bool { return true }
	l.flushRoutes(netip.Addr.Is6)
	l.flushRoutes(netip.Addr.Is4)
	l.flushNeighbours(all)
	l.flushAddresses(func(a netlinkapi.Address) bool { return a.Link == l.Index && a.Prefix.Addr().Is6() })
	l.ns.notify(netlinkapi.Event{Kind: netlinkapi.RoutesFlushed, Link: l.Index})
}

// flushRoutes removes the routes of one IP version. The kernel sends events for those
// of IPv6 alone.
func (l *link) flushRoutes(version func(netip.Addr) bool) {
	l.ns.routes = slices.DeleteFunc(l.ns.routes, func(r netlinkapi.Route) bool {
		if r.Link != l.Index || !version(r.Dst.Addr()) {
			return false
		}
		if r.Dst.Addr().Is6() {
			l.ns.removed(r)
		}
		return true
	})
}

func (l *link) flushAddresses(which func(netlinkapi.Address) bool) {
	l.ns.addrs = slices.DeleteFunc(l.ns.addrs, func(a netlinkapi.Address) bool {
		if which(a) {
			l.ns.notify(netlinkapi.Event{Kind: netlinkapi.AddressRemoved, Link: a.Link, Prefix: a.Prefix})
		}
		return which(a)
	})
}

func (l *link) flushNeighbours(which func(netlinkapi.Neighbour) bool) {
	l.ns.neighs = slices.DeleteFunc(l.ns.neighs, func(n netlinkapi.Neighbour) bool {
		if n.Link != l.Index || !which(n) {
			return false
		}
		l.ns.notify(netlinkapi.Event{Kind: netlinkapi.NeighbourRemoved, Link: n.Link, IP: n.IP})
		return true
	})
}

// removed notifies of a route that was deleted or replaced.
func (ns *space) removed(r netlinkapi.Route) {
	if r.Protocol.Static() {
		ns.notify(netlinkapi.Event{Kind: netlinkapi.RouteRemoved, Link: r.Link, Prefix: r.Dst, Table: r.Table})
	}
}

func (l *link) table() uint32 {
	if m := l.ns.links[l.Master]; m != nil {
		if vrf, ok := m.Params.(netlinkapi.VRF); ok {
			return vrf.Table
		}
	}
	return netlinkapi.MainTable
}

// connect adds the route to the subnet of an address.
func (l *link) connect(a netlinkapi.Address) {
	if !l.Up || a.Prefix.IsSingleIP() || l.Loopback {
		return
	}
	r := netlinkapi.Route{
		Link: l.Index, Table: l.table(), Dst: a.Prefix.Masked(),
		Protocol: netlinkapi.ProtocolKernel, Scope: netlinkapi.ScopeLink,
	}
	if a.Prefix.Addr().Is6() {
		r.Scope, r.Metric = netlinkapi.ScopeGlobal, 256
	}
	l.ns.routes = append(l.ns.routes, r)
}

func (h *handle) Addresses() (addrs []netlinkapi.Address, err error) {
	err = h.k.read("Addresses", func() error { addrs = slices.Clone(h.ns.addrs); return nil })
	return addrs, err
}

func (h *handle) AddAddress(a netlinkapi.Address) error {
	return h.set("AddAddress", a.Link, func(l *link) error {
		if slices.ContainsFunc(h.ns.addrs, sameAddress(a)) {
			return netlinkapi.ErrExists
		}
		h.ns.addrs = append(h.ns.addrs, a)
		l.connect(a)
		return nil
	})
}

func (h *handle) DeleteAddress(a netlinkapi.Address) error {
	return h.set("DeleteAddress", a.Link, func(l *link) error {
		if !slices.ContainsFunc(h.ns.addrs, sameAddress(a)) {
			return netlinkapi.ErrNotFound
		}
		l.flushAddresses(sameAddress(a))
		h.ns.routes = slices.DeleteFunc(h.ns.routes, func(r netlinkapi.Route) bool {
			return r.Link == a.Link && r.Protocol == netlinkapi.ProtocolKernel && r.Dst == a.Prefix.Masked()
		})
		h.ns.lostSource(a.Prefix.Addr())
		if a.Prefix.Addr().Is4() {
			l.lostAddress4()
		}
		return nil
	})
}

// lostSource removes the IPv4 routes whose source address is gone; IPv6 routes lose the
// source alone.
func (ns *space) lostSource(ip netip.Addr) {
	if ns.hasAddress(ip) {
		return
	}
	ns.routes = slices.DeleteFunc(ns.routes, func(r netlinkapi.Route) bool { return r.Source == ip && ip.Is4() })
	for i := range ns.routes {
		if ns.routes[i].Source == ip {
			ns.routes[i].Source = netip.Addr{}
		}
	}
}

// lostAddress4 removes the IPv4 routes and neighbours of a link that lost its last IPv4
// address.
func (l *link) lostAddress4() {
	if !slices.ContainsFunc(l.ns.addrs, func(a netlinkapi.Address) bool { return a.Link == l.Index && a.Prefix.Addr().Is4() }) {
		l.flushRoutes(netip.Addr.Is4)
		l.flushNeighbours(func(n netlinkapi.Neighbour) bool { return n.IP.Is4() })
	}
	l.ns.notify(netlinkapi.Event{Kind: netlinkapi.RoutesFlushed, Link: l.Index})
}

func (h *handle) Neighbours() (ns []netlinkapi.Neighbour, err error) {
	err = h.k.read("Neighbours", func() error { ns = slices.Clone(h.ns.neighs); return nil })
	return ns, err
}

func (h *handle) SetNeighbour(n netlinkapi.Neighbour) error {
	return h.set("SetNeighbour", n.Link, func(l *link) error {
		if !l.Up {
			return errNetworkDown
		}
		n.Permanent = true
		h.ns.neighs = append(slices.DeleteFunc(h.ns.neighs, sameNeighbour(n)), n)
		return nil
	})
}

func (h *handle) DeleteNeighbour(n netlinkapi.Neighbour) error {
	return h.set("DeleteNeighbour", n.Link, func(l *link) error {
		if !slices.ContainsFunc(h.ns.neighs, sameNeighbour(n)) {
			return netlinkapi.ErrNotFound
		}
		l.flushNeighbours(sameNeighbour(n))
		return nil
	})
}

func sameNeighbour(n netlinkapi.Neighbour) func(netlinkapi.Neighbour) bool {
	return func(o netlinkapi.Neighbour) bool { return o.Link == n.Link && o.IP == n.IP }
}

func (h *handle) Routes() (rs []netlinkapi.Route, err error) {
	err = h.k.read("Routes", func() error { rs = slices.Clone(h.ns.routes); return nil })
	return rs, err
}

// FindRoute implements netlinkapi.Routes.
func (h *handle) FindRoute(want netlinkapi.Route) (found netlinkapi.Route, err error) {
	err = h.k.read("FindRoute", func() error {
		found, err = netlinkapi.ChooseRoute(h.ns.routes, normal(want))
		return err
	})
	return found, err
}

func (h *handle) AddRoute(r netlinkapi.Route) error {
	return h.k.change("AddRoute", func() error { return h.addRoute(r, false) })
}

func (h *handle) ReplaceRoute(r netlinkapi.Route) error {
	return h.k.change("ReplaceRoute", func() error { return h.addRoute(r, true) })
}

func (h *handle) addRoute(r netlinkapi.Route, replace bool) error {
	l := h.ns.links[r.Link]
	switch {
	case l == nil:
		return netlinkapi.ErrNotFound
	case r.Dst != r.Dst.Masked():
		return errInvalid
	case !l.Up:
		return errNetworkDown
	case r.Gateway.IsValid() && !r.OnLink && !h.reachable(r):
		return errNetworkUnreachable
	case r.OnLink && !r.Gateway.IsValid(), r.Source.IsValid() && !h.ns.hasAddress(r.Source):
		return errInvalid
	}
	r = normal(r)
	at := slices.IndexFunc(h.ns.routes, sameRoute(r))
	switch {
	case at < 0:
		h.ns.routes = append(h.ns.routes, r)
	case replace:
		h.ns.routes[at] = r
		if r.Protocol != netlinkapi.ProtocolAgent {
			h.ns.notify(netlinkapi.Event{Kind: netlinkapi.RouteRemoved, Link: r.Link, Prefix: r.Dst, Table: r.Table})
		}
	default:
		return netlinkapi.ErrExists
	}
	return nil
}

// reachable reports whether the gateway is in a network attached to the link.
func (h *handle) reachable(r netlinkapi.Route) bool {
	return slices.ContainsFunc(h.ns.routes, func(via netlinkapi.Route) bool {
		return via.Link == r.Link && !via.Gateway.IsValid() && via.Dst.Contains(r.Gateway) &&
			(via.Table == normal(r).Table || via.Table == h.ns.links[r.Link].table())
	})
}

func (ns *space) hasAddress(ip netip.Addr) bool {
	return slices.ContainsFunc(ns.addrs, func(a netlinkapi.Address) bool { return a.Prefix.Addr() == ip })
}

func (h *handle) DeleteRoute(r netlinkapi.Route) error {
	return h.k.change("DeleteRoute", func() error {
		r = normal(r)
		at := slices.IndexFunc(h.ns.routes, func(o netlinkapi.Route) bool { return sameRoute(r)(o) && o.Link == r.Link })
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

func sameAddress(a netlinkapi.Address) func(netlinkapi.Address) bool {
	return func(o netlinkapi.Address) bool { return o.Link == a.Link && o.Prefix == a.Prefix }
}
