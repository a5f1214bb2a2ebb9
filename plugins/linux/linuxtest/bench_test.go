package linuxtest_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

// most is how much longer the agent may take than a loop of the same calls.
const most = 1.3

// load is configuration for the agent, and a loop of the calls that make the same.
type load struct {
	before []proto.Message // what the values need
	values []proto.Message
	keys   []string // of values; nil: not made yet
	// prepare is before for the loop; nil: nothing.
	prepare func(tb testing.TB, w *nltest.World)
	raw     func(tb testing.TB, w *nltest.World)
}

// BenchmarkCalls compares transactions of the agent with a loop of the calls to the kernel that
// make the same, in fresh namespaces of the running kernel.
func BenchmarkCalls(b *testing.B) {
	for _, c := range []struct {
		name   string
		rounds int
		clock  func(func()) time.Duration // programs and waiting are no work of the process
		load   load
	}{
		{"linux-routes-10k", 9, infratest.Worked, manyRoutes(10000)},
		{"linux-rules-5k", 5, infratest.Worked, manyRules(5000)},
		{"linux-veths-1k", 1, infratest.Took, manyPairs(1000, 100)},
		{"linux-iptables-5k", 5, infratest.Took, manyChains(1, 5000)},
		{"linux-iptables-50x100", 5, infratest.Took, manyChains(50, 100)},
		{"linux-nftables-5k", 5, infratest.Took, oneTable(5000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				took := infratest.Medians(c.rounds,
					func() time.Duration { return c.load.bare(b, c.clock) },
					func() time.Duration { return c.load.agent(b, c.clock) })
				infratest.AtMost(b, c.name, float64(took[1])/float64(took[0]), "x", most)
				b.ReportMetric(took[0].Seconds()*1000, "bare-ms")
				b.ReportMetric(took[1].Seconds()*1000, "agent-ms")
			}
		})
	}
}

