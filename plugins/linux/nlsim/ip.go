package nlsim

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// errInvalid is what the kernel answers to most of what makes no sense.
var errInvalid = errors.New("invalid argument")

// linkUp adds the routes of the addresses that the link has.
func (l *link) linkUp() {
	l.addLoopback()
	for _, a := range l.ns.addrs {
		if a.Link == l.Index {
			l.connect(a)
		}
	}
}

// addLoopback adds the addresses that the kernel gives to a loopback.
func (l *link) addLoopback() {
	if !l.Loopback {
		return
	}
	for _, text := range []string{"127.0.0.1/8", "::1/128"} {
		p := netip.MustParsePrefix(text)
		disabled, _ := l.sysctl(disableIPv6)
		if (p.Addr().Is4() || disabled == 0) && !slices.ContainsFunc(l.ns.addrs, func(a netlinkapi.Address) bool {
			return a.Link == l.Index && a.Prefix.Addr().Is4() == p.Addr().Is4() && (p.Addr().Is4() || a.Prefix == p)
		}) {
			l.ns.addrs = append(l.ns.addrs, netlinkapi.Address{Link: l.Index, Prefix: p, Scope: netlinkapi.ScopeHost})
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

func (l *link) flushAddresses(which func(netlinkapi.Address) bool) {
	l.ns.addrs = slices.DeleteFunc(l.ns.addrs, func(a netlinkapi.Address) bool {
		if which(a) {
			delete(l.ns.ends, addressOf{a.Link, a.Prefix})
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
	if !slices.ContainsFunc(l.ns.routes, func(o netlinkapi.Route) bool {
		return o.Link == r.Link && o.Table == r.Table && o.Protocol == r.Protocol && o.Dst == r.Dst
	}) {
		l.ns.routes = append(l.ns.routes, r)
	}
}

func (h *handle) Addresses(ctx context.Context) (addrs []netlinkapi.Address, err error) {
	err = h.read(ctx, "Addresses", func() error {
		now := time.Now()
		h.ns.expire(now)
		addrs = h.ns.remaining(now)
		return nil
	})
	return addrs, err
}

func (h *handle) AddAddress(ctx context.Context, a netlinkapi.Address) error {
	return h.set(ctx, "AddAddress", a.Link, func(l *link) error {
		if slices.ContainsFunc(h.ns.addrs, sameAddress(a)) {
			return netlinkapi.ErrExists
		}
		l.addAddress(a)
		return nil
	})
}

// SetAddress implements netlinkapi.Addresses.
func (h *handle) SetAddress(ctx context.Context, a netlinkapi.Address) error {
	return h.set(ctx, "SetAddress", a.Link, func(l *link) error {
		if at := slices.IndexFunc(h.ns.addrs, sameAddress(a)); at >= 0 {
			h.ns.addrs[at] = a
			h.ns.limit(a)
		} else {
			l.addAddress(a)
		}
		return nil
	})
}

func (l *link) addAddress(a netlinkapi.Address) {
	l.ns.addrs = append(l.ns.addrs, a)
	l.ns.limit(a)
	if a.Prefix.Addr().Is6() {
		l.setSysctl(disableIPv6, 0)
	}
	l.connect(a)
}

func (h *handle) DeleteAddress(ctx context.Context, a netlinkapi.Address) error {
	return h.set(ctx, "DeleteAddress", a.Link, func(l *link) error {
		at := slices.IndexFunc(h.ns.addrs, sameAddress(a))
		if at < 0 {
			return netlinkapi.ErrNotFound
		}
		found := h.ns.addrs[at]
		l.deleteAddress(a, found.Prefix.Addr().Is6() && found.Valid != 0)
		return nil
	})
}

// deleteAddress removes an address. The route to its network stays if that has a lifetime of its own.
func (l *link) deleteAddress(a netlinkapi.Address, ownLifetime bool) {
	l.flushAddresses(sameAddress(a))
	inNetwork := func(o netlinkapi.Address) bool { return o.Link == a.Link && o.Prefix.Masked() == a.Prefix.Masked() }
	if !ownLifetime && !slices.ContainsFunc(l.ns.addrs, inNetwork) {
		l.ns.routes = slices.DeleteFunc(l.ns.routes, func(r netlinkapi.Route) bool {
			return r.Link == a.Link && r.Protocol == netlinkapi.ProtocolKernel && r.Dst == a.Prefix.Masked()
		})
	}
	l.ns.lostSource(a.Prefix.Addr())
	if a.Prefix.Addr().Is4() {
		l.lostAddress4()
	}
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
	if !l.hasAddress4() {
		l.flushRoutes(netip.Addr.Is4)
		l.flushNeighbours(func(n netlinkapi.Neighbour) bool { return n.IP.Is4() })
	}
	l.ns.notify(netlinkapi.Event{Kind: netlinkapi.RoutesFlushed, Link: l.Index})
}

func (h *handle) Neighbours(ctx context.Context) (ns []netlinkapi.Neighbour, err error) {
	err = h.read(ctx, "Neighbours", func() error { ns = slices.Clone(h.ns.neighs); return nil })
	return ns, err
}

func (h *handle) AddNeighbour(ctx context.Context, n netlinkapi.Neighbour) error {
	return h.set(ctx, "AddNeighbour", n.Link, func(l *link) error {
		if slices.ContainsFunc(h.ns.neighs, sameNeighbour(n)) { // none is learned here
			return netlinkapi.ErrExists
		}
		return l.setNeighbour(n)
	})
}

func (h *handle) SetNeighbour(ctx context.Context, n netlinkapi.Neighbour) error {
	return h.set(ctx, "SetNeighbour", n.Link, func(l *link) error { return l.setNeighbour(n) })
}

func (l *link) setNeighbour(n netlinkapi.Neighbour) error {
	if !l.Up {
		return errNetworkDown
	}
	n.Permanent = true
	l.ns.neighs = append(slices.DeleteFunc(l.ns.neighs, sameNeighbour(n)), n)
	return nil
}

func (h *handle) DeleteNeighbour(ctx context.Context, n netlinkapi.Neighbour) error {
	return h.set(ctx, "DeleteNeighbour", n.Link, func(l *link) error {
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

func sameAddress(a netlinkapi.Address) func(netlinkapi.Address) bool {
	return func(o netlinkapi.Address) bool { return o.Link == a.Link && o.Prefix == a.Prefix }
}
