package linuxtest_test

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/walktest"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
)

var (
	walks     = flag.Int("walks", 4, "random walks over configurations of the test that states do not depend on history")
	realWalks = flag.Int("real-walks", 0, "those on the kernel")
	walkSteps = flag.Int("walk-steps", 8, "configurations of a walk")
	walkSeed  = flag.Uint64("walk-seed", 1, "seed of the first walk")
)

// TestWalks: after any sequence of configurations, each replacing the one before it, Linux has the
// same state as a fresh one that gets only the last. The agent is restarted at random steps.
func TestWalks(t *testing.T) {
	t.Run("sim", func(t *testing.T) {
		t.Parallel()
		walk(t, *walks, false, func(testing.TB) *nltest.World { return nltest.Sim() })
	})
	t.Run("kernel", func(t *testing.T) {
		s := &scope{TB: t}
		nltest.Kernel(s) // skips
		s.end()
		if *realWalks == 0 {
			t.Skip("NOT CHECKED ON THE KERNEL: run make walks, or this test with -real-walks")
		}
		walk(t, *realWalks, true, nltest.Kernel)
	})
}

// settleTime is how long the kernel may take for what it does after a change, and the agent for its repair.
const settleTime = 3 * time.Second

func walk(t *testing.T, count int, real bool, newWorld func(testing.TB) *nltest.World) {
	walktest.Walks{
		Count: count, Steps: *walkSteps, Seed: *walkSeed, Settle: settleTime,
		Generate: func(seed uint64) func() walktest.Step { return newWalker(t, seed, real).next },
		Start:    func() walktest.World { return startWalk(t, newWorld) },
	}.Run(t)
}

// scope is a test whose cleanups run at end.
type scope struct {
	testing.TB
	cleanups []func()
}

// Cleanup implements testing.TB.
func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// TempDir implements testing.TB.
func (s *scope) TempDir() string {
	dir, err := os.MkdirTemp("", "walk-")
	must(s, err)
	s.Cleanup(func() { must(s, os.RemoveAll(dir)) })
	return dir
}

func (s *scope) end() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
	s.cleanups = nil
}

// walked is an agent and its Linux.
type walked struct {
	*scope
	*linuxtest.Agent
	linux    *nltest.World
	stateDir string
	last     walktest.Values
}

// The objects of other programs, in the namespace of the agent and in "left".
const (
	existingLinks = 3
	taps          = 2
)

func startWalk(t *testing.T, newWorld func(testing.TB) *nltest.World) walktest.World {
	s := &scope{TB: t}
	w := &walked{scope: s, linux: newWorld(s), stateDir: s.TempDir()}
	own, left := w.linux.Open(s, ""), w.linux.Make(s, "left")
	if w.linux.Sim == nil {
		for _, ns := range []string{"own", "left"} { // checks of addresses take a second
			w.linux.WriteSysctl(s, ns, "0", "net", "ipv6", "conf", "default", "accept_dad")
		}
	}
	for n := range existingLinks {
		name := existingName(n)
		must(s, own.AddVeth(t.Context(), name, name+"-peer"))
		for _, end := range []string{name, name + "-peer"} {
			l := nltest.MustLink(s, own, end)
			must(s, errors.Join(own.SetMAC(t.Context(), l.Index, foreignMAC(n, end == name)), own.SetMTU(t.Context(), l.Index, 1450+n), own.SetUp(t.Context(), l.Index, true)))
		}
	}
	must(s, own.SetSysctl(t.Context(), existingName(0), "ipv4.rp_filter", 1))
	must(s, left.SetUp(t.Context(), nltest.MustLink(s, left, "lo").Index, true))
	for n := range taps {
		w.linux.MakeTap(s, hostTAP(n))
	}
	w.start()
	return w
}

func existingName(n int) string { return fmt.Sprintf("eth%d", n) }
func hostTAP(n int) string      { return fmt.Sprintf("vpp-tap%d", n) }

func foreignMAC(n int, first bool) net.HardwareAddr {
	mac := net.HardwareAddr{2, 0, 0, 0, 0xf0, byte(n)}
	if first {
		mac[4]++
	}
	return mac
}

// start starts the agent, and announces the TAPs of VPP.
func (w *walked) start() {
	known := linuxtest.TAPs{}
	for n := range taps {
		known[tapName(n)] = hostTAP(n)
	}
	w.Agent = linuxtest.StartQuietIn(w.scope, w.linux, w.stateDir, known)
	must(w, w.RegisterKVDescriptor(api.Adapt(&api.Descriptor[*emptypb.Empty, any]{
		Name: "vpp-interface", KeySelector: vppifmodel.InterfaceModel.Matches,
	})))
	for tap := range known {
		must(w, w.PushSBNotification(api.KVWithMetadata{Key: vppifmodel.InterfaceModel.KeyFor(tap), Value: &emptypb.Empty{}, Origin: api.FromSB}))
	}
	w.TransactionBarrier()
}

// Apply implements walktest.World.
func (w *walked) Apply(step walktest.Step) {
	if step.Restart {
		w.Stop()
		w.start()
	}
	txn := w.StartNBTransaction()
	for key, v := range step.Values {
		if !step.Changes || step.Restart || w.last == nil || !proto.Equal(v, w.last[key]) {
			txn.SetValue(key, v)
		}
	}
	opts := []api.TxnOption{api.WithRetry(api.RetryOpts{Period: settleTime / 10, MaxCount: 5})} // a bridge gets its carrier late
	if step.Changes && !step.Restart && w.last != nil {
		for key := range w.last {
			if step.Values[key] == nil {
				txn.SetValue(key, nil)
			}
		}
	} else {
		opts = append(opts, api.WithResync(api.FullResync, false))
	}
	_, _ = txn.Commit(w.Context(), opts...) // refused items stay failed
	w.last = step.Values
	w.TransactionBarrier()
}

// End implements walktest.World.
func (w *walked) End() {
	w.Stop()
	w.end()
}