// BenchmarkForeignRoutes compares transactions beside 100,000 routes of a routing protocol with
// the same ones beside none.
func BenchmarkForeignRoutes(b *testing.B) {
	const mine, foreign = 2000, 100000
	l := manyRoutes(mine)
	start := func(tb testing.TB, n int) *linuxtest.Agent {
		w := nltest.Kernel(tb)
		a := linuxtest.StartQuiet(tb, w)
		if err := a.Apply(l.before...); err != nil {
			tb.Fatal(err)
		}
		h := w.Open(tb, "")
		all := make([]netlinkapi.Route, n)
		for i := range all {
			all[i] = netlinkapi.Route{
				Link: nltest.MustLink(tb, h, "a0").Index, Table: netlinkapi.MainTable, Dst: network(mine + i), Protocol: bgp,
				Scope: netlinkapi.ScopeLink,
			}
		}
		if err := errors.Join(h.ChangeRoutes(b.Context(), netlinkapi.OpAdd, all)...); err != nil {
			tb.Fatal(err)
		}
		return a
	}
	alone, beside := start(b, 0), start(b, foreign)
	change := func(a *linuxtest.Agent) func() time.Duration {
		return func() time.Duration {
			defer func() {
				if err := a.Delete(l.values...); err != nil {
					b.Fatal(err)
				}
			}()
			return l.commit(b, a, infratest.Worked)
		}
	}
	resync := func(a *linuxtest.Agent) func() time.Duration {
		return func() time.Duration {
			return infratest.Worked(func() {
				if err := a.Resync(l.before...); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	for range b.N {
		took := infratest.Medians(15, change(alone), change(beside))
		infratest.AtMost(b, "linux-foreign-100k", float64(took[1])/float64(took[0]), "x", most)
		took = infratest.Medians(5, resync(alone), resync(beside))
		b.ReportMetric(took[0].Seconds()*1000, "resync-alone-ms")
		b.ReportMetric(took[1].Seconds()*1000, "resync-beside-ms")
	}
}

// bgp is the protocol of routes from BGP.
const bgp netlinkapi.Protocol = 186

// commit returns how long the transaction takes.
func (l *load) commit(tb testing.TB, a *linuxtest.Agent, clock func(func()) time.Duration) time.Duration {
	tb.Helper()
	if l.keys == nil {
		for _, v := range l.values {
			l.keys = append(l.keys, linuxtest.Key(tb, v))
		}
	}
	txn := a.StartNBTransaction()
	for i, v := range l.values {
		txn.SetValue(l.keys[i], v)
	}
	runtime.GC() // what this made is not the agent's
	return clock(func() {
		if _, err := txn.Commit(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	})
}

// bare returns how long the loop takes.
func (l *load) bare(b *testing.B, clock func(func()) time.Duration) time.Duration {
	return inRound(b, func(tb testing.TB) time.Duration {
		w := nltest.Kernel(tb)
		if l.prepare != nil {
			l.prepare(tb, w)
		}
		runtime.GC()
		return clock(func() { l.raw(tb, w) })
	})
}

// agent returns how long the transaction takes.
func (l *load) agent(b *testing.B, clock func(func()) time.Duration) time.Duration {
	return inRound(b, func(tb testing.TB) time.Duration {
		a := linuxtest.StartQuiet(tb, nltest.Kernel(tb))
		if err := a.Apply(l.before...); err != nil {
			tb.Fatal(err)
		}
		return l.commit(tb, a, clock)
	})
}

// inRound runs a function that cleans up when it ends rather than with the benchmark.
func inRound(b *testing.B, f func(testing.TB) time.Duration) time.Duration {
	r := &round{TB: b}
	defer r.end()
	return f(r)
}

// round is a part of a benchmark.
type round struct {
	testing.TB
	cleanups []func()
}

// Cleanup registers a function to call at the end of the round.
func (r *round) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *round) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

// network is the i-th of many networks.
func network(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
}

func manyRoutes(n int) load {
	l := load{before: manyPairs(1, 1).values}
	gateway := netip.MustParseAddr("10.1.0.2")
	for i := range n {
		l.values = append(l.values, &l3.Route{
			OutgoingInterface: "a0", DstNetwork: network(i).String(), GwAddr: gateway.String(), Scope: l3.Route_GLOBAL,
		})
	}
	l.prepare = func(tb testing.TB, w *nltest.World) { rawPair(tb, w, 0, 0) }
	l.raw = func(tb testing.TB, w *nltest.World) {
		link := nltest.MustLink(tb, w.Open(tb, ""), "a0").Index
		err := kernel.OnOwnThread(func() error { return rawRoutes(w.Path("own"), link, gateway, n) })
		if err != nil {
			tb.Fatal(err)
		}
	}
	return l
}

// handleIn enters a namespace and returns a handle of the library there.
func handleIn(space string) (*netlink.Handle, error) {
	file, err := os.Open(space)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	return netlink.NewHandle(unix.NETLINK_ROUTE)
}

// rawRoutes adds routes with the library, on a thread that may change its namespace.
func rawRoutes(space string, link int, gateway netip.Addr, n int) error {
	h, err := handleIn(space)
	if err != nil {
		return err
	}
	defer h.Close()
	for i := range n {
		p := network(i)
		if err := h.RouteAdd(&netlink.Route{
			LinkIndex: link, Gw: gateway.AsSlice(), Protocol: netlink.RouteProtocol(netlinkapi.ProtocolAgent),
			Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())},
		}); err != nil {
			return err
		}
	}
	return nil
}

func manyRules(n int) load {
	l := load{raw: func(tb testing.TB, w *nltest.World) {
		err := kernel.OnOwnThread(func() error { return rawRules(w.Path("own"), n) })
		if err != nil {
			tb.Fatal(err)
		}
	}}
	for i := range n {
		l.values = append(l.values, &l3.Rule{Name: fmt.Sprintf("rule%d", i), Priority: uint32(1 + i), SrcNetwork: network(i).String(), Table: 77})
	}
	return l
}

// rawRules adds policy rules with the library, see rawRoutes.
func rawRules(space string, n int) error {
	h, err := handleIn(space)
	if err != nil {
		return err
	}
	defer h.Close()
	for i := range n {
		p := network(i)
		r := netlink.NewRule()
		r.Priority, r.Table, r.Protocol = 1+i, 77, uint8(netlinkapi.ProtocolAgent)
		r.Src = &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		if err := h.RuleAdd(r); err != nil {
			return err
		}
	}
	return nil
}

// ends are the names and addresses of the two ends of a pair.
func ends(i int) (names, addrs [2]string) {
	for j, side := range "ab" {
		names[j] = fmt.Sprintf("%c%d", side, i)
		addrs[j] = fmt.Sprintf("10.%d.%d.%d/30", 1+i>>14, i>>6&255, i<<2&255|j+1)
	}
	return names, addrs
}

func manyPairs(n, spaces int) load {
	l := load{raw: func(tb testing.TB, w *nltest.World) {
		for i := range n {
			rawPair(tb, w, i, i%spaces)
		}
	}}
	for i := range n {
		names, addrs := ends(i)
		for j, name := range names {
			v := &interfaces.Interface{Name: name, Type: interfaces.Interface_VETH, Enabled: true, IpAddresses: addrs[j : j+1],
				Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: names[1-j]}}}
			if j == 1 {
				v.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: fmt.Sprintf("space%d", i%spaces)}
			}
			l.values = append(l.values, v)
		}
	}
	return l
}

