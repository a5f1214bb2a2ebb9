package ifplugin_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// follow watches the states of interfaces; await waits for one.
func follow(t *testing.T, a *linuxtest.Agent) (told *telling, await func(want string)) {
	t.Helper()
	told = &telling{lines: make(chan string, 1000)}
	told.cancel = a.Interfaces.States().Watch(func(n *interfaces.InterfaceNotification) {
		s := n.State
		if s.GetSpeed() != 10_000_000_000 { // of every VETH
			t.Errorf("the speed of %s is %d bit/s", s.GetName(), s.GetSpeed())
		}
		if s.GetStatistics() == nil {
			t.Errorf("the state of %s has no counters", s.GetName())
		}
		told.lines <- fmt.Sprintf("%v %s %s %v %v/%v %d", n.Type, s.Name, s.InternalName, s.Type, s.AdminStatus, s.OperStatus, s.Mtu)
	})
	return told, func(want string) {
		t.Helper()
		var before []string
		late := time.After(2 * time.Minute)
		for {
			select {
			case got := <-told.lines:
				if got == want {
					return
				}
				before = append(before, got)
			case <-late:
				t.Fatalf("not told: %s\ntold:\n%s", want, strings.Join(before, "\n"))
			}
		}
	}
}

// telling is what was reported about states.
type telling struct {
	lines  chan string
	cancel func()
}

// The states of interfaces in the namespace of the agent are reported, as they
// change, on the fake and on the kernel.
func TestStates(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.StartReporting(t, w, "linux-interface")
		told, await := follow(t, a)
		one, two := veth("one", "two", ""), veth("two", "one", "")
		two.Enabled = false
		must(t, a.Apply(one, two))
		await("UPDOWN one h-one VETH UP/DOWN 1500") // its peer is down
		two = veth("two", "one", "")
		two.Mtu = 1400
		must(t, a.Apply(two))
		await("UPDOWN one h-one VETH UP/UP 1500")

		must(t, own.SetUp(t.Context(), expectLink(t, own, "h-one").Index, false)) // by another process
		await("UPDOWN one h-one VETH DOWN/DOWN 1500")
		must(t, own.SetUp(t.Context(), expectLink(t, own, "h-one").Index, true))
		await("UPDOWN one h-one VETH UP/UP 1500")
		list := a.Interfaces.States().List()
		if len(list) != 2 || list[0].Name != "one" || list[1].Mtu != 1400 || list[0].LastChange == 0 || list[0].PhysAddress == "" {
			t.Errorf("states %v", list)
		}

		// A link that disappeared, or is no longer desired, is reported as deleted.
		must(t, own.DeleteLink(t.Context(), expectLink(t, own, "h-one").Index))
		await("UPDOWN one h-one VETH DELETED/DELETED 1500")
		must(t, a.Resync(one, two))
		await("UPDOWN one h-one VETH UP/UP 1500")
		must(t, a.Delete(one, two))
		await("UPDOWN two h-two VETH DELETED/DELETED 1400")
		a.Quiet("nothing is left", func() bool { return len(a.Interfaces.States().List()) == 0 })

		// No notification follows the end.
		told.cancel()
		for len(told.lines) > 0 {
			<-told.lines
		}
		must(t, a.Apply(veth("one", "two", ""), veth("two", "one", "")))
		must(t, a.Delete(one, two))
		a.Quiet("nothing is left", func() bool { return len(a.Interfaces.States().List()) == 0 })
		if len(told.lines) > 0 {
			t.Errorf("told after the end: %s", <-told.lines)
		}
	})
}

// States of interfaces in other namespaces are reported too, and their deletion is
// not delayed.
func TestStatesElsewhere(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.StartReporting(t, w, "linux-interface")
		_, await := follow(t, a)
		inside := w.Make(t, "ns1")
		w.Make(t, "ns2")
		must(t, a.Apply(veth("one", "two", "ns1"), veth("two", "one", "")))
		await("UPDOWN one h-one VETH UP/UP 1500")

		must(t, inside.SetUp(t.Context(), expectLink(t, inside, "h-one").Index, false)) // by another process
		await("UPDOWN one h-one VETH DOWN/DOWN 1500")
		must(t, inside.SetMTU(t.Context(), expectLink(t, inside, "h-one").Index, 1400))
		await("UPDOWN one h-one VETH DOWN/DOWN 1400")
		must(t, inside.SetUp(t.Context(), expectLink(t, inside, "h-one").Index, true))
		await("UPDOWN one h-one VETH UP/UP 1400")
		if w.Sim != nil {
			w.Sim.Overflow("") // all is read again
		}

		one := veth("one", "two", "ns2") // moves
		must(t, a.Apply(one))
		await("UPDOWN one h-one VETH UP/UP 1500")
		must(t, w.Open(t, "ns2").SetUp(t.Context(), expectLink(t, w.Open(t, "ns2"), "h-one").Index, false))
		await("UPDOWN one h-one VETH DOWN/DOWN 1500")

		must(t, a.Delete(one, veth("two", "one", "")))
		await("UPDOWN one h-one VETH DELETED/DELETED 1500")
		a.Quiet("nothing is left", func() bool { return len(a.Interfaces.States().List()) == 0 })
	})
}

