package ifplugin_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Every operation fails once, before or after it had its effect; a resync
// mends it, and nothing is left behind in the end.
func TestEveryOperationFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, op := range []string{
		"Open", "Create", "Links", "LinkByName", "AddVeth", "AddLink", "SetAlias", "Rename", "Move",
		"SetUp", "SetMaster", "Addresses", "AddAddress", "DeleteLink", "DeleteAddress",
	} {
		for nth := range 4 {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s,%d,after=%t", op, nth, after), func(t *testing.T) {
					t.Parallel()
					testFailure(t, op, nth, after, boom)
				})
			}
		}
	}
}

func testFailure(t *testing.T, op string, nth int, after bool, boom error) {
	w := nltest.Sim()
	before := w.Sim.String()
	a := linuxtest.Start(t, w)
	w.Sim.Skip(op, nth)
	fail := w.Sim.Fail
	if after {
		fail = w.Sim.FailAfter
	}
	fail(op, boom, 1)
	_ = a.Apply(items()...) // may fail or not, depending on what does
	w.Sim.Heal()
	must(t, a.Resync(items()...))
	a.Expect(configured, items()...)
	unchanged(t, a, items()...)
	w.Sim.Skip(op, nth)
	fail(op, boom, 1)
	_ = a.Delete(items()...)
	w.Sim.Heal()
	must(t, a.Resync())
	w.Sim.RemoveNamespace(w.Path("left"))
	if got := w.Sim.String(); got != before {
		t.Errorf("left behind:\n%s", got)
	}
}

// A namespace that is deleted under us takes its links along. What was in it
// returns in a new one; and what is no longer desired is deleted without
// an error.
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	t.Run("kernel", func(t *testing.T) {
		t.Parallel()
		w := nltest.Kernel(t)
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", "", "10.1.0.1/24"), veth("y", "x", "left", "10.1.0.2/24")
		must(t, a.Apply(x, y))
		own := w.Open(t, "")
		index := expectLink(t, own, "h-x").Index
		w.Remove(t, "left")
		a.Quiet("the pair is made again", func() bool {
			l, err := own.LinkByName(t.Context(), "h-x")
			return err == nil && l.Index != index && l.Up
		})
		a.Quiet("everything is configured again", func() bool {
			return a.State(linuxtest.Key(t, x)).GetState() == configured && a.State(linuxtest.Key(t, y)).GetState() == configured
		})
		left := w.Open(t, "left")
		a.Quiet("the address is assigned again", func() bool { return hasAddress(t, left, "h-y", "10.1.0.2/24") })
	})
	t.Run("sim", func(t *testing.T) {
		t.Parallel()
		w := nltest.Sim()
		a := linuxtest.Start(t, w)
		must(t, a.Apply(items()...))
		w.Sim.RemoveNamespace(w.Path("left"))
		if err := a.Delete(items()...); err != nil {
			t.Errorf("deleting what is gone already: %v", err)
		}
		expectLinks(t, w.Open(t, ""))
	})
}

// A process or a file that is gone cannot be made again: the value fails, says
// so, and leaves no half of the pair.
func TestNamespaceCannotBeMade(t *testing.T) {
	t.Parallel()
	for _, ref := range []*namespace.NetNamespace{
		{Type: namespace.NetNamespace_PID, Reference: "2147483646"},
		{Type: namespace.NetNamespace_FD, Reference: "/nonexistent/file"},
	} {
		nltest.Run(t, func(t *testing.T, w *nltest.World) {
			a := linuxtest.Start(t, w)
			x, y := veth("x", "y", ""), veth("y", "x", "")
			y.Namespace = ref
			text := linuxtest.ErrorText(a.Apply(x, y))
			if !strings.Contains(text, netlinkapi.ErrNamespaceGone.Error()) || !strings.Contains(text, ref.Reference) {
				t.Errorf("error is %q, expected that the namespace does not exist", text)
			}
			_ = a.Delete(x, y)
			expectLinks(t, w.Open(t, ""))
		})
	}
}