// rawPair makes a pair as the agent does: under temporary names, so that both are marked before
// they are found under their own names.
func rawPair(tb testing.TB, w *nltest.World, i, space int) {
	tb.Helper()
	path := w.Path(fmt.Sprintf("space%d", space))
	if i == space {
		if err := w.Create(path); err != nil {
			tb.Fatal(err)
		}
	}
	own, err := w.Namespaces.Open("", netlinkapi.Gate{})
	if err != nil {
		tb.Fatal(err)
	}
	other, err := w.Namespaces.Open(path, netlinkapi.Gate{})
	if err != nil {
		tb.Fatal(err)
	}
	names, addrs := ends(i)
	err = own.AddVeth(tb.Context(), "tmp-a", "tmp-b")
	a, b := nltest.MustLink(tb, own, "tmp-a").Index, nltest.MustLink(tb, own, "tmp-b").Index
	err = errors.Join(err, own.SetAlias(tb.Context(), a, "alias/"+names[0]), own.SetAlias(tb.Context(), b, "alias/"+names[1]), own.Move(tb.Context(), b, other))
	b = nltest.MustLink(tb, other, "tmp-b").Index
	err = errors.Join(err,
		own.Rename(tb.Context(), a, names[0]), own.SetUp(tb.Context(), a, true), other.Rename(tb.Context(), b, names[1]), other.SetUp(tb.Context(), b, true),
		own.AddAddress(tb.Context(), netlinkapi.Address{Link: a, Prefix: netip.MustParsePrefix(addrs[0])}),
		other.AddAddress(tb.Context(), netlinkapi.Address{Link: b, Prefix: netip.MustParsePrefix(addrs[1])}),
		own.Close(), other.Close())
	if err != nil {
		tb.Fatal(err)
	}
}

// filterRules are rules of iptables.
func filterRules(n int) []string {
	rules := make([]string, n)
	for i := range rules {
		rules[i] = fmt.Sprintf("-s %s -p tcp -m tcp --dport %d -j ACCEPT", network(i), 1+i)
	}
	return rules
}

func manyChains(n, size int) load {
	l := load{raw: func(tb testing.TB, w *nltest.World) {
		h := w.Open(tb, "")
		for i := range n {
			chain := fmt.Sprintf("CHAIN%d", i)
			lines := []string{":" + chain + " - [0:0]"}
			for _, rule := range filterRules(size) {
				lines = append(lines, "-A "+chain+" "+rule)
			}
			if err := h.RestoreTable(tb.Context(), netlinkapi.FilterTable{Name: "filter"}, lines); err != nil {
				tb.Fatal(err)
			}
		}
	}}
	for i := range n {
		l.values = append(l.values, &iptables.RuleChain{Name: fmt.Sprintf("c%d", i), Rules: filterRules(size),
			ChainType: iptables.RuleChain_CUSTOM, ChainName: fmt.Sprintf("CHAIN%d", i)})
	}
	return l
}

func oneTable(n int) load {
	content := "chain c {\n"
	for i := range n {
		content += fmt.Sprintf("\tip saddr %s tcp dport %d accept\n", network(i).Addr(), 1+i)
	}
	content += "}"
	return load{
		values: []proto.Message{&nftables.Table{Name: "t", Content: content}},
		raw: func(tb testing.TB, w *nltest.World) {
			if err := w.Open(tb, "").SetNFTable(tb.Context(), netlinkapi.NFTable{Family: "inet", Name: "t"}, content); err != nil {
				tb.Fatal(err)
			}
		},
	}
}
