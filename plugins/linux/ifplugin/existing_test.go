package ifplugin_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// makeDevice makes a link as another process would, up and running.
func makeDevice(t *testing.T, h netlinkapi.Handle, name string) int {
	t.Helper()
	must(t, h.AddVeth(t.Context(), name, name+"-p"))
	for _, n := range []string{name, name + "-p"} {
		must(t, h.SetUp(t.Context(), nltest.MustLink(t, h, n).Index, true))
	}
	return nltest.MustLink(t, h, name).Index
}

func addAddress(t *testing.T, h netlinkapi.Handle, link int, prefix string) {
	t.Helper()
	must(t, h.AddAddress(t.Context(), netlinkapi.Address{Link: link, Prefix: netip.MustParsePrefix(prefix)}))
}

func exists(a *linuxtest.Agent, key string) func() bool {
	return func() bool { return a.State(key).GetState() != missing }
}

// The plugin sets links of other processes up, and changes their MTU.
func TestLinksOfOthers(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		index := makeDevice(t, own, "host")
		a := linuxtest.Start(t, w)
		must(t, a.Interfaces.SetLinkMTU(t.Context(), "host", 1744))
		if mtu, err := a.Interfaces.LinkMTU(t.Context(), "host"); err != nil || mtu != 1744 || nltest.MustLink(t, own, "host").MTU != 1744 {
			t.Errorf("MTU %d, %v", mtu, err)
		}
		must(t, own.SetUp(t.Context(), index, false))
		must(t, a.Interfaces.SetLinkUp(t.Context(), "host"))
		if !nltest.MustLink(t, own, "host").Up {
			t.Error("the link is down")
		}
		must(t, a.Interfaces.SetLinkMTU(t.Context(), "missing", 1744))
		must(t, a.Interfaces.SetLinkUp(t.Context(), "missing"))
		if mtu, err := a.Interfaces.LinkMTU(t.Context(), "missing"); err != nil || mtu != 0 {
			t.Errorf("MTU %d, %v of a link that does not exist", mtu, err)
		}
	})
}

// What the kernel has comes as values from the southbound, and goes.
func TestWatcher(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		makeDevice(t, own, "early")
		a := linuxtest.Start(t, w)
		must(t, a.Resync())
		a.Quiet("what was there is known", exists(a, ifmodel.HostInterfaceKey.Key("early")))

		index := makeDevice(t, own, "late")
		late := ifmodel.HostInterfaceKey.Key("late")
		a.Quiet("a new link is known", exists(a, late))
		addAddress(t, own, index, "10.1.0.1/24")
		addr := ifmodel.HostAddressKeyFor("late", "10.1.0.1/24")
		a.Quiet("its address is known", exists(a, addr))
		a.ExpectKey(obtained, late)

		must(t, own.SetUp(t.Context(), index, false))
		a.Quiet("it is down", func() bool { return !exists(a, late)() })
		must(t, own.SetUp(t.Context(), index, true))
		a.Quiet("it is up", exists(a, late))
		must(t, own.DeleteLink(t.Context(), index))
		a.Quiet("it is gone", func() bool { return !exists(a, late)() && !exists(a, addr)() })
		a.ExpectKey(obtained, ifmodel.HostInterfaceKey.Key("early"))
	})
}

// A link exists for its dependents while it is administratively up: also without a
// carrier, and while the carrier changes with the peer.
func TestWatcherIgnoresTheCarrier(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		must(t, a.Resync())
		must(t, own.AddVeth(t.Context(), "dev", "dev-p"))
		dev, peer := nltest.MustLink(t, own, "dev").Index, nltest.MustLink(t, own, "dev-p").Index
		key := ifmodel.HostInterfaceKey.Key("dev")
		why := func(want string) {
			t.Helper()
			a.Quiet("it is said why the link is no use: "+want, func() bool { return strings.Contains(a.Explain(key).Reason, want) })
		}
		why("exists but is down; \"ip link set dev up\" sets it up")
		must(t, own.SetUp(t.Context(), dev, true))
		a.Quiet("it is known although it has no carrier", exists(a, key))
		if nltest.MustLink(t, own, "dev").Running {
			t.Error("the link has a carrier")
		}
		for i, up := range []bool{true, false, true, false} {
			must(t, own.SetUp(t.Context(), peer, up))
			nltest.Poll(t, "the carrier follows the peer", func() bool { return nltest.MustLink(t, own, "dev").Running == up })
			// The flap lasts longer than the watcher waits before it believes one.
			for n, begin := 0, time.Now(); n < 2 || time.Since(begin) < 50*time.Millisecond; n++ {
				name := fmt.Sprintf("mark%d.%d", i, n)
				makeDevice(t, own, name)
				a.Quiet("a later link is known", exists(a, ifmodel.HostInterfaceKey.Key(name)))
			}
		}
		for _, txn := range a.GetTransactionHistory(time.Time{}, time.Time{}) {
			for _, op := range txn.Executed {
				if op.Key == key && op.Operation == kvscheduler.TxnOperation_DELETE {
					t.Errorf("transaction %d: %v %s although only the carrier changed", txn.SeqNum, op.Operation, op.Key)
				}
			}
		}
		must(t, own.DeleteLink(t.Context(), dev))
		a.Quiet("it is gone", func() bool { return !exists(a, key)() })
		why(`there is no link "dev" in the network namespace of the agent`)
	})
}

