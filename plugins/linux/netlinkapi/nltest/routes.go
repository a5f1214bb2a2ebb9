package nltest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testRouteFields: routes of other tables are routes of their own; a source must be an address
// of this host, and a gateway that is said to be on the link need not be in its networks.
func testRouteFields(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "10.1.0.5/32", "fd00:1::1/64", "fd00:1::5/128")
	for _, v := range []struct{ dst, gw, far, source, foreign string }{
		{"10.2.0.0/16", "10.1.0.2", "10.9.9.9", "10.1.0.5", "10.7.0.1"},
		{"fd00:2::/64", "fd00:1::2", "fd00:9::9", "fd00:1::5", "fd00:7::1"},
	} {
		there := func(r netlinkapi.Route, want bool) {
			t.Helper()
			all, err := own.Routes(t.Context())
			must(t, err)
			if slices.ContainsFunc(all, r.Equal) != want {
				t.Errorf("%+v: expected %t among %+v", r, want, all)
			}
		}
		plain, other := static(i, v.dst, v.gw), inTable(static(i, v.dst, v.gw), 77)
		must(t, own.AddRoute(t.Context(), plain))
		must(t, own.AddRoute(t.Context(), other))
		expect(t, "add it again", own.AddRoute(t.Context(), other), netlinkapi.ErrExists)
		there(plain, true)
		there(other, true)
		must(t, own.DeleteRoute(t.Context(), plain))
		there(other, true)
		other.Source = netip.MustParseAddr(v.source)
		Poll(t, "the source can be used", func() bool { // an IPv6 address a moment after it was added
			err := own.ReplaceRoute(t.Context(), other)
			return err == nil
		})
		there(other, true)
		far := other
		far.Gateway, far.OnLink = netip.MustParseAddr(v.far), true
		must(t, own.ReplaceRoute(t.Context(), far))
		there(far, true)
		foreign := inTable(static(i, v.dst, v.gw), 78)
		foreign.Source = netip.MustParseAddr(v.foreign)
		if err := own.AddRoute(t.Context(), foreign); err == nil {
			t.Errorf("%s: added with the source %s", v.dst, v.foreign)
		}
		must(t, own.DeleteRoute(t.Context(), far))
		there(far, false)
	}
	r := static(i, "10.2.0.0/16", "10.1.0.2")
	r.Source = netip.MustParseAddr("10.1.0.5")
	must(t, own.AddRoute(t.Context(), r))
	must(t, own.DeleteAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("10.1.0.5/32")}))
	expectRoutes(t, own)
}

// testIPv6Gateways: routes of IPv4 have gateways of IPv6, beside ones of IPv4 as well. A route of
// IPv6 has no gateway of IPv4.
func testIPv6Gateways(t *testing.T, w *World) {
	own := w.Open(t, "")
	first, second, both := multipath(t, own)
	hops := slices.Clone(both[0].Hops())
	hops[0].Gateway, hops[2].Gateway = netip.MustParseAddr("fd00:1::2"), netip.MustParseAddr("fd00:9::1") // the latter is on the link
	mixed, table := both[0], inTable(static(first, "10.2.0.0/16", "fd00:1::2"), 77)
	mixed.SetHops(hops)
	for _, r := range []netlinkapi.Route{static(first, "10.2.0.0/16", "fd00:1::2"), static(first, "0.0.0.0/0", "fe80::2"), mixed, table} {
		must(t, own.AddRoute(t.Context(), r))
		expectRoute(t, own, r)
		expect(t, "add it again", own.AddRoute(t.Context(), r), netlinkapi.ErrExists)
		plain := static(first, r.Dst.String(), "10.1.0.2")
		plain.Table = r.Table
		must(t, own.ReplaceRoute(t.Context(), plain))
		expectRoute(t, own, plain)
		must(t, own.ReplaceRoute(t.Context(), r))
		expectRoute(t, own, r)
		must(t, own.DeleteRoute(t.Context(), r))
		expect(t, "delete it again", own.DeleteRoute(t.Context(), r), netlinkapi.ErrNotFound)
	}
	for _, wrong := range []netlinkapi.Route{
		static(first, "10.2.0.0/16", "fd00:3::2"), static(second, "10.2.0.0/16", "fd00:9::2"), static(first, "fd00:2::/64", "10.1.0.2"),
	} {
		if err := own.AddRoute(t.Context(), wrong); err == nil {
			t.Errorf("added %+v", wrong)
		}
	}
	far := static(first, "10.2.0.0/16", "fd00:9::2")
	far.OnLink = true
	must(t, own.AddRoute(t.Context(), far))
	expectRoute(t, own, far)
	must(t, own.SetUp(t.Context(), first, false))
	expectRoutes(t, own)
}

