package nltest

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// nexthops are a next hop of IPv4, one of IPv6, a blackhole of IPv6, and a group of the first with
// another one.
func nexthops(link int) []netlinkapi.Nexthop {
	hop := func(id uint32, gw string) netlinkapi.Nexthop {
		ip := netip.MustParseAddr(gw)
		return netlinkapi.Nexthop{
			ID: id, NextHop: netlinkapi.NextHop{Link: link, Gateway: ip}, IPv6: ip.Is6(), Protocol: netlinkapi.ProtocolAgent,
		}
	}
	far := hop(4, "10.9.0.1")
	far.OnLink = true
	return []netlinkapi.Nexthop{
		hop(1, "10.1.0.2"), hop(2, "fd00:1::2"), {ID: 3, Blackhole: true, IPv6: true, Protocol: netlinkapi.ProtocolAgent}, far,
		{ID: 70000, Protocol: netlinkapi.ProtocolAgent, Members: []netlinkapi.NexthopMember{{ID: 1, Weight: 1}, {ID: 4, Weight: 256}}},
	}
}

// expectNexthops checks that these are all objects.
func expectNexthops(t *testing.T, h netlinkapi.Handle, want ...netlinkapi.Nexthop) {
	t.Helper()
	all, err := h.Nexthops(t.Context())
	must(t, err)
	if !slices.EqualFunc(all, want, netlinkapi.Nexthop.Equal) {
		t.Errorf("nexthop objects are %+v, expected %+v", all, want)
	}
}

// through is a route of the agent through a nexthop object.
func through(dst string, id uint32) netlinkapi.Route {
	r := static(0, dst, "")
	r.Nexthop = id
	return r
}

// testNexthops: objects are listed as they were added, are changed in place with the routes
// through them, and take these along when they are deleted.
func testNexthops(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.SetUp(t.Context(), MustLink(t, own, "lo").Index, true))
	i := cable(t, own, "10.1.0.1/24", "fd00:1::1/64")
	all := nexthops(i)
	for n, one := range all {
		must(t, own.AddNexthop(t.Context(), one))
		expect(t, "add again", own.AddNexthop(t.Context(), one), netlinkapi.ErrExists)
		expectNexthops(t, own, all[:n+1]...)
	}
	routes := []netlinkapi.Route{
		through("10.2.0.0/16", 1), through("10.3.0.0/16", 70000), through("fd00:2::/64", 2), through("fd00:3::/64", 3),
		inTable(through("10.2.0.0/16", 4), 77), inTable(through("fd00:2::/64", 2), 300),
	}
	for _, r := range routes {
		must(t, own.AddRoute(t.Context(), r))
		expect(t, "add again", own.AddRoute(t.Context(), r), netlinkapi.ErrExists)
		expectRoutes(t, own, r)
		if found, err := own.FindRoute(t.Context(), r); err != nil || !found.Equal(r) {
			t.Errorf("found %+v (error %v), expected %+v", found, err, r)
		}
	}
	for _, r := range []netlinkapi.Route{through("10.4.0.0/16", 99), through("fd00:4::/64", 1)} {
		if err := own.AddRoute(t.Context(), r); err == nil {
			t.Errorf("added %+v", r)
		}
	}
	single := static(i, "10.2.0.0/16", "10.1.0.9")
	must(t, own.ReplaceRoute(t.Context(), single))
	expectRoutes(t, own, single)
	must(t, own.ReplaceRoute(t.Context(), routes[0]))
	expectRoutes(t, own, routes...)

	changed := slices.Clone(all)
	changed[0].Gateway = netip.MustParseAddr("10.1.0.77")
	changed[4].Members = []netlinkapi.NexthopMember{{ID: 4, Weight: 2}}
	must(t, own.ReplaceNexthop(t.Context(), changed[0]))
	must(t, own.ReplaceNexthop(t.Context(), changed[4]))
	expectNexthops(t, own, changed...)
	expectRoutes(t, own, routes...)
	for _, bad := range badNexthops(i) {
		if err := own.ReplaceNexthop(t.Context(), bad); err == nil {
			t.Errorf("replaced by %+v", bad)
		}
	}
	expectNexthops(t, own, changed...)

	must(t, own.DeleteRoute(t.Context(), static(0, "10.3.0.0/16", "")))
	must(t, own.DeleteNexthop(t.Context(), 2))
	expect(t, "delete again", own.DeleteNexthop(t.Context(), 2), netlinkapi.ErrNotFound)
	must(t, own.DeleteNexthop(t.Context(), 4)) // and the group
	expectNexthops(t, own, changed[0], changed[2])
	expectRoutes(t, own, routes[0], routes[3])
	must(t, own.DeleteNexthop(t.Context(), 1))
	must(t, own.DeleteNexthop(t.Context(), 3))
	expectRoutes(t, own)
}