// When events were lost the state is read again.
func TestWatcherOverflow(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	a := linuxtest.Start(t, w)
	must(t, a.Resync())
	nltest.Poll(t, "the watch runs", func() bool { return w.Sim.Watchers("") == 1 })
	w.Sim.Overflow("")
	makeDevice(t, w.Open(t, ""), "lost")
	a.Quiet("the link is known", exists(a, ifmodel.HostInterfaceKey.Key("lost")))
}

func existing(name string, addrs ...string) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Type: interfaces.Interface_EXISTING, HostIfName: "dev", Enabled: true, IpAddresses: addrs}
}

// An interface of another process is waited for, gets addresses, and is left in
// place in the end.
func TestExisting(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		e := existing("e", "10.1.0.1/24")
		must(t, a.Apply(e))
		a.Expect(pending, e)
		index := makeDevice(t, own, "dev")
		a.Quiet("the value is configured", func() bool { return a.State(linuxtest.Key(t, e)).GetState() == configured })
		if !hasAddress(t, own, "dev", "10.1.0.1/24") {
			t.Error("the address is missing")
		}
		addAddress(t, own, index, "10.9.0.1/24")
		must(t, a.Resync(e))
		if hasAddress(t, own, "dev", "10.9.0.1/24") || !hasAddress(t, own, "dev", "10.1.0.1/24") {
			t.Error("a resync does not leave just the wanted addresses")
		}
		unchanged(t, a, e)
		must(t, own.DeleteLink(t.Context(), index))
		a.Quiet("the value waits", func() bool { return a.State(linuxtest.Key(t, e)).GetState() == pending })
		makeDevice(t, own, "dev")
		a.Quiet("the value is configured again", func() bool { return a.State(linuxtest.Key(t, e)).GetState() == configured })
		must(t, a.Delete(e))
		if l := expectLink(t, own, "dev"); !l.Up || l.Alias != "" || hasAddress(t, own, "dev", "10.1.0.1/24") {
			t.Errorf("link is %+v, expected as it was", l)
		}
	})
}

// With link_only the addresses belong to another process: they are waited for if
// they are named, and never touched.
func TestExistingLinkOnly(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		index := makeDevice(t, own, "dev")
		addAddress(t, own, index, "10.9.0.1/24")
		a := linuxtest.Start(t, w)
		e := existing("e", "10.1.0.1/24")
		e.LinkOnly = true
		must(t, a.Resync(e))
		a.Quiet("the value is configured", func() bool { return a.State(linuxtest.Key(t, e)).GetState() == configured })
		status := a.GetValueStatus(linuxtest.Key(t, e))
		if !derivedIs(status, "/address/existing/10.1.0.1/24", pending) {
			t.Errorf("derived values are %v, expected that the address is waited for", status.GetDerivedValues())
		}
		addAddress(t, own, index, "10.1.0.1/24")
		a.Quiet("the address is there", func() bool {
			return derivedIs(a.GetValueStatus(linuxtest.Key(t, e)), "/address/existing/10.1.0.1/24", configured)
		})
		must(t, a.Delete(e))
		for _, addr := range []string{"10.1.0.1/24", "10.9.0.1/24"} {
			if !hasAddress(t, own, "dev", addr) {
				t.Errorf("%s was touched", addr)
			}
		}
	})
}

func derivedIs(status *api.BaseValueStatus, suffix string, state api.ValueState) bool {
	for _, d := range status.GetDerivedValues() {
		if strings.HasSuffix(d.GetKey(), suffix) {
			return d.GetState() == state
		}
	}
	return false
}
