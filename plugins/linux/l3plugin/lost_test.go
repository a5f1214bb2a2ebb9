package l3plugin_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

const (
	missing = kvscheduler.ValueState_MISSING
	mac1    = "02:00:00:00:00:aa"
)

// lossSetup starts an agent with routes and neighbours in its own and in another
// namespace, and waits until it follows both.
func lossSetup(t *testing.T, w *nltest.World, start func(*testing.T, *nltest.World) *linuxtest.Agent) (a *linuxtest.Agent, own, left netlinkapi.Handle) {
	t.Helper()
	a = start(t, w)
	must(t, a.Apply(append(pair(), routes()...)...))
	a.Expect(configured, routes()...)
	a.Quiet("both namespaces are followed", func() bool { return len(a.Interfaces.States().List()) == 2 })
	return a, w.Open(t, ""), w.Open(t, "left")
}

func repairing(t *testing.T, w *nltest.World) *linuxtest.Agent { return linuxtest.Start(t, w) }

// all reports whether all routes and neighbours of the configuration exist.
func all(t *testing.T, own, left netlinkapi.Handle) bool {
	t.Helper()
	return hasRoute(t, own, "10.2.0.0/16", "10.1.0.2") && hasRoute(t, own, "fd00:2::/64", "fd00:1::2") &&
		hasRoute(t, own, "10.3.0.0/16", "") && hasRoute(t, own, "10.4.0.0/16", "10.3.0.9") &&
		theRest(t, own, left)
}

func theRest(t *testing.T, own, left netlinkapi.Handle) bool {
	t.Helper()
	return hasRoute(t, left, "0.0.0.0/0", "10.1.0.1") && hasNeighbour(t, own, "10.1.0.77", mac1) &&
		hasNeighbour(t, left, "fd00:1::77", "02:00:00:00:00:bb") &&
		hasAddresses(t, own, "10.1.0.1/24", "fd00:1::1/64") && hasAddresses(t, left, "10.1.0.2/24", "fd00:1::2/64")
}

func hasAddresses(t *testing.T, h netlinkapi.Handle, want ...string) bool {
	t.Helper()
	found, err := h.Addresses(t.Context())
	must(t, err)
	return !slices.ContainsFunc(want, func(text string) bool {
		return !slices.ContainsFunc(found, func(a netlinkapi.Address) bool { return a.Prefix == netip.MustParsePrefix(text) })
	})
}

// remove deletes a route as another process does.
func remove(t *testing.T, h netlinkapi.Handle, dst string) {
	t.Helper()
	found, err := h.Routes(t.Context())
	must(t, err)
	for _, r := range found {
		if r.Dst == netip.MustParsePrefix(dst) && r.Protocol == netlinkapi.ProtocolAgent {
			must(t, h.DeleteRoute(t.Context(), r))
		}
	}
}

func link(t *testing.T, h netlinkapi.Handle, name string) int {
	return nltest.MustLink(t, h, name).Index
}

// Routes and neighbours that another process deletes, or the kernel without a word, are
// created again at once.
func TestLostPathsAreCreatedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		lose func(t *testing.T, own, left netlinkapi.Handle)
	}{
		{"IPv4 route", func(t *testing.T, own, _ netlinkapi.Handle) { remove(t, own, "10.2.0.0/16") }},
		{"IPv6 route", func(t *testing.T, own, _ netlinkapi.Handle) { remove(t, own, "fd00:2::/64") }},
		{"route with a dependent", func(t *testing.T, own, _ netlinkapi.Handle) { remove(t, own, "10.3.0.0/16") }},
		{"default route in another namespace", func(t *testing.T, _, left netlinkapi.Handle) { remove(t, left, "0.0.0.0/0") }},
		{"neighbours", func(t *testing.T, own, left netlinkapi.Handle) {
			must(t, own.DeleteNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, own, "x"), IP: netip.MustParseAddr("10.1.0.77")}))
			must(t, left.DeleteNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, left, "y"), IP: netip.MustParseAddr("fd00:1::77")}))
		}},
		{"replaced route", func(t *testing.T, own, _ netlinkapi.Handle) {
			must(t, own.ReplaceRoute(t.Context(), netlinkapi.Route{
				Link: link(t, own, "x"), Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("10.2.0.0/16"), Metric: 5,
				Gateway: netip.MustParseAddr("10.1.0.9"), Protocol: netlinkapi.ProtocolBoot,
			}))
		}},
		{"address", func(t *testing.T, own, _ netlinkapi.Handle) {
			must(t, own.DeleteAddress(t.Context(), netlinkapi.Address{Link: link(t, own, "x"), Prefix: netip.MustParsePrefix("10.1.0.1/24")}))
		}},
		{"address that returns at once", func(t *testing.T, _, left netlinkapi.Handle) {
			a := netlinkapi.Address{Link: link(t, left, "y"), Prefix: netip.MustParsePrefix("10.1.0.2/24")}
			must(t, left.DeleteAddress(t.Context(), a))
			if err := left.AddAddress(t.Context(), a); !errors.Is(err, netlinkapi.ErrExists) { // the agent may be faster
				must(t, err)
			}
		}},
		{"link that is set down", func(t *testing.T, own, _ netlinkapi.Handle) {
			must(t, own.SetUp(t.Context(), link(t, own, "x"), false))
		}},
		{"link that is set down for an instant", func(t *testing.T, _, left netlinkapi.Handle) {
			must(t, left.SetUp(t.Context(), link(t, left, "y"), false))
			must(t, left.SetUp(t.Context(), link(t, left, "y"), true))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			nltest.Run(t, func(t *testing.T, w *nltest.World) {
				a, own, left := lossSetup(t, w, repairing)
				before := a.GetTransactionHistory(time.Time{}, time.Time{})
				c.lose(t, own, left)
				a.Quiet("a loss is handled and everything exists", func() bool {
					return len(a.GetTransactionHistory(time.Time{}, time.Time{})) > len(before) && all(t, own, left)
				})
				a.Quiet("everything is configured", func() bool {
					return !slices.ContainsFunc(append(pair(), routes()...), func(v proto.Message) bool {
						return a.State(linuxtest.Key(t, v)).GetState() != configured
					})
				})
				unchanged(t, a, append(pair(), routes()...)...)
			})
		})
	}
}

