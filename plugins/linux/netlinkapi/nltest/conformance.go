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

// Conformance checks what the plugins rely on; it runs on the fake and on the
// kernel.
func Conformance(t *testing.T, newWorld func(t *testing.T) *World) {
	for name, test := range map[string]func(*testing.T, *World){
		"namespaces":               testNamespaces,
		"create at once":           testCreateAtOnce,
		"veth":                     testVeth,
		"move":                     testMove,
		"settings":                 testSettings,
		"addresses":                testAddresses,
		"lifetimes":                testLifetimes,
		"routes":                   testRoutes,
		"route fields":             testRouteFields,
		"route types":              testRouteTypes,
		"IPv6 gateways":            testIPv6Gateways,
		"multipath":                testMultipath,
		"dead next hops":           testDeadHops,
		"change routes":            testChangeRoutes,
		"static routes":            testStaticRoutes,
		"rules":                    testRules,
		"nexthops":                 testNexthops,
		"lost nexthops":            testLostNexthops,
		"MPLS labels":              testLabels,
		"neighbours":               testNeighbours,
		"watch":                    testWatch,
		"watch others":             testWatchOthers,
		"find routes":              testFindRoute,
		"watch removals":           testWatchRemovals,
		"namespace ends":           testNamespaceEnds,
		"kinds":                    testKinds,
		"can change":               testCanChange,
		"parents":                  testParents,
		"MTUs of parents":          testParentMTUs,
		"loopback":                 testLoopback,
		"bridge ports":             testBridgePorts,
		"bond ports":               testBondPorts,
		"sysctls":                  testSysctls,
		"parameters of namespaces": testNamespaceSysctls,
		"VLANs":                    testVLANs,
		"nftables":                 testNFTables,
		"watch nftables":           testWatchTables,
		"sockets":                  testSockets,
		"addresses of sockets":     testAddressOfSocket,
		"canceled":                 testCanceled,
		"explained errors":         testExplain,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newWorld(t)) })
	}
}

func expect(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, expected %v", what, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testNamespaces(t *testing.T, w *World) {
	_, err := w.Namespaces.Open(w.Path("none"), netlinkapi.Gate{})
	expect(t, "open a missing namespace", err, netlinkapi.ErrNamespaceGone)
	a := w.Make(t, "a")
	expect(t, "create it again", w.Create(w.Path("a")), netlinkapi.ErrExists)
	if again := w.Open(t, "a"); again.Namespace() != a.Namespace() {
		t.Errorf("the same namespace has the identities %v and %v", a.Namespace(), again.Namespace())
	}
	if own := w.Open(t, ""); own.Namespace() == a.Namespace() {
		t.Error("a new namespace is the agent's own")
	}
	links, err := a.Links(t.Context())
	must(t, err)
	if len(links) != 1 || links[0].Name != "lo" || !links[0].Loopback || links[0].Up || links[0].MTU != 65536 {
		t.Errorf("a new namespace has the links %+v, expected lo, down", links)
	}
}

// testCreateAtOnce: of several callers that create a namespace at once, one creates it, and all
// others find it.
func testCreateAtOnce(t *testing.T, w *World) {
	const callers = 8
	errs := make(chan error, callers)
	for range callers {
		go func() { errs <- w.Create(w.Path("a")) }()
	}
	created := 0
	for range callers {
		if err := <-errs; err == nil {
			created++
		} else {
			expect(t, "create at once", err, netlinkapi.ErrExists)
		}
	}
	if created != 1 {
		t.Errorf("%d callers created the namespace, expected one", created)
	}
}

func testVeth(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	expect(t, "add with a taken name", own.AddVeth(t.Context(), "vc", "va"), netlinkapi.ErrExists)
	a, b := MustLink(t, own, "va"), MustLink(t, own, "vb")
	if a.Kind != netlinkapi.KindVeth || b.Kind != netlinkapi.KindVeth || a.Up || a.MTU != 1500 || len(a.MAC) != 6 {
		t.Errorf("new ends are %+v and %+v", a, b)
	}
	if q := a.Queues; a.Parent != b.Index || b.Parent != a.Index || q.RX < 1 || q.TX < 1 || q.Length < 1 {
		t.Errorf("new ends are %+v and %+v, expected that each has the index of the other, and queues", a, b)
	}
	must(t, own.SetUp(t.Context(), a.Index, true))
	if a = MustLink(t, own, "va"); !a.Up || a.Running {
		t.Errorf("an end whose peer is down is %+v, expected up but not running", a)
	}
	must(t, own.SetUp(t.Context(), b.Index, true))
	if a = MustLink(t, own, "va"); !a.Up || !a.Running {
		t.Errorf("an end whose peer is up is %+v, expected running", a)
	}
	must(t, own.DeleteLink(t.Context(), a.Index))
	expect(t, "delete twice", own.DeleteLink(t.Context(), a.Index), netlinkapi.ErrNotFound)
	_, err := own.LinkByName(t.Context(), "vb")
	expect(t, "find the other end", err, netlinkapi.ErrNotFound)
	_, err = own.LinkByIndex(t.Context(), b.Index)
	expect(t, "find the other end by index", err, netlinkapi.ErrNotFound)
}

