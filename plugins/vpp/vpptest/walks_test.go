package vpptest_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

var (
	walks      = flag.Int("walks", 10, "random walks over configurations of the test that states do not depend on history")
	realWalks  = flag.Int("real-walks", 1, "those on a real VPP")
	walkSteps  = flag.Int("walk-steps", 10, "configurations of a walk")
	stoppedAll = flag.Bool("stopped-all", false, "TestChangedWhileStopped: all items, not only items with settings that VPP does not report")
	walkSeed   = flag.Uint64("walk-seed", 1, "seed of the first walk")
)

// After any sequence of configurations, each replacing the one before it, VPP has the same state
// as a fresh one that gets only the last. Every second walk restarts the agent before each step.
func TestWalks(t *testing.T) {
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		walkAll(t, *walks, false)
	})
	t.Run("real", func(t *testing.T) {
		vpptest.Real(t) // skips
		walkAll(t, *realWalks, true)
	})
}

func walkAll(t *testing.T, count int, real bool) {
	tried, items, different := 0, 0, 0
	for n := range count {
		seed := *walkSeed + uint64(n)
		kind := walkKind{real: real, restarts: seed%2 == 1}
		w := newWalker(seed, kind)
		steps := make([]values, *walkSteps)
		for s := range steps {
			steps[s] = w.next()
			items += len(steps[s])
		}
		at, diff := kind.diverges(t, steps)
		if diff == "" {
			tried += len(steps)
			continue
		}
		tried += at + 1
		different++
		t.Errorf("walk %d, step %d of %d: the state depends on history\n%s", seed, at+1, len(steps), diff)
		if different == 1 {
			if short, diff := kind.shrink(t, steps[:at+1], diff); diff != "" {
				t.Errorf("the shortest walk with it:\n%s%s", describeSteps(short), diff)
			}
		}
	}
	t.Logf("%d walks, %d of them with differences; %d configurations, %d items", count, different, tried, items)
}

// walkKind is the same for all steps of a walk.
type walkKind struct {
	real     bool // on a real VPP, without what it cannot have on this machine
	restarts bool // the agent restarts before each step, with its state-dir
	empty    bool // and meanwhile the simulator, which loses its state
}

// diverges walks over the configurations and returns the first one after which the state
// differs from a fresh one, and the difference.
func (k walkKind) diverges(t *testing.T, steps []values) (at int, diff string) {
	walked := startWalk(t, k.real)
	defer func() { walked.end() }()
	for n, step := range steps {
		if k.restarts && n > 0 {
			walked.restart(k.empty)
		}
		walked.apply(step)
		fresh := startWalk(t, k.real)
		fresh.apply(step)
		diff := onlyIn(walked.state(), fresh.state())
		fresh.end()
		if diff != "" {
			return n, diff
		}
	}
	return 0, ""
}

