package nlsim

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// nexthops are the nexthop objects of a namespace.
type nexthops struct{ *lease }

// Nexthops implements netlinkapi.Nexthops.
func (h nexthops) Nexthops(ctx context.Context) (all []netlinkapi.Nexthop, err error) {
	err = h.read(ctx, "Nexthops", func() error { all = slices.Clone(h.ns.nexthops); return nil })
	return all, err
}

// AddNexthop implements netlinkapi.Nexthops.
func (h nexthops) AddNexthop(ctx context.Context, n netlinkapi.Nexthop) error {
	return h.change(ctx, "AddNexthop", func() error {
		if h.ns.nexthop(n.ID) != nil {
			return netlinkapi.ErrExists
		}
		return h.ns.setNexthop(n)
	})
}

// ReplaceNexthop implements netlinkapi.Nexthops.
func (h nexthops) ReplaceNexthop(ctx context.Context, n netlinkapi.Nexthop) error {
	return h.change(ctx, "ReplaceNexthop", func() error { return h.ns.setNexthop(n) })
}

// DeleteNexthop implements netlinkapi.Nexthops.
func (h nexthops) DeleteNexthop(ctx context.Context, id uint32) error {
	return h.change(ctx, "DeleteNexthop", func() error {
		if h.ns.nexthop(id) == nil {
			return netlinkapi.ErrNotFound
		}
		h.ns.removeNexthops(func(n netlinkapi.Nexthop) bool { return n.ID == id }, true)
		return nil
	})
}

func (ns *space) nexthop(id uint32) *netlinkapi.Nexthop {
	at := slices.IndexFunc(ns.nexthops, func(n netlinkapi.Nexthop) bool { return n.ID == id })
	if at < 0 {
		return nil
	}
	return &ns.nexthops[at]
}

func (ns *space) setNexthop(n netlinkapi.Nexthop) error {
	if err := ns.checkNexthop(n); err != nil {
		return err
	}
	n.Members = slices.Clone(n.Members)
	if now := ns.nexthop(n.ID); now == nil {
		ns.nexthops = append(ns.nexthops, n)
	} else if *now = n; n.Protocol == netlinkapi.ProtocolAgent {
		return nil
	}
	if n.Protocol != netlinkapi.ProtocolAgent {
		ns.notify(netlinkapi.Event{Kind: netlinkapi.NexthopRemoved, Nexthop: n.ID})
	}
	return nil
}

// checkNexthop refuses what the kernel refuses.
func (ns *space) checkNexthop(n netlinkapi.Nexthop) error {
	now := ns.nexthop(n.ID)
	switch {
	case n.ID == 0, now != nil && (len(now.Members) > 0) != (len(n.Members) > 0):
		return errInvalid
	case len(n.Members) > 0:
		return ns.checkMembers(n)
	case n.Blackhole && !ns.byName("lo").Up:
		return errNetworkDown
	case n.Blackhole:
		return nil
	}
	l := ns.links[n.Link]
	switch {
	case l == nil:
		return netlinkapi.ErrNotFound
	case !l.Running:
		return errNetworkDown
	case n.Gateway.IsValid() && n.Gateway.Is6() != n.IPv6:
		return errInvalid
	}
	return ns.checkHop(netlinkapi.Route{Table: netlinkapi.MainTable}, n.NextHop)
}

func (ns *space) checkMembers(n netlinkapi.Nexthop) error {
	seen := map[uint32]bool{}
	for _, m := range n.Members {
		member := ns.nexthop(m.ID)
		if member == nil || seen[m.ID] || len(member.Members) > 0 || member.Blackhole && len(n.Members) > 1 {
			return fmt.Errorf("member %d: %w", m.ID, errInvalid)
		}
		seen[m.ID] = true
	}
	return nil
}

// removeNexthops removes objects, with the routes through them and groups that become empty.
// Removals by the kernel itself send no events, nor do removals of IPv4 routes.
func (ns *space) removeNexthops(which func(netlinkapi.Nexthop) bool, events bool) {
	gone := map[uint32]bool{}
	ns.nexthops = slices.DeleteFunc(ns.nexthops, func(n netlinkapi.Nexthop) bool {
		gone[n.ID] = which(n)
		return gone[n.ID]
	})
	for i := range ns.nexthops {
		n := &ns.nexthops[i]
		was := len(n.Members)
		n.Members = slices.DeleteFunc(n.Members, func(m netlinkapi.NexthopMember) bool { return gone[m.ID] })
		gone[n.ID] = was > 0 && len(n.Members) == 0
	}
	ns.nexthops = slices.DeleteFunc(ns.nexthops, func(n netlinkapi.Nexthop) bool { return gone[n.ID] })
	ns.routes = slices.DeleteFunc(ns.routes, func(r netlinkapi.Route) bool {
		lost := r.Nexthop != 0 && gone[r.Nexthop]
		if lost && r.Dst.Addr().Is6() {
			ns.removed(r)
		}
		return lost
	})
	for id, lost := range gone {
		if lost && events {
			ns.notify(netlinkapi.Event{Kind: netlinkapi.NexthopRemoved, Nexthop: id})
		}
	}
}

// carrier notifies of a lost carrier; the kernel removes nexthop objects then.
func (l *link) carrier() {
	if l.Running {
		return
	}
	l.ns.removeNexthops(func(n netlinkapi.Nexthop) bool { return n.Link == l.Index }, false)
	l.ns.notify(netlinkapi.Event{Kind: netlinkapi.CarrierLost, Link: l.Index})
}

// usable reports whether a route can go through its nexthop object.
func (ns *space) usable(r netlinkapi.Route) bool {
	if r.Nexthop == 0 {
		return true
	}
	n := ns.nexthop(r.Nexthop)
	if n == nil {
		return false
	}
	ways := []netlinkapi.Nexthop{*n}
	for _, m := range n.Members {
		ways = append(ways, *ns.nexthop(m.ID))
	}
	return r.Dst.Addr().Is4() || !slices.ContainsFunc(ways, func(w netlinkapi.Nexthop) bool { return len(w.Members) == 0 && !w.IPv6 })
}