// routesTo returns the routes of the agent to a destination.
func routesTo(t *testing.T, h netlinkapi.Handle, dst string) (found []netlinkapi.Route) {
	t.Helper()
	all, err := h.Routes(t.Context())
	must(t, err)
	for _, r := range all {
		if r.Dst == netip.MustParsePrefix(dst) && r.Protocol == netlinkapi.ProtocolAgent {
			found = append(found, r)
		}
	}
	return found
}

// expectRoute checks which route of the agent there is to a destination, and that it is found.
func expectRoute(t *testing.T, h netlinkapi.Handle, want netlinkapi.Route) {
	t.Helper()
	if all := routesTo(t, h, want.Dst.String()); len(all) != 1 || !all[0].Equal(want) {
		t.Errorf("routes are %+v, expected %+v", all, want)
	}
	if found, err := h.FindRoute(t.Context(), want); err != nil || !found.Equal(want) {
		t.Errorf("found %+v (error %v), expected %+v", found, err, want)
	}
}

// testRouteTypes: routes that keep packets here replace others and are replaced by them.
func testRouteTypes(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "fd00:1::1/64")
	for _, v := range []struct{ dst, gw string }{{"10.2.0.0/16", "10.1.0.2"}, {"fd00:2::/64", "fd00:1::2"}} {
		away := static(i, v.dst, v.gw)
		away.MTU, away.AdvMSS = 1400, 1300
		for _, typ := range []netlinkapi.RouteType{netlinkapi.RouteBlackhole, netlinkapi.RouteUnreachable, netlinkapi.RouteProhibit} {
			here := static(0, v.dst, "")
			here.Type = typ
			must(t, own.AddRoute(t.Context(), here))
			expectRoute(t, own, here)
			expect(t, "add it again", own.AddRoute(t.Context(), here), netlinkapi.ErrExists)
			expect(t, "add another one", own.AddRoute(t.Context(), away), netlinkapi.ErrExists)
			must(t, own.ReplaceRoute(t.Context(), away))
			expectRoute(t, own, away)
			must(t, own.ReplaceRoute(t.Context(), here))
			expectRoute(t, own, here)
			must(t, own.DeleteRoute(t.Context(), here))
			expect(t, "delete it again", own.DeleteRoute(t.Context(), here), netlinkapi.ErrNotFound)
		}
	}
}

// multipath makes two pairs of links, and routes of IPv4 and IPv6 with next hops on both.
func multipath(t *testing.T, h netlinkapi.Handle) (first, second int, routes []netlinkapi.Route) {
	t.Helper()
	first = cable(t, h, "10.1.0.1/24", "fd00:1::1/64")
	must(t, h.AddVeth(t.Context(), "vc", "vd"))
	second = MustLink(t, h, "vc").Index
	for _, name := range []string{"vc", "vd"} {
		must(t, h.SetUp(t.Context(), MustLink(t, h, name).Index, true))
	}
	for _, addr := range []string{"10.3.0.1/24", "fd00:3::1/64"} {
		must(t, h.AddAddress(t.Context(), netlinkapi.Address{Link: second, Prefix: netip.MustParsePrefix(addr)}))
	}
	for _, v := range []struct{ dst, gw, other, far string }{
		{"10.2.0.0/16", "10.1.0.2", "10.3.0.2", "10.9.0.1"}, {"fd00:2::/64", "fd00:1::2", "fd00:3::2", "fd00:9::1"},
	} {
		r := static(0, v.dst, "")
		r.SetHops([]netlinkapi.NextHop{
			{Link: first, Gateway: netip.MustParseAddr(v.gw), Weight: 1}, {Link: second, Gateway: netip.MustParseAddr(v.other), Weight: 256},
			{Link: second, Gateway: netip.MustParseAddr(v.far), Weight: 3, OnLink: true},
		})
		routes = append(routes, r)
	}
	return first, second, routes
}

