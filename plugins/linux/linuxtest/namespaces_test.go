package linuxtest_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

var (
	simNamespaces  = flag.Int("sim-namespaces", 2000, "network namespaces to create and delete on the simulator")
	realNamespaces = flag.Int("real-namespaces", 100, "network namespaces to create and delete on the kernel")
)

// atOnce is how many namespaces there are at the same time.
const atOnce = 50

// Network namespaces come and go: every other one is deleted while it is in use. No handle, thread
// or goroutine is left of them.
func TestNamespacesComeAndGo(t *testing.T) { // not parallel: it counts what the process has
	t.Run("sim", func(t *testing.T) { comeAndGo(t, nltest.Sim(), *simNamespaces) })
	t.Run("kernel", func(t *testing.T) { comeAndGo(t, nltest.Kernel(t), *realNamespaces) })
}

func comeAndGo(t *testing.T, w *nltest.World, n int) {
	a := linuxtest.StartQuiet(t, w)
	round := func(i int) {
		var values []proto.Message
		names := make([]string, atOnce)
		for j := range names {
			names[j] = fmt.Sprintf("ns%d-%d", i, j)
			values = append(values, inNamespace(names[j])...)
		}
		if err := a.Apply(values...); err != nil {
			t.Fatal(err)
		}
		a.Quiet("the values are configured", func() bool { // which may have to wait for a resync
			return !slices.ContainsFunc(values, func(v proto.Message) bool {
				return a.State(linuxtest.Key(t, v)).GetState() != kvscheduler.ValueState_CONFIGURED
			})
		})
		for j, name := range names {
			if j%2 == 1 {
				w.Remove(t, name)
			}
		}
		if err := a.Delete(values...); err != nil {
			t.Fatal(err)
		}
		removeAll(t, w, names)
	}
	if err := a.Apply(&interfaces.Interface{Name: "lo", Type: interfaces.Interface_LOOPBACK, Enabled: true}); err != nil {
		t.Fatal(err)
	}
	a.Quiet("the agent follows its own namespace", func() bool { return len(a.Interfaces.States().List()) == 1 })
	before := count(t)
	for i := range n / atOnce {
		round(i)
	}
	var now resources
	nltest.Poll(t, fmt.Sprintf("the process has what it had before, %+v", before), func() bool {
		now = count(t)
		return now.files <= before.files && now.threads <= before.threads+spareThreads && now.goroutines <= before.goroutines
	})
	t.Logf("after %d namespaces: %+v, before: %+v", n, now, before)
}

// inNamespace are values in a namespace.
func inNamespace(name string) []proto.Message {
	ns := &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: name}
	return []proto.Message{
		&interfaces.Interface{Name: "lo-" + name, Type: interfaces.Interface_LOOPBACK, Namespace: ns, Enabled: true, IpAddresses: []string{"10.0.0.1/32"}},
		&l3.Route{OutgoingInterface: "lo-" + name, DstNetwork: "10.1.0.0/16", Scope: l3.Route_LINK},
		&l3.Rule{Name: "rule-" + name, Namespace: ns, Priority: 100, Table: 77},
	}
}

// removeAll removes the namespaces that exist. The agent may make one again that was removed
// while it was in use.
func removeAll(t *testing.T, w *nltest.World, names []string) {
	t.Helper()
	named, err := w.Named(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, name := range named {
		exists[name] = true
	}
	for _, name := range names {
		if exists[name] {
			w.Remove(t, name)
		}
	}
}

// resources are what the process has.
type resources struct{ files, threads, goroutines int }

// spareThreads are threads that the runtime keeps for later.
const spareThreads = 8

func count(t *testing.T) resources {
	t.Helper()
	entries := func(dir string) int {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	return resources{entries("/proc/self/fd"), entries("/proc/self/task"), runtime.NumGoroutine()}
}