// The namespace of a process, and of a file.
func TestNamespaceByProcess(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	a := linuxtest.Start(t, w)
	w.Make(t, "file")
	x, y := veth("x", "y", ""), veth("y", "x", "")
	x.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_FD, Reference: w.Path("file")}
	y.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_PID, Reference: fmt.Sprint(os.Getpid())}
	y.Name, y.HostIfName = fmt.Sprintf("y%d", os.Getpid()), fmt.Sprintf("tnt-y%d", os.Getpid())
	x.GetVeth().PeerIfName = y.Name
	must(t, a.Apply(x, y))
	a.Expect(configured, x, y)
	unchanged(t, a, x, y)
	expectLinks(t, w.Open(t, "file"), "h-x")
	must(t, a.Delete(x, y))
	expectLinks(t, w.Open(t, "file"))
}

// A value waits for a container that is unknown.
func TestMicroserviceIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	a := linuxtest.Start(t, w)
	x, y := veth("x", "y", ""), veth("y", "x", "")
	y.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_MICROSERVICE, Reference: "web"}
	must(t, a.Apply(x, y))
	a.Expect(pending, x, y)
	if deps := a.State(linuxtest.Key(t, y)).GetDetails(); !strings.Contains(strings.Join(deps, " "), "microservice-available") {
		t.Errorf("details are %q, expected the missing dependency", deps)
	}
}

// Without privileges the values say what is missing.
func TestNoPrivileges(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	w.Sim.DropPrivileges()
	a := linuxtest.Start(t, w)
	x, y := veth("x", "y", ""), veth("y", "x", "")
	text := linuxtest.ErrorText(a.Apply(x, y))
	if !strings.Contains(text, "needs CAP_NET_ADMIN") {
		t.Errorf("error is %q, expected the missing capability", text)
	}
	a.Expect(failed, x)
}

// TestLoopbackRestored: after its item was deleted, also by the next agent, the loopback is up or
// down, and has the MTU, as before.
func TestLoopbackRestored(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		must(t, w.Create(w.Path("left")))
		left := w.Open(t, "left")
		for _, up := range []bool{false, true} {
			before := nltest.MustLink(t, left, "lo")
			must(t, errors.Join(left.SetUp(t.Context(), before.Index, up), left.SetMTU(t.Context(), before.Index, 1500)))
			lo := &interfaces.Interface{Name: "lo1", Type: interfaces.Interface_LOOPBACK, Namespace: named("left"), Enabled: true, Mtu: 9000}
			stateDir := t.TempDir()
			a := linuxtest.StartIn(t, w, stateDir)
			must(t, a.Apply(lo))
			if l := nltest.MustLink(t, left, "lo"); !l.Up || l.MTU != 9000 {
				t.Errorf("lo is %+v, expected up, with MTU 9000", l)
			}
			lo.Enabled = !up
			must(t, a.Apply(lo))
			a.Stop()
			a = linuxtest.StartIn(t, w, stateDir)
			unchanged(t, a, lo)
			must(t, a.Delete(lo))
			a.Stop()
			if l := nltest.MustLink(t, left, "lo"); l.Up != up || l.MTU != 1500 || l.Alias != "" {
				t.Errorf("lo is %+v, expected up=%v, with MTU 1500, without alias", l, up)
			}
		}
	})
}

// There is one loopback in a namespace.
func TestTwoLoopbacks(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		one := &interfaces.Interface{Name: "one", Type: interfaces.Interface_LOOPBACK, Namespace: named("left"), Enabled: true,
			IpAddresses: []string{"10.3.0.1/32"}}
		two := proto.CloneOf(one)
		two.Name, two.IpAddresses = "two", nil
		must(t, a.Apply(one))
		left := w.Open(t, "left")
		if l := expectLink(t, left, "lo"); !l.Up || !hasAddress(t, left, "lo", "10.3.0.1/32") || !hasAddress(t, left, "lo", "127.0.0.1/8") {
			t.Errorf("lo is %+v, expected up, with both addresses", l)
		}
		unchanged(t, a, one)
		if !hasAddress(t, left, "lo", "127.0.0.1/8") {
			t.Error("a resync took the address of the loopback away")
		}
		err := a.Apply(two)
		if !errors.Is(err, descriptor.ErrLoopbackAlreadyConfigured) {
			t.Errorf("error is %v", err)
		}
		a.Expect(failed, two)
		must(t, a.Delete(two, one))
		if hasAddress(t, left, "lo", "10.3.0.1/32") {
			t.Error("the address was not removed")
		}
	})
}