func testMove(t *testing.T, w *World) {
	own, a := w.Open(t, ""), w.Make(t, "a")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	link := MustLink(t, own, "va")
	must(t, own.SetAlias(t.Context(), link.Index, "mine"))
	must(t, own.SetUp(t.Context(), link.Index, true))
	must(t, own.AddAddress(t.Context(), netlinkapi.Address{Link: link.Index, Prefix: netip.MustParsePrefix("10.1.0.1/24")}))
	must(t, own.Move(t.Context(), link.Index, a))
	_, err := own.LinkByName(t.Context(), "va")
	expect(t, "find the link where it was", err, netlinkapi.ErrNotFound)
	moved := MustLink(t, a, "va")
	if moved.Up || moved.Alias != "mine" {
		t.Errorf("moved link is %+v, expected down, with its alias", moved)
	}
	if peer := MustLink(t, own, "vb"); peer.Parent != moved.Index || moved.Parent != peer.Index {
		t.Errorf("ends are %+v and %+v, expected that each has the index of the other", peer, moved)
	}
	addrs, err := a.Addresses(t.Context())
	must(t, err)
	if len(addrs) != 0 {
		t.Errorf("moved link has the addresses %v", addrs)
	}
	must(t, own.AddVeth(t.Context(), "va", "vc"))
	expect(t, "move to where the name is taken",
		own.Move(t.Context(), MustLink(t, own, "va").Index, a), netlinkapi.ErrExists)
}

func testSettings(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	i := MustLink(t, own, "va").Index
	mac, _ := net.ParseMAC("02:00:00:00:00:77")
	must(t, own.SetMTU(t.Context(), i, 9000))
	must(t, own.SetMAC(t.Context(), i, mac))
	must(t, own.SetUp(t.Context(), i, true))
	must(t, own.SetAlias(t.Context(), i, "label/x"))
	expect(t, "rename to a taken name", own.Rename(t.Context(), i, "vb"), netlinkapi.ErrExists)
	if err := own.Rename(t.Context(), i, "vc"); err != nil && !errors.Is(err, netlinkapi.ErrBusy) {
		t.Errorf("rename: %v", err)
	}
	l, err := own.LinkByIndex(t.Context(), i)
	must(t, err)
	if l.MTU != 9000 || l.MAC.String() != mac.String() || l.Alias != "label/x" || !l.Up {
		t.Errorf("link is %+v", l)
	}
	must(t, own.SetAlias(t.Context(), i, ""))
	if l, err = own.LinkByIndex(t.Context(), i); err != nil || l.Alias != "" {
		t.Errorf("alias is %q, error %v; expected none", l.Alias, err)
	}
	expect(t, "set MTU of nothing", own.SetMTU(t.Context(), 4711, 1400), netlinkapi.ErrNotFound)
	if err := own.SetMTU(t.Context(), i, 10); err == nil || errors.Is(err, netlinkapi.ErrNotFound) {
		t.Errorf("MTU 10: error %v", err)
	}
}

func testAddresses(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	i := MustLink(t, own, "va").Index
	for _, p := range []string{"10.1.0.1/24", "fd00:1::1/64", "10.1.0.2/32"} {
		a := netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix(p)}
		must(t, own.AddAddress(t.Context(), a))
		expect(t, "add "+p+" again", own.AddAddress(t.Context(), a), netlinkapi.ErrExists)
		addrs, err := own.Addresses(t.Context())
		must(t, err)
		if !slices.Contains(addrs, a) {
			t.Errorf("%s is not among %v", p, addrs)
		}
		must(t, own.DeleteAddress(t.Context(), a))
		expect(t, "delete "+p+" again", own.DeleteAddress(t.Context(), a), netlinkapi.ErrNotFound)
	}
	expect(t, "add to a link that is not there",
		own.AddAddress(t.Context(), netlinkapi.Address{Link: 4711, Prefix: netip.MustParsePrefix("10.1.0.1/24")}), netlinkapi.ErrNotFound)
}