// With drift that is only reported, a lost route stays missing, and what stands on it
// waits, until a resync.
func TestLostPathsStayMissing(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a, own, left := lossSetup(t, w, func(t *testing.T, w *nltest.World) *linuxtest.Agent {
			return linuxtest.StartReporting(t, w, "linux-route", "linux-arp")
		})
		attached, behind, entry := routes()[2], routes()[3], routes()[5]
		remove(t, own, "10.3.0.0/16")
		must(t, own.DeleteNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, own, "x"), IP: netip.MustParseAddr("10.1.0.77")}))
		a.Quiet("the losses are noticed", func() bool {
			return a.State(linuxtest.Key(t, attached)).GetState() == missing && a.State(linuxtest.Key(t, entry)).GetState() == missing
		})
		a.Expect(pending, behind)
		if hasRoute(t, own, "10.3.0.0/16", "") || hasRoute(t, own, "10.4.0.0/16", "10.3.0.9") {
			t.Error("a route exists that must not")
		}
		must(t, a.Resync(append(pair(), routes()...)...))
		a.Expect(configured, routes()...)
		if !all(t, own, left) {
			t.Error("not everything exists after a resync")
		}
	})
}

// What the agent does itself is no loss, and adding routes costs no event at all.
func TestOwnOperationsAreNoLoss(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a, own, left := lossSetup(t, w, repairing)
		x := pair()[0].(*interfaces.Interface)
		for range 5 {
			must(t, a.Delete(routes()...))
			must(t, a.Apply(routes()...))
			must(t, a.Apply(&l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", GwAddr: "10.1.0.3", Scope: l3.Route_GLOBAL, Metric: 6}))
			must(t, a.Apply(routes()...))
			x.Mtu = 1400
			must(t, a.Apply(x))
			x.Mtu = 1500
			must(t, a.Apply(x))
		}
		remove(t, left, "0.0.0.0/0") // the events before it have been handled when this one is
		remove(t, own, "10.2.0.0/16")
		a.Quiet("the last events have been handled", func() bool { return lossesOf(a) >= 1 && all(t, own, left) })
		for _, txn := range a.GetTransactionHistory(time.Time{}, time.Time{}) {
			for _, op := range txn.Executed {
				if strings.Contains(txn.Description, "lost") && !strings.Contains(op.Key, "0.0.0.0/0") && !strings.Contains(op.Key, "10.2.0.0/16") {
					t.Errorf("transaction %d (%s): %v %s", txn.SeqNum, txn.Description, op.Operation, op.Key)
				}
			}
		}
	})
}

// lossesOf counts transactions about losses.
func lossesOf(a *linuxtest.Agent) (n int) {
	for _, txn := range a.GetTransactionHistory(time.Time{}, time.Time{}) {
		if strings.Contains(txn.Description, "the southbound lost") {
			n++
		}
	}
	return n
}

// When events are missed, everything that they may have been about is read.
func TestMissedEvents(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	a, own, left := lossSetup(t, w, repairing)
	w.Sim.Overflow("")
	remove(t, own, "10.2.0.0/16")
	remove(t, left, "0.0.0.0/0")
	a.Quiet("both routes exist again", func() bool { return lossesOf(a) >= 1 && all(t, own, left) })
}

// Routes that the agent creates are not read again, and the loss of one costs one lookup,
// however many routes there are.
func TestLossCostsOneLookup(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	a := linuxtest.Start(t, w)
	must(t, a.Apply(pair()...))
	var many []proto.Message
	for i := range 1000 {
		many = append(many, &l3.Route{
			OutgoingInterface: "x", DstNetwork: fmt.Sprintf("10.%d.%d.0/24", 100+i/256, i%256), GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL,
		})
	}
	own := w.Open(t, "")
	a.Quiet("the agent listens", func() bool { return w.Sim.Watchers("") == 1 && w.Sim.Listeners("") == 1 })
	lookups, dumps := w.Sim.Calls("FindRoute"), w.Sim.Calls("Routes")
	must(t, a.Apply(many...))
	must(t, own.DeleteRoute(t.Context(), netlinkapi.Route{Link: link(t, own, "x"), Dst: netip.MustParsePrefix("10.101.7.0/24")}))
	a.Quiet("the route is created again", func() bool {
		return lossesOf(a) == 1 && a.State(linuxtest.Key(t, many[263])).GetState() == configured
	})
	lookups, dumps = w.Sim.Calls("FindRoute")-lookups, w.Sim.Calls("Routes")-dumps
	if lookups != 1 || dumps != 0 {
		t.Errorf("%d lookups and %d readings of all routes, expected 1 and 0", lookups, dumps)
	}
	if !hasRoute(t, own, "10.101.7.0/24", "10.1.0.2") {
		t.Error("the route does not exist")
	}
}