// A namespace that its owner removes ends although interfaces in it are followed,
// and they are reported as deleted. The one that takes its place is followed as well.
func TestStatesOfNamespaceThatEnds(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		_, await := follow(t, a)
		must(t, w.Create(w.Path("ns1")))
		one := veth("one", "two", "")
		one.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_FD, Reference: w.Path("ns1")} // which the agent does not make
		items := []proto.Message{one, veth("two", "one", "")}
		must(t, a.Apply(items...))
		await("UPDOWN one h-one VETH UP/UP 1500")
		w.Remove(t, "ns1")
		await("UPDOWN one h-one VETH DELETED/DELETED 1500")
		nltest.Poll(t, "the pair went with the namespace", func() bool {
			_, err := own.LinkByName(t.Context(), "h-two")
			return errors.Is(err, netlinkapi.ErrNotFound)
		})
		must(t, w.Create(w.Path("ns1")))
		must(t, a.Resync(items...))
		await("UPDOWN one h-one VETH UP/UP 1500")
		must(t, a.Delete(items...))
		await("UPDOWN one h-one VETH DELETED/DELETED 1500")
	})
}

// The agent listens for changes in other namespaces only while its configuration
// has interfaces there, and does not look into namespaces that it does not name.
func TestListensOnlyForNamespacesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	foreign := w.Make(t, "foreign")
	own := w.Open(t, "")
	if _, err := own.Number(t.Context(), foreign); err != nil { // the kernel reports changes in it to the agent's namespace
		t.Fatal(err)
	}
	a := linuxtest.Start(t, w)
	must(t, a.Apply(veth("x", "y", ""), veth("y", "x", "")))
	nltest.Poll(t, "the watch runs", func() bool { return w.Sim.Watchers("") == 1 })
	a.Quiet("both are up", func() bool { return len(a.Interfaces.States().List()) == 2 })
	if n := w.Sim.Listeners(""); n != 0 {
		t.Errorf("%d listeners for other namespaces, expected none", n)
	}

	must(t, a.Apply(veth("y", "x", "named")))
	nltest.Poll(t, "the agent listens", func() bool { return w.Sim.Listeners("") == 1 })
	named := w.Open(t, "named")
	theirs, ours := w.Sim.Opened(w.Path("foreign")), w.Sim.Opened(w.Path("named"))
	makeDevice(t, foreign, "theirs")
	makeDevice(t, named, "news")
	nltest.Poll(t, "the agent looks into its namespace", func() bool { return w.Sim.Opened(w.Path("named")) > ours })
	if n := w.Sim.Opened(w.Path("foreign")); n != theirs {
		t.Errorf("a namespace of others was opened %d times", n-theirs)
	}
	must(t, a.Apply(veth("y", "x", "")))
	nltest.Poll(t, "the agent no longer listens", func() bool { return w.Sim.Listeners("") == 0 })
}

// A change of state is reported with the counters of that moment. A change of counters alone is not.
func TestStatesHaveCounters(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	a := linuxtest.StartReporting(t, w, "linux-interface")
	var mu sync.Mutex
	var last *interfaces.InterfaceState // of x
	reports := 0
	defer a.Interfaces.States().Watch(func(n *interfaces.InterfaceNotification) {
		mu.Lock()
		defer mu.Unlock()
		if n.GetState().GetName() == "x" {
			last, reports = n.GetState(), reports+1
		}
	})()
	await := func(what string, is func(s *interfaces.InterfaceState) bool) (counters *interfaces.InterfaceState_Statistics, number int) {
		t.Helper()
		nltest.Poll(t, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			counters, number = last.GetStatistics(), reports
			return last != nil && is(last)
		})
		return counters, number
	}
	must(t, a.Apply(veth("x", "y", "", "10.1.0.1/24"), veth("y", "x", "left", "10.1.0.2/24")))
	_, before := await("x is up", func(s *interfaces.InterfaceState) bool { return s.GetOperStatus() == interfaces.InterfaceState_UP })
	exchange(t, w, "own", "left", "10.1.0.2")
	own := w.Open(t, "")
	makeDevice(t, own, "other")                                             // so that x is read again
	must(t, own.SetMTU(t.Context(), expectLink(t, own, "h-x").Index, 1400)) // by another process
	counters, now := await("the MTU is reported", func(s *interfaces.InterfaceState) bool { return s.GetMtu() == 1400 })
	if counters.GetInPackets() == 0 || counters.GetOutBytes() <= counters.GetOutPackets() {
		t.Errorf("counters are %v after an exchange of packets", counters)
	}
	if now != before+1 {
		t.Errorf("%d reports of x for one change", now-before)
	}
}