// onlyIn returns the lines that two states do not have in common.
func onlyIn(walked, fresh []string) string {
	count := map[string]int{}
	for _, line := range walked {
		count[line]++
	}
	for _, line := range fresh {
		count[line]--
	}
	var lines []string
	for line, n := range count {
		switch {
		case n > 0:
			lines = append(lines, line+"\n  only after the walk\n")
		case n < 0:
			lines = append(lines, line+"\n  only in the fresh VPP\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// walk is an agent and its VPP.
type walk struct {
	*vpptest.Harness
	target vpptest.Target
	t      *testing.T
	dir    string // the state-dir
}

func startWalk(t *testing.T, real bool) *walk {
	var target vpptest.Target
	if real {
		target = vpptest.Real(t)
	} else {
		target = vpptest.Simulator(t, simOptions())
	}
	w := &walk{target: target, t: t, dir: t.TempDir()}
	w.start()
	w.plugIn()
	return w
}

// plugIn gives VPP its devices.
func (w *walk) plugIn() {
	for n := range poolSize {
		w.CLI("create packet-generator interface " + device(n).Name)
	}
}

// restart starts the agent again. empty: the simulator, too, while there is no agent.
func (w *walk) restart(empty bool) {
	w.Stop()
	if !empty {
		w.start()
		return
	}
	if err := w.target.Sim.Restart(); err != nil {
		w.t.Fatal(err)
	}
	w.start()
	w.plugIn()
}

// start starts an agent.
func (w *walk) start() {
	w.Harness = vpptest.Start(w.t, w.target, vpptest.Quiet(), vpptest.Labelled("walk"), vpptest.StateDir(w.dir))
	announceHosts(w.t, w.Harness)
	for n := range poolSize {
		w.SetHostInterface(fmt.Sprintf("walk%d", n), true)
	}
}

// end ends the agent and VPP.
func (w *walk) end() {
	w.Stop()
	if w.target.Real != nil {
		w.target.Real.Kill()
	}
}

// apply makes a configuration the only one. Items that VPP refuses stay failed.
func (w *walk) apply(step values) {
	txn := w.Scheduler.StartNBTransaction()
	for key, v := range step {
		txn.SetValue(key, v)
	}
	_, _ = txn.Commit(w.t.Context(), kvs.WithResync(kvs.FullResync, false))
	w.Scheduler.TransactionBarrier()
}

// shrink removes steps and items as long as the state still differs.
func (k walkKind) shrink(t *testing.T, steps []values, diff string) ([]values, string) {
	smaller := func(s []values) bool {
		at, d := k.diverges(t, s)
		if d != "" && at == len(s)-1 {
			steps, diff = s, d
			return true
		}
		return false
	}
	for n := 0; n < len(steps)-1; {
		if !smaller(slices.Delete(slices.Clone(steps), n, n+1)) {
			n++
		}
	}
	for n := range steps {
		keys := slices.Sorted(maps.Keys(steps[n]))
		for size := (len(keys) + 1) / 2; size > 0; size /= 2 {
			for chunk := range slices.Chunk(slices.Clone(keys), size) {
				without := maps.Clone(steps[n])
				for _, key := range chunk {
					delete(without, key)
				}
				s := slices.Clone(steps)
				s[n] = without
				if smaller(s) {
					keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(chunk, key) })
				}
			}
		}
	}
	return steps, diff
}

func describeSteps(steps []values) string {
	var b strings.Builder
	for n, step := range steps {
		fmt.Fprintf(&b, "step %d\n", n+1)
		for _, key := range slices.Sorted(maps.Keys(step)) {
			fmt.Fprintf(&b, "  %s %s\n", key, text(step[key]))
		}
	}
	return b.String()
}

// unreported are the beginnings of the names of items with settings that VPP does not report.
var unreported = []string{
	"vpp.bfd.", "vpp.classify.", "vpp.cnat.", "vpp.dns.", "vpp.lldp.", "vpp.nat64.", "vpp.nat66.", "vpp.policer.interface", "vpp.reassembly.",
	"vpp.srv6.localsid", "vpp.svs.", "vpp.urpf.",
}

// The agent knows settings that VPP does not report from the state-dir, also if the item changed, or
// is gone, when the agent starts again.
func TestChangedWhileStopped(t *testing.T) {
	for _, i := range catalogue.All() {
		if !*stoppedAll && !slices.ContainsFunc(unreported, func(prefix string) bool { return strings.HasPrefix(i.Name, prefix) }) {
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			steps := []values{with(i, i.Make())}
			for _, change := range slices.Concat(i.Updates, i.Recreates) {
				steps = append(steps, with(i, i.Changed(change)))
			}
			steps = append(steps, i.Needed())
			for _, empty := range []bool{false, true} {
				if at, diff := (walkKind{restarts: true, empty: empty}).diverges(t, steps); diff != "" {
					t.Errorf("step %d (VPP restarted, too: %t):\n%s%s", at+1, empty, describeSteps(steps[:at+1]), diff)
				}
			}
		})
	}
}

// with returns an item with what it needs.
func with(i catalogue.Item, m proto.Message) values {
	out := values(i.Needed())
	out[catalogue.Key(m)] = m
	return out
}

// An item that is gone when the agent starts again does not fail because VPP has been restarted
// without the plugin for it.
func TestRemovedWithPlugin(t *testing.T) {
	for name, message := range map[string]string{
		"vpp.lldp.interface": "sw_interface_set_lldp", "vpp.nat64.global": "nat64_plugin_enable_disable", "vpp.nat66.global": "nat66_plugin_enable_disable",
		"vpp.cnat.interface": "cnat_snat_policy_add_del_if",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := catalogue.All()[slices.IndexFunc(catalogue.All(), func(i catalogue.Item) bool { return i.Name == name })]
			w := startWalk(t, false)
			defer func() { w.end() }()
			w.apply(with(i, i.Make()))
			w.Want(states{i.Key(): configured})
			w.Stop()
			if err := w.target.Sim.Restart(); err != nil {
				t.Fatal(err)
			}
			forget(t, w.target, message)
			w.start()
			w.apply(values{})
			for _, v := range w.Scheduler.ListValueStatus("") {
				if s := v.GetValue(); s.GetState() == failed {
					t.Errorf("%s is FAILED: %s", s.GetKey(), s.GetError())
				}
			}
		})
	}
}