// testMultipath: routes have the next hops that they were given, in order.
func testMultipath(t *testing.T, w *World) {
	own := w.Open(t, "")
	first, second, routes := multipath(t, own)
	for _, r := range routes {
		must(t, own.AddRoute(t.Context(), r))
		expectRoute(t, own, r)
		expect(t, "add it again", own.AddRoute(t.Context(), r), netlinkapi.ErrExists)
		single := static(first, r.Dst.String(), r.Gateway.String())
		must(t, own.ReplaceRoute(t.Context(), single))
		expectRoute(t, own, single)
		must(t, own.ReplaceRoute(t.Context(), r))
		expectRoute(t, own, r)
		fewer := r
		fewer.MTU = 1400
		fewer.SetHops(r.Hops()[1:])
		if fewer.Link != second || len(fewer.More) != 1 {
			t.Errorf("next hops are %+v", fewer.Hops())
		}
		must(t, own.ReplaceRoute(t.Context(), fewer))
		expectRoute(t, own, fewer)
		unreachable := r
		unreachable.SetHops(append(r.Hops()[:2], netlinkapi.NextHop{Link: first, Gateway: r.More[1].Gateway, Weight: 1}))
		if err := own.ReplaceRoute(t.Context(), unreachable); err == nil {
			t.Errorf("%s: added with an unreachable gateway", r.Dst)
		}
		expectRoute(t, own, fewer)
		must(t, own.DeleteRoute(t.Context(), static(0, r.Dst.String(), "")))
		expect(t, "delete again", own.DeleteRoute(t.Context(), r), netlinkapi.ErrNotFound)
	}
}

// testDeadHops: a route stays as it is while it has a next hop that works, and goes with a
// link that is deleted.
func testDeadHops(t *testing.T, w *World) {
	own := w.Open(t, "")
	first, second, routes := multipath(t, own)
	ctx, cancel := context.WithCancel(t.Context())
	r := removals{t, make(chan netlinkapi.Event, 1000)}
	ready, done := make(chan struct{}), make(chan error)
	go func() { done <- own.Watch(ctx, func() { close(ready) }, func(e netlinkapi.Event) { r.events <- e }) }()
	<-ready
	event := func(r netlinkapi.Route, link int) netlinkapi.Event {
		return netlinkapi.Event{Kind: netlinkapi.RouteRemoved, Link: link, Prefix: r.Dst, Table: r.Table}
	}
	for _, route := range routes {
		must(t, own.AddRoute(ctx, route))
	}
	must(t, own.SetUp(ctx, second, false))
	for _, route := range routes {
		expectRoute(t, own, route)
	}
	must(t, own.SetUp(ctx, second, true))
	for _, route := range routes {
		expectRoute(t, own, route)
		must(t, own.DeleteRoute(ctx, route))
		r.await(event(route, first), event(route, second))
	}
	hole := static(0, "10.7.0.0/16", "")
	hole.Type = netlinkapi.RouteBlackhole
	must(t, own.AddRoute(ctx, hole))
	must(t, own.DeleteRoute(ctx, hole))
	r.await(event(hole, 0))
	four := routes[0]
	must(t, own.AddRoute(ctx, four))
	must(t, own.DeleteLink(ctx, second))
	if all := routesTo(t, own, four.Dst.String()); len(all) != 0 {
		t.Errorf("routes are %+v", all)
	}
	cancel()
	must(t, <-done)
}

