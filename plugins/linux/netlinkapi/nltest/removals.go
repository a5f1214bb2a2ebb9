package nltest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// static is a route of the agent.
func static(link int, dst, gw string) netlinkapi.Route {
	r := netlinkapi.Route{
		Link: link, Dst: netip.MustParsePrefix(dst), Metric: 7, Protocol: netlinkapi.ProtocolAgent, Table: netlinkapi.MainTable,
	}
	if gw != "" {
		r.Gateway = netip.MustParseAddr(gw)
	}
	return r
}

func inTable(r netlinkapi.Route, table uint32) netlinkapi.Route {
	r.Table = table
	return r
}

// cable makes a pair of links that are up, with addresses on the first.
func cable(t *testing.T, h netlinkapi.Handle, addrs ...string) (link int) {
	t.Helper()
	must(t, h.AddVeth(t.Context(), "va", "vb"))
	link = MustLink(t, h, "va").Index
	must(t, h.SetUp(t.Context(), link, true))
	must(t, h.SetUp(t.Context(), MustLink(t, h, "vb").Index, true))
	for _, addr := range addrs {
		must(t, h.AddAddress(t.Context(), netlinkapi.Address{Link: link, Prefix: netip.MustParsePrefix(addr)}))
	}
	return link
}

// testFindRoute: a route is found whatever other routes there are around it.
func testFindRoute(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "fd00:1::1/64")
	all := []netlinkapi.Route{
		static(i, "10.2.0.0/16", "10.1.0.2"), static(i, "10.2.0.0/24", "10.1.0.2"), static(i, "10.2.0.0/32", "10.1.0.3"),
		static(i, "10.9.0.0/16", ""), static(i, "0.0.0.0/0", "10.1.0.2"), static(i, "10.0.0.0/8", "10.1.0.2"),
		inTable(static(i, "10.2.0.0/16", "10.1.0.2"), 77), inTable(static(i, "fd00:2::/64", "fd00:1::2"), 77),
		static(i, "fd00:2::/48", "fd00:1::2"), static(i, "fd00:2::/64", "fd00:1::2"), static(i, "::/0", "fd00:1::2"),
	}
	find := func(what string, r netlinkapi.Route, want bool) {
		t.Helper()
		switch found, err := own.FindRoute(t.Context(), r); {
		case want && (err != nil || !found.Equal(r)):
			t.Errorf("%s: found %+v (error %v), expected %+v", what, found, err, r)
		case !want && !errors.Is(err, netlinkapi.ErrNotFound):
			t.Errorf("%s: found %+v (error %v), expected none", what, found, err)
		}
	}
	for n, r := range all {
		find("before", r, false)
		must(t, own.AddRoute(t.Context(), r))
		for k, r := range all {
			find("some", r, k <= n)
		}
	}
	for n, r := range all {
		must(t, own.DeleteRoute(t.Context(), r))
		for k, r := range all {
			find("some deleted", r, k > n)
		}
	}
	foreign := all[0]
	foreign.Metric, foreign.Protocol = 3, netlinkapi.ProtocolStatic
	must(t, own.AddRoute(t.Context(), foreign))
	if found, err := own.FindRoute(t.Context(), all[0]); err != nil || !found.Equal(foreign) {
		t.Errorf("found %+v (error %v), expected the route of another process", found, err)
	}
	must(t, own.AddRoute(t.Context(), all[0]))
	find("beside a foreign one", all[0], true)
}

// removals are the events of a namespace but LinkChanged and LinkGone.
type removals struct {
	t      *testing.T
	events chan netlinkapi.Event
}

// await waits for events in any order, and returns all events up to the last of them.
func (r removals) await(want ...netlinkapi.Event) (all []netlinkapi.Event) {
	r.t.Helper()
	for len(want) > 0 {
		e := <-r.events
		all = append(all, e)
		if at := slices.Index(want, e); at >= 0 {
			want = slices.Delete(want, at, at+1)
		}
	}
	return all
}

// testWatchRemovals: removals are reported, in this and in another namespace,
// additions are not.
func testWatchRemovals(t *testing.T, w *World) {
	for _, name := range []string{"", "a"} {
		t.Run("namespace "+name, func(t *testing.T) {
			own := w.Open(t, "")
			h := own
			if name != "" {
				h = w.Make(t, name)
			}
			number, err := own.Number(t.Context(), h)
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			r := removals{t, make(chan netlinkapi.Event, 1000)}
			ready, done := make(chan struct{}), make(chan error)
			note := func(e netlinkapi.Event) {
				if e.Kind != netlinkapi.LinkChanged && e.Kind != netlinkapi.LinkGone {
					r.events <- e
				}
			}
			go func() {
				if name == "" {
					done <- own.Watch(ctx, func() { close(ready) }, note)
					return
				}
				done <- own.WatchOthers(ctx, func() { close(ready) }, func(n int, e netlinkapi.Event) {
					if n == number {
						note(e)
					}
				})
			}()
			<-ready
			checkRemovals(t, h, r)
			cancel()
			must(t, <-done)
		})
	}
}