// testLoopback: the kernel gives a loopback its addresses when it is set up, and takes away the IPv6
// address when it is set down or IPv6 is disabled.
func testLoopback(t *testing.T, w *World) {
	h := w.Make(t, "a")
	lo := MustLink(t, h, "lo").Index
	has := func(what string, four, six bool) {
		t.Helper()
		addrs, err := h.Addresses(t.Context())
		must(t, err)
		for address, want := range map[string]bool{"127.0.0.1/8": four, "::1/128": six} {
			if got := slices.ContainsFunc(addrs, func(a netlinkapi.Address) bool { return a.Prefix.String() == address }); got != want {
				t.Errorf("%s: has %s: %t", what, address, got)
			}
		}
	}
	has("at first", false, false)
	for range 2 {
		must(t, h.SetUp(t.Context(), lo, true))
		has("up", true, true)
		must(t, h.SetUp(t.Context(), lo, false))
		has("down", true, false)
	}
	must(t, h.SetUp(t.Context(), lo, true))
	if err := h.SetSysctl(t.Context(), "lo", "ipv6.disable_ipv6", 1); err != nil {
		t.Logf("disable_ipv6 not tested: %v", err)
		return
	}
	has("without IPv6", true, false)
	must(t, errors.Join(h.SetUp(t.Context(), lo, false), h.SetUp(t.Context(), lo, true)))
	has("without IPv6, up again", true, false)
	must(t, h.SetSysctl(t.Context(), "lo", "ipv6.disable_ipv6", 0))
	has("with IPv6 again", true, true)
	_, err := h.LinkByIndex(t.Context(), 0)
	if err == nil || netlinkapi.IsGone(err) {
		t.Errorf("link 0: error %v", err)
	}
}

func testRoutes(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	i := MustLink(t, own, "va").Index
	for _, v := range []struct{ addr, dst, gw, far string }{
		{"10.1.0.1/24", "10.2.0.0/16", "10.1.0.254", "10.9.9.9"},
		{"fd00:1::1/64", "fd00:2::/64", "fd00:1::fe", "fd00:9::9"},
	} {
		r := netlinkapi.Route{
			Link: i, Dst: netip.MustParsePrefix(v.dst), Gateway: netip.MustParseAddr(v.gw), Metric: 7,
			Protocol: netlinkapi.ProtocolStatic, Table: netlinkapi.MainTable,
		}
		must(t, own.SetUp(t.Context(), i, false))
		if err := own.AddRoute(t.Context(), r); err == nil {
			t.Errorf("%s: added while the link is down", v.dst)
		}
		must(t, own.SetUp(t.Context(), i, true))
		must(t, own.SetUp(t.Context(), MustLink(t, own, "vb").Index, true))
		must(t, own.AddAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix(v.addr)}))
		unreachable := r
		unreachable.Gateway = netip.MustParseAddr(v.far)
		if err := own.AddRoute(t.Context(), unreachable); err == nil {
			t.Errorf("%s: added with an unreachable gateway", v.dst)
		}
		must(t, own.AddRoute(t.Context(), r))
		expect(t, "add "+v.dst+" again", own.AddRoute(t.Context(), r), netlinkapi.ErrExists)
		must(t, own.ReplaceRoute(t.Context(), r))
		routes, err := own.Routes(t.Context())
		must(t, err)
		if !slices.ContainsFunc(routes, r.Equal) {
			t.Errorf("%+v is not among %+v", r, routes)
		}
		must(t, own.DeleteRoute(t.Context(), r))
		expect(t, "delete "+v.dst+" again", own.DeleteRoute(t.Context(), r), netlinkapi.ErrNotFound)
	}
}

func testNeighbours(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "fd00:1::1/64")
	mac, _ := net.ParseMAC("02:00:00:00:00:77")
	other, _ := net.ParseMAC("02:00:00:00:00:78")
	for _, ip := range []string{"10.1.0.7", "fd00:1::7"} {
		n := netlinkapi.Neighbour{Link: i, IP: netip.MustParseAddr(ip), MAC: mac}
		if w.Sim == nil {
			learn(t, own, n)
		}
		must(t, own.AddNeighbour(t.Context(), n))
		expect(t, "add "+ip+" again", own.AddNeighbour(t.Context(), n), netlinkapi.ErrExists)
		n.MAC = other
		expect(t, "add "+ip+" with another MAC address", own.AddNeighbour(t.Context(), n), netlinkapi.ErrExists)
		must(t, own.SetNeighbour(t.Context(), n))
		ns, err := own.Neighbours(t.Context())
		must(t, err)
		if !slices.ContainsFunc(ns, func(o netlinkapi.Neighbour) bool {
			return o.IP == n.IP && o.Link == i && o.MAC.String() == other.String() && o.Permanent
		}) {
			t.Errorf("%s is not among %v", ip, ns)
		}
		must(t, own.DeleteNeighbour(t.Context(), n))
		expect(t, "delete "+ip+" again", own.DeleteNeighbour(t.Context(), n), netlinkapi.ErrNotFound)
	}
}