// badNexthops are objects that the kernel refuses in place of others.
func badNexthops(link int) []netlinkapi.Nexthop {
	all := nexthops(link)
	group, single, far, gone := all[4], all[4], all[0], all[0]
	group.ID = 1
	single.Members, single.Blackhole = nil, true
	far.Gateway = netip.MustParseAddr("10.9.0.9")
	gone.Link = 9999
	missing, twice, mixed := all[4], all[4], all[4]
	missing.Members = []netlinkapi.NexthopMember{{ID: 99, Weight: 1}}
	twice.Members = []netlinkapi.NexthopMember{{ID: 1, Weight: 1}, {ID: 1, Weight: 1}}
	mixed.Members = []netlinkapi.NexthopMember{{ID: 3, Weight: 1}, {ID: 1, Weight: 1}}
	return []netlinkapi.Nexthop{group, single, far, gone, missing, twice, mixed}
}

// testLostNexthops: objects that are deleted, or that another program makes, are reported. Objects
// of an interface without a carrier are removed with the routes through them.
func testLostNexthops(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "fd00:1::1/64")
	ctx, cancel := context.WithCancel(t.Context())
	r := removals{t, make(chan netlinkapi.Event, 1000)}
	ready, done := make(chan struct{}), make(chan error)
	go func() { done <- own.Watch(ctx, func() { close(ready) }, func(e netlinkapi.Event) { r.events <- e }) }()
	<-ready
	hop, event := nexthops(i)[0], netlinkapi.Event{Kind: netlinkapi.NexthopRemoved, Nexthop: 1}
	must(t, own.AddNexthop(ctx, hop))
	must(t, own.DeleteNexthop(ctx, 1))
	if all := r.await(event); slices.Index(all, event) != len(all)-1 {
		t.Errorf("events of what the agent adds: %+v", all)
	}
	foreign := hop
	foreign.Protocol = netlinkapi.ProtocolStatic
	must(t, own.AddNexthop(ctx, foreign))
	r.await(event)
	must(t, own.ReplaceNexthop(ctx, hop))
	way := through("10.2.0.0/16", 1)
	must(t, own.AddRoute(ctx, way))
	must(t, own.DeleteRoute(ctx, way))
	r.await(netlinkapi.Event{Kind: netlinkapi.RouteRemoved, Prefix: way.Dst, Table: way.Table})

	peer := MustLink(t, own, "vb").Index
	for _, link := range []int{peer, i} {
		must(t, own.AddRoute(ctx, way))
		must(t, own.SetUp(ctx, link, false))
		r.await(netlinkapi.Event{Kind: netlinkapi.CarrierLost, Link: i})
		expectNexthops(t, own)
		expectRoutes(t, own)
		if err := own.AddNexthop(ctx, hop); err == nil {
			t.Error("a nexthop object was added without a carrier")
		}
		must(t, own.SetUp(ctx, link, true))
		Poll(t, "the link has a carrier", func() bool { return MustLink(t, own, "va").Running })
		must(t, own.AddNexthop(ctx, hop))
	}
	must(t, own.DeleteLink(ctx, i))
	expectNexthops(t, own)
	cancel()
	must(t, <-done)
}

// testLabels: routes and nexthop objects have the MPLS labels that they were given.
func testLabels(t *testing.T, w *World) {
	own := w.Open(t, "")
	_, second, routes := multipath(t, own)
	for _, r := range routes {
		single := static(r.Link, r.Dst.String(), r.Gateway.String())
		single.Labels = "100/1048575"
		if err := own.AddRoute(t.Context(), single); errors.Is(err, netlinkapi.ErrUnsupported) {
			t.Skipf("SKIPPED: MPLS labels are not tested on this kernel: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
		expectRoute(t, own, single)
		all := r.Hops()
		all[0].Labels, all[1].Labels = "16", "200/0"
		r.SetHops(all)
		must(t, own.ReplaceRoute(t.Context(), r))
		expectRoute(t, own, r)
		must(t, own.DeleteRoute(t.Context(), static(0, r.Dst.String(), "")))
	}
	n := nexthops(second)[3]
	n.Labels = "100/200"
	must(t, own.AddNexthop(t.Context(), n))
	expectNexthops(t, own, n)
}