// testRules: rules are listed as they were added, each once, and a deletion with another
// protocol does not delete them.
func testRules(t *testing.T, w *World) {
	own := w.Open(t, "")
	for _, r := range []netlinkapi.Rule{
		{Priority: 100, Table: 77, Src: netip.MustParsePrefix("10.1.0.0/16")},
		{Priority: 100, Table: 77, Dst: netip.MustParsePrefix("10.1.0.0/16"), Invert: true},
		{Priority: 101, Table: 70000, Mark: 5, Mask: 0xff},
		{Priority: 102, Table: 78},
		{IPv6: true, Priority: 100, Table: 77, Src: netip.MustParsePrefix("fd00:1::/64"), Dst: netip.MustParsePrefix("fd00:2::/64")},
		{IPv6: true, Priority: 102, Table: 78},
	} {
		r.Protocol = netlinkapi.ProtocolAgent
		there := func(want bool) {
			t.Helper()
			all, err := own.Rules(t.Context())
			must(t, err)
			if slices.Contains(all, r) != want {
				t.Errorf("%+v: expected %t among %+v", r, want, all)
			}
		}
		there(false)
		must(t, own.AddRule(t.Context(), r))
		there(true)
		expect(t, "add again", own.AddRule(t.Context(), r), netlinkapi.ErrExists)
		other := r
		other.Protocol = netlinkapi.ProtocolStatic
		expect(t, "delete a rule of another program", own.DeleteRule(t.Context(), other), netlinkapi.ErrNotFound)
		must(t, own.AddRule(t.Context(), other))
		must(t, own.DeleteRule(t.Context(), other))
		there(true)
		must(t, own.DeleteRule(t.Context(), r))
		there(false)
		expect(t, "delete again", own.DeleteRule(t.Context(), r), netlinkapi.ErrNotFound)
	}
}

// testStaticRoutes: routes of routing protocols are left out.
func testStaticRoutes(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "fd00:1::1/64")
	want := map[netip.Prefix]bool{}
	for n, protocol := range append(netlinkapi.StaticProtocols(), protocolBGP) {
		for _, r := range []netlinkapi.Route{
			static(i, fmt.Sprintf("10.%d.0.0/16", 20+n), "10.1.0.2"), inTable(static(i, fmt.Sprintf("fd00:2%d::/64", n), "fd00:1::2"), 300),
		} {
			r.Protocol = protocol
			must(t, own.AddRoute(t.Context(), r))
			want[r.Dst] = protocol.Static()
		}
	}
	all, err := own.StaticRoutes(t.Context())
	must(t, err)
	for _, r := range all {
		if !r.Protocol.Static() {
			t.Errorf("got %+v", r)
		}
		delete(want, r.Dst)
	}
	for dst, expected := range want {
		if expected {
			t.Errorf("the route to %s is missing", dst)
		}
	}
}

// protocolBGP is the protocol of routes from BGP.
const protocolBGP netlinkapi.Protocol = 186

// testChangeRoutes: each of many changes at once has its own error, and the others are made.
func testChangeRoutes(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "fd00:1::1/64")
	var all []netlinkapi.Route
	for n := range 150 {
		r := static(i, netip.PrefixFrom(netip.AddrFrom4([4]byte{20, 0, 0, byte(n)}), 32).String(), "10.1.0.2")
		if n%2 == 1 {
			r = static(i, netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 15: byte(n)}), 128).String(), "fd00:1::2")
		}
		all = append(all, r)
	}
	taken, unreachable := all[70], all[149]
	must(t, own.AddRoute(t.Context(), taken))
	all[149].Gateway = netip.MustParseAddr("fd00:9::9")
	check := func(op netlinkapi.RouteOp, want map[int]error) {
		t.Helper()
		errs := own.ChangeRoutes(t.Context(), op, all)
		if len(errs) != len(all) {
			t.Fatalf("%s: %d errors for %d routes", op, len(errs), len(all))
		}
		for n, err := range errs {
			expected, fails := want[n]
			if another := expected != nil && !errors.Is(err, expected); another || fails != (err != nil) {
				t.Errorf("%s route %d: got error %v, expected %v", op, n, err, expected)
			}
		}
	}
	check(netlinkapi.OpAdd, map[int]error{70: netlinkapi.ErrExists, 149: nil})
	expectRoute(t, own, all[0])
	expectRoute(t, own, all[148])
	all[149] = unreachable
	check(netlinkapi.OpReplace, nil)
	expectRoute(t, own, unreachable)
	must(t, own.DeleteRoute(t.Context(), taken))
	check(netlinkapi.OpDelete, map[int]error{70: netlinkapi.ErrNotFound})
	expectRoutes(t, own)
	if errs := own.ChangeRoutes(t.Context(), netlinkapi.OpAdd, nil); len(errs) != 0 {
		t.Errorf("errors of no change: %v", errs)
	}
}
