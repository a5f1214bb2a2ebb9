package linuxtest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

// realStride keeps the default run short: a step takes up to a second on the kernel.
var realStride = flag.Int("real-stride", 5, "delete the namespace at every n-th step on the kernel; on the simulator it is every step")

// killer is a kernel that calls a function before the n-th request.
type killer struct {
	netlinkapi.Namespaces

	mu   sync.Mutex // locked while kill runs: no request is made meanwhile
	left int        // requests before the call
	kill func()     // nil: it has been called
}

// arm makes the killer call kill before request n, counted from 0.
func (k *killer) arm(n int, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.kill = n, kill
}

// disarm reports whether the function was called.
func (k *killer) disarm() (called bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	called, k.kill = k.kill == nil, nil
	return called
}

// step is called before each request.
func (k *killer) step() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left--; k.left < 0 && k.kill != nil {
		k.kill()
		k.kill = nil
	}
}

// Open implements netlinkapi.Namespaces.
func (k *killer) Open(path string, gate netlinkapi.Gate) (netlinkapi.Handle, error) {
	k.step()
	allow := gate.Allow
	gate.Check = func(ctx context.Context) error {
		err := allow(ctx)
		if err == nil {
			k.step()
		}
		return err
	}
	return k.Namespaces.Open(path, gate)
}

// Forget closes handles that are not in use, which keep a namespace alive.
func (k *killer) Forget() { k.Namespaces.(interface{ Forget() }).Forget() }

// dying are items in a namespace, some with an end outside.
func dying(ns *namespace.NetNamespace) []proto.Message {
	veth := func(name, peer string, ns *namespace.NetNamespace, addrs ...string) *interfaces.Interface {
		return &interfaces.Interface{Name: name, Type: interfaces.Interface_VETH, Namespace: ns, Enabled: true, IpAddresses: addrs,
			Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: peer}}}
	}
	port := veth("port", "end", ns)
	port.MasterInterface = "br"
	inside := veth("in", "out", ns, "10.1.0.2/24", "fd00:1::2/64")
	inside.Sysctls = []*interfaces.Sysctl{{Name: "ipv4.rp_filter", Value: 2}}
	return []proto.Message{
		veth("out", "in", nil, "10.1.0.1/24"), inside, port, veth("end", "port", ns),
		&interfaces.Interface{Name: "lo", Type: interfaces.Interface_LOOPBACK, Namespace: ns, Enabled: true, IpAddresses: []string{"10.0.0.1/32"}},
		&interfaces.Interface{Name: "br", Type: interfaces.Interface_BRIDGE, Namespace: ns, Enabled: true},
		&interfaces.Interface{Name: "vx", Type: interfaces.Interface_VXLAN, Namespace: ns, Enabled: true,
			Link: &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{Vni: 5, Remote: "10.1.0.1", ParentInterface: "in"}}},
		&l3.Route{OutgoingInterface: "in", DstNetwork: "10.2.0.0/16", GwAddr: "10.1.0.1", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "out", DstNetwork: "10.3.0.0/16", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL},
		&l3.ARPEntry{Interface: "in", IpAddress: "10.1.0.7", HwAddress: "02:00:00:00:00:07"},
		&l3.Rule{Name: "r", Namespace: ns, Priority: 100, Table: 77},
		&nftables.Table{Name: "t", Namespace: ns, TableName: "t", Content: "chain c {\n accept\n}"},
	}
}

// TestNamespaceKilledAtEveryStep: another process deletes the namespace before each request to the
// kernel of a transaction. If the transaction creates items, a named namespace is made again with
// all of them, and one of another process has them when it exists again. If it deletes them, that
// is successful.
func TestNamespaceKilledAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	for name, newWorld := range worlds() {
		for _, ours := range []bool{true, false} {
			for _, down := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s,named=%t,delete=%t", name, ours, down), func(t *testing.T) {
					t.Parallel()
					steps, stride := 0, 1
					if name == "kernel" {
						stride = *realStride
					}
					for !t.Failed() {
						var killed bool
						t.Run(fmt.Sprint(steps), func(t *testing.T) { killed = testKilled(t, newWorld(t), steps, ours, down) })
						if !killed {
							break
						}
						steps += stride
					}
					if t.Logf("killed at every %d of %d steps", stride, steps); steps < 30 {
						t.Error("expected more steps")
					}
				})
			}
		}
	}
}

// kill deletes a namespace. The agent may make it again in the middle, which makes the file busy.
func kill(t *testing.T, w *nltest.World, name string) {
	t.Helper()
	if w.Sim != nil {
		w.Remove(t, name)
		return
	}
	nltest.Poll(t, "the namespace is deleted", func() bool {
		err := errors.Join(unix.Unmount(w.Path(name), unix.MNT_DETACH), os.Remove(w.Path(name)))
		return !errors.Is(err, unix.EBUSY)
	})
}

// testKilled returns false if the transaction had less requests.
func testKilled(t *testing.T, w *nltest.World, step int, ours, down bool) (killed bool) {
	k := &killer{Namespaces: w.Namespaces}
	ns := &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}
	if !ours {
		ns = &namespace.NetNamespace{Type: namespace.NetNamespace_FD, Reference: w.Path("left")}
	}
	must(t, w.Create(w.Path("left")))
	items := dying(ns)
	w.Namespaces = k
	a := linuxtest.StartQuiet(t, w)
	if down {
		must(t, a.Apply(items...))
		awaitConfigured(t, a, items)
	}
	k.arm(step, func() { kill(t, w, "left") })
	if down {
		if err := a.Delete(items...); err != nil {
			t.Errorf("delete: %v", err)
		}
		killed = k.disarm()
	} else {
		_ = a.Apply(items...) // may fail, or not
		if killed = k.disarm(); killed && !ours {
			must(t, w.Create(w.Path("left")))
		}
		_ = a.Resync(items...) // may notice the deletion only now
		awaitConfigured(t, a, items)
		must(t, a.Resync(items...))
		if ops := a.Executed(); len(ops) != 0 {
			t.Errorf("a resync without changes did %v", ops)
		}
		must(t, a.Delete(items...))
	}
	for _, v := range items {
		a.ExpectKey(kvscheduler.ValueState_NONEXISTENT, linuxtest.Key(t, v))
	}
	nltest.Poll(t, "the other ends no longer exist", func() bool {
		links, err := w.Open(t, "").Links(t.Context())
		must(t, err)
		return len(links) == 1
	})
	return killed
}
