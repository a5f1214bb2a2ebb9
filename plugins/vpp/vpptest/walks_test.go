package vpptest_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/walktest"
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
	walktest.Walks{
		Count: count, Steps: *walkSteps, Seed: *walkSeed, Settle: 3 * time.Second,
		Generate: func(seed uint64) func() walktest.Step {
			w, first := newWalker(seed, real, seed%2 == 1), true
			return func() walktest.Step {
				step := walktest.Step{Values: w.next(), Restart: w.restarts && !first}
				first = false
				return step
			}
		},
		Start: func() walktest.World { return startWalk(t, real) },
	}.Run(t)
}

// walk is an agent and its VPP.
type walk struct {
	*vpptest.Harness
	target vpptest.Target
	t      *testing.T
	dir    string // the state-dir
	empty  bool   // restarts of the agent restart the simulator, too, which loses its state
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

// End implements walktest.World.
func (w *walk) End() {
	w.Stop()
	if w.target.Real != nil {
		w.target.Real.Kill()
	}
}

// Apply implements walktest.World. Items that VPP refuses stay failed.
func (w *walk) Apply(step walktest.Step) {
	if step.Restart {
		w.restart(w.empty)
	}
	w.apply(step.Values)
}

// apply makes a configuration the only one.
func (w *walk) apply(step values) {
	txn := w.Scheduler.StartNBTransaction()
	for key, v := range step {
		txn.SetValue(key, v)
	}
	_, _ = txn.Commit(w.t.Context(), kvs.WithResync(kvs.FullResync, false))
	w.Scheduler.TransactionBarrier()
}

// ListValueStatus implements walktest.World.
func (w *walk) ListValueStatus(keyPrefix string) []*kvs.BaseValueStatus {
	return w.Scheduler.ListValueStatus(keyPrefix)
}

// unreported are the beginnings of the names of items with settings that VPP does not report.
var unreported = []string{
	"vpp.bfd.", "vpp.classify.", "vpp.cnat.", "vpp.dns.", "vpp.lldp.", "vpp.nat64.", "vpp.nat66.", "vpp.policer.interface", "vpp.reassembly.",
	"vpp.srv6.localsid", "vpp.svs.", "vpp.urpf.",
}

// The agent knows settings that VPP does not report from the state-dir, also if the item changed, or
// is gone, when the agent starts again, and what it no longer sees when the item is removed later.
func TestChangedWhileStopped(t *testing.T) {
	for _, i := range catalogue.All() {
		if !*stoppedAll && !slices.ContainsFunc(unreported, func(prefix string) bool { return strings.HasPrefix(i.Name, prefix) }) {
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			steps := []walktest.Step{{Values: with(i, i.Make())}}
			for _, change := range slices.Concat(i.Updates, i.Recreates) {
				steps = append(steps, walktest.Step{Values: with(i, i.Changed(change)), Restart: true})
			}
			steps = append(steps, walktest.Step{Values: i.Needed(), Restart: true},
				walktest.Step{Values: with(i, i.Make())}, walktest.Step{Values: with(i, i.Make()), Restart: true}, walktest.Step{Values: i.Needed()})
			for _, empty := range []bool{false, true} {
				walks := walktest.Walks{Start: func() walktest.World {
					w := startWalk(t, false)
					w.empty = empty
					return w
				}}
				if text := walks.Diverges(steps); text != "" {
					t.Errorf("VPP restarted, too: %t:\n%s", empty, text)
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
			defer w.End()
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