func checkRemovals(t *testing.T, h netlinkapi.Handle, r removals) {
	i := cable(t, h, "10.1.0.1/24", "10.5.0.1/24", "fd00:1::1/64")
	r4, r6, bare := static(i, "10.2.0.0/16", "10.1.0.2"), static(i, "fd00:2::/64", "fd00:1::2"), static(i, "10.9.0.0/16", "")
	mac, _ := net.ParseMAC("02:00:00:00:00:77")
	n4 := netlinkapi.Neighbour{Link: i, IP: netip.MustParseAddr("10.1.0.7"), MAC: mac}
	n6 := netlinkapi.Neighbour{Link: i, IP: netip.MustParseAddr("fd00:1::7"), MAC: mac}
	add := func() {
		t.Helper()
		for _, route := range []netlinkapi.Route{r4, r6, bare} {
			must(t, h.ReplaceRoute(t.Context(), route))
		}
		must(t, h.SetNeighbour(t.Context(), n4))
		must(t, h.SetNeighbour(t.Context(), n6))
	}
	route := func(r netlinkapi.Route) netlinkapi.Event {
		return netlinkapi.Event{Kind: netlinkapi.RouteRemoved, Link: i, Prefix: r.Dst, Table: r.Table}
	}
	neighbour := func(n netlinkapi.Neighbour) netlinkapi.Event {
		return netlinkapi.Event{Kind: netlinkapi.NeighbourRemoved, Link: i, IP: n.IP}
	}
	address := func(text string) netlinkapi.Event {
		return netlinkapi.Event{Kind: netlinkapi.AddressRemoved, Link: i, Prefix: netip.MustParsePrefix(text)}
	}
	flushed := netlinkapi.Event{Kind: netlinkapi.RoutesFlushed, Link: i}

	add()
	must(t, h.DeleteRoute(t.Context(), r4))
	must(t, h.DeleteRoute(t.Context(), r6))
	must(t, h.DeleteNeighbour(t.Context(), n4))
	must(t, h.DeleteNeighbour(t.Context(), n6))
	all := r.await(route(r4), route(r6), neighbour(n4), neighbour(n6))
	if slices.Contains(all, route(bare)) || slices.Contains(all, flushed) {
		t.Errorf("events of additions: %+v", all)
	}
	add()
	other := r4
	other.Protocol, other.Gateway = netlinkapi.ProtocolBoot, netip.MustParseAddr("10.1.0.9")
	must(t, h.ReplaceRoute(t.Context(), other)) // by another process
	r.await(route(r4))
	add()
	must(t, h.DeleteAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("10.5.0.1/24")}))
	r.await(flushed, address("10.5.0.1/24"))
	expectRoutes(t, h, r4, bare)
	must(t, h.DeleteAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("10.1.0.1/24")}))
	r.await(flushed, address("10.1.0.1/24"), neighbour(n4))
	expectRoutes(t, h, r6)
	must(t, h.AddAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("10.1.0.1/24")}))
	add()
	must(t, h.SetUp(t.Context(), i, false))
	r.await(flushed, address("fd00:1::1/64"), route(r6), neighbour(n4), neighbour(n6))
	must(t, h.SetUp(t.Context(), i, true))
	expectRoutes(t, h)
	must(t, h.AddAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("fd00:1::1/64")}))
	checkSettings(t, h, r, i)
	add()
	mac[5]++
	must(t, h.SetMAC(t.Context(), i, mac))
	r.await(neighbour(n4), neighbour(n6))
}

// checkSettings checks the events of policy rules and of the parameters of a link.
func checkSettings(t *testing.T, h netlinkapi.Handle, r removals, i int) {
	t.Helper()
	rule := netlinkapi.Rule{Priority: 100, Src: netip.MustParsePrefix("10.1.0.0/16"), Table: 77, Protocol: netlinkapi.ProtocolAgent}
	foreign, rule6 := rule, netlinkapi.Rule{IPv6: true, Priority: 101, Mark: 5, Mask: 15, Table: 77, Protocol: netlinkapi.ProtocolAgent}
	foreign.Protocol, foreign.Priority = netlinkapi.ProtocolStatic, 99
	removed := func(r netlinkapi.Rule) netlinkapi.Event {
		return netlinkapi.Event{Kind: netlinkapi.RuleRemoved, Priority: r.Priority}
	}
	for _, one := range []netlinkapi.Rule{foreign, rule, rule6} {
		must(t, h.AddRule(t.Context(), one))
	}
	for _, one := range []netlinkapi.Rule{foreign, rule, rule6} {
		must(t, h.DeleteRule(t.Context(), one))
	}
	if all := r.await(removed(rule), removed(rule6)); slices.Contains(all, removed(foreign)) {
		t.Errorf("events of a foreign rule: %+v", all)
	}
	for _, name := range []string{"ipv4.forwarding", "ipv6.forwarding", "ipv4.rp_filter", "ipv4.proxy_arp", "ipv6.proxy_ndp"} {
		now, err := h.Sysctls(t.Context(), "va", []string{name})
		must(t, err)
		must(t, h.SetSysctl(t.Context(), "va", name, 1-now[name]))
		r.await(netlinkapi.Event{Kind: netlinkapi.SysctlChanged, Link: i, Sysctl: name})
	}
}

// expectRoutes checks that the agent's routes of the IP version of the first one are
// these; without any, that there are none.
func expectRoutes(t *testing.T, h netlinkapi.Handle, want ...netlinkapi.Route) {
	t.Helper()
	all, err := h.Routes(t.Context())
	must(t, err)
	for _, r := range want {
		if !slices.ContainsFunc(all, r.Equal) {
			t.Errorf("%+v is not among %+v", r, all)
		}
	}
	if len(want) == 0 && slices.ContainsFunc(all, func(r netlinkapi.Route) bool { return r.Protocol == netlinkapi.ProtocolAgent }) {
		t.Errorf("routes remain: %+v", all)
	}
}