// learn makes the kernel look for a neighbour, so that it has an entry of its own.
func learn(t *testing.T, h netlinkapi.Handle, n netlinkapi.Neighbour) {
	t.Helper()
	Poll(t, "the kernel has an entry", func() bool {
		c, err := h.Dial(t.Context(), "udp", net.JoinHostPort(n.IP.String(), "9"))
		if err != nil { // an IPv6 address cannot be used at once
			return false
		}
		_, _ = c.Write([]byte("x"))
		must(t, c.Close())
		all, err := h.Neighbours(t.Context())
		must(t, err)
		return slices.ContainsFunc(all, func(o netlinkapi.Neighbour) bool { return o.Link == n.Link && o.IP == n.IP && !o.Permanent })
	})
}

func testWatch(t *testing.T, w *World) {
	own := w.Open(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	ready, events, done := make(chan struct{}), make(chan netlinkapi.Event, 1000), make(chan error)
	go func() {
		done <- own.Watch(ctx, func() { close(ready) }, func(e netlinkapi.Event) { events <- e })
	}()
	<-ready
	must(t, own.AddVeth(ctx, "va", "vb"))
	i := MustLink(t, own, "va").Index
	await := func(want netlinkapi.Event) {
		for e := range events {
			if e == want {
				return
			}
		}
	}
	await(netlinkapi.Event{Link: i})
	must(t, own.AddAddress(ctx, netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("10.1.0.1/24")}))
	await(netlinkapi.Event{Link: i})
	must(t, own.DeleteLink(ctx, i))
	await(netlinkapi.Event{Kind: netlinkapi.LinkGone, Link: i})
	cancel()
	must(t, <-done)
}

// testWatchOthers: what happens in another namespace is reported, and so is its end,
// which watching does not delay.
func testWatchOthers(t *testing.T, w *World) {
	own, a, b := w.Open(t, ""), w.Make(t, "a"), w.Make(t, "b")
	number := func(h netlinkapi.Handle) int {
		t.Helper()
		n, err := own.Number(t.Context(), h)
		must(t, err)
		return n
	}
	if self := number(own); self != netlinkapi.OwnNumber {
		t.Errorf("the namespace calls itself %d", self)
	}
	inA, inB := number(a), number(b)
	if again := number(a); inA < 0 || inB < 0 || inA == inB || again != inA {
		t.Fatalf("numbers %d, %d, then %d", inA, inB, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, events, done := make(chan struct{}), make(chan int, 1000), make(chan error)
	go func() {
		done <- own.WatchOthers(ctx, func() { close(ready) }, func(n int, _ netlinkapi.Event) { events <- n })
	}()
	<-ready
	await := func(want int) {
		for n := range events {
			if n == want {
				return
			}
		}
	}
	must(t, b.AddVeth(ctx, "va", "vb"))
	await(inB)
	must(t, a.SetUp(ctx, MustLink(t, a, "lo").Index, true))
	await(inA)
	must(t, own.AddVeth(ctx, "va", "vb"))
	await(netlinkapi.OwnNumber)
	must(t, a.Close())
	w.Remove(t, "a")
	await(inA)
	cancel()
	must(t, <-done)
}

// testNamespaceEnds: a namespace deleted under us is gone at once for Open,
// and takes veth pairs along.
func testNamespaceEnds(t *testing.T, w *World) {
	own, a := w.Open(t, ""), w.Make(t, "a")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	must(t, own.Move(t.Context(), MustLink(t, own, "va").Index, a))
	before := a.Namespace()
	must(t, a.Close())
	w.Remove(t, "a")
	_, err := w.Namespaces.Open(w.Path("a"), netlinkapi.Gate{})
	expect(t, "open a deleted namespace", err, netlinkapi.ErrNamespaceGone)
	Poll(t, "the other end of the pair is gone", func() bool {
		_, err := own.LinkByName(t.Context(), "vb")
		return errors.Is(err, netlinkapi.ErrNotFound)
	})
	if again := w.Make(t, "a"); again.Namespace() == before {
		t.Error("the new namespace has the identity of the deleted one")
	}
}
