package rollout_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
)

// engine is a store as the protocol needs it: each key has a version, writes are conditional.
type engine struct {
	rollout     rollout.Rollout
	versions    map[string]int // of the rollout ("") and of the assignments
	assignments map[string]rollout.Assignment
	reports     map[string]rollout.Report
	decisions   map[int]rollout.Decision
	writes      map[string]int // that were done, by agent
}

func (e *engine) clone() *engine {
	return &engine{
		rollout: e.rollout, versions: maps.Clone(e.versions), assignments: maps.Clone(e.assignments),
		reports: maps.Clone(e.reports), decisions: maps.Clone(e.decisions),
	}
}

// do does a write if what it replaces is as in the snapshot.
func (e *engine) do(w rollout.Write, snapshot *engine) bool {
	switch {
	case w.Status != nil:
		if e.versions[""] != snapshot.versions[""] {
			return false
		}
		e.rollout.Status = *w.Status
		e.versions[""]++
	case w.Assignment != nil:
		if e.versions[w.Agent] != snapshot.versions[w.Agent] {
			return false
		}
		e.assignments[w.Agent] = *w.Assignment
		e.versions[w.Agent]++
		e.writes[w.Agent]++
	default:
		e.decide(w.Wave, w.Decision)
	}
	return true
}

// decide creates a decision unless there is one, and returns the decision in force.
func (e *engine) decide(wave int, d rollout.Decision) rollout.Decision {
	if e.decisions[wave] == "" {
		e.decisions[wave] = d
	}
	return e.decisions[wave]
}

// node is an agent with what it controls.
type node struct {
	label string
	// on disk
	memory    rollout.Memory
	revision  int64 // in effect
	before    int64 // to revert to
	waiting   string
	appliedAt time.Duration
	timeout   time.Duration
	salt      int // of fingerprints: grows when another client changes the node
	// in memory
	running bool
	view    rollout.View
	cut     bool // from the engine, by the network
	sick    bool // a gate fails
	fragile bool // the new revision fails on it
	selfcut bool // the new revision cuts it off
	same    bool // the new revision has the same content as the old one
}

// world is a fleet with one rollout.
type world struct {
	t     testing.TB
	seed  uint64
	rand  *rand.Rand
	now   time.Duration
	e     *engine
	old   []*engine // that lagging readers may still see
	nodes map[string]*node
	log   []entry
}

// entry is a line of the history. It is formatted when a test has failed.
type entry struct {
	at     time.Duration
	format string
	args   []any
}

const (
	oldRevision = 1
	newRevision = 2
)

func newWorld(t testing.TB, seed uint64, spec rollout.Spec) *world {
	w := &world{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), nodes: map[string]*node{}, e: &engine{
		rollout:  rollout.Rollout{Metadata: fleet.Metadata{Name: "r"}, Spec: spec},
		versions: map[string]int{}, assignments: map[string]rollout.Assignment{}, reports: map[string]rollout.Report{},
		decisions: map[int]rollout.Decision{}, writes: map[string]int{},
	}}
	for _, wave := range spec.Waves {
		for _, label := range wave {
			w.nodes[label] = &node{label: label, running: true, revision: oldRevision, memory: rollout.Memory{Confirmed: oldRevision}}
		}
	}
	return w
}

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, entry{w.now, format, args})
}

// failf fails the test with the history.
func (w *world) failf(format string, args ...any) {
	w.t.Helper()
	for _, l := range w.log {
		w.t.Logf("%7s "+l.format, append([]any{l.at}, l.args...)...)
	}
	w.t.Fatalf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

func (w *world) labels() []string { return slices.Sorted(maps.Keys(w.nodes)) }

// connected reports whether a node reaches the engine.
func (n *node) connected() bool {
	return n.running && !n.cut && !(n.selfcut && n.revision == newRevision)
}

// read returns what a controller reads of an engine, perhaps of a former state.
func (w *world) read(e *engine) rollout.World {
	in := rollout.World{Rollout: e.rollout, Agents: map[string]rollout.Agent{}, Decisions: map[int]rollout.WaveDecision{}}
	for wave, d := range e.decisions {
		in.Decisions[wave] = rollout.WaveDecision{Decision: d}
	}
	for label, n := range w.nodes {
		in.Agents[label] = rollout.Agent{Running: n.connected(), Assignment: e.assignments[label], Report: e.reports[label]}
	}
	return in
}

// control runs a controller once. It stops after some writes, or never if limit is negative.
func (w *world) control(snapshot *engine, limit int) (done int) {
	for i, write := range rollout.Step(w.read(snapshot), time.Unix(0, 0).Add(w.now)) {
		if i == limit {
			w.logf("the controller is killed")
			return done
		}
		if w.e.do(write, snapshot) {
			done++
			switch {
			case write.Status != nil:
				w.logf("rollout: %s, wave %d %s", write.Status.Phase, write.Status.Wave, write.Status.Reason)
			case write.Assignment != nil:
				w.logf("%s is to %s %d (attempt %d)", write.Agent, write.Assignment.Task, write.Assignment.Revision, write.Assignment.Attempt)
			default:
				w.logf("decision of wave %d: %s", write.Wave, w.e.decisions[write.Wave])
			}
		}
	}
	return done
}

// expire reverts a change that was not confirmed in time, as the agent does by itself.
func (n *node) expire(w *world) {
	if n.running && n.waiting != "" && w.now-n.appliedAt >= n.timeout {
		w.logf("%s reverts alone", n.label)
		n.revision, n.waiting = n.before, ""
	}
}

// look updates the view of a node; a lagging one sees a former state.
func (n *node) look(w *world, e *engine) {
	n.expire(w)
	v := rollout.View{
		Connected: n.connected(), Assignment: n.view.Assignment, Decided: n.view.Decided,
		Waiting: n.waiting != "" && n.waiting == n.memory.Assignment.CommitID(), SinceApplied: w.now - n.appliedAt,
		InEffect: n.same || n.revision == n.memory.Assignment.Revision,
	}
	if v.Connected {
		v.Assignment = e.assignments[n.label]
		v.Decided = n.decided(e)
	}
	switch {
	case n.sick:
		v.Health = rollout.Bad
	case v.SinceApplied >= w.e.rollout.Spec.Soak:
		v.Health = rollout.Good
	}
	n.view = v
}

// decided reads the decision for the assignment that a node works on.
func (n *node) decided(e *engine) rollout.Decided {
	a := n.memory.Assignment
	return rollout.Decided{Rollout: a.Rollout, Wave: a.Wave, Decision: e.decisions[a.Wave]}
}

// act lets a node do one thing. It may be killed before or after it.
func (n *node) act(w *world, e *engine, killBefore, killAfter bool) (acted bool) {
	if !n.running {
		return false
	}
	n.look(w, e)
	memory, action := rollout.Next(n.memory, n.view)
	acted = memory != n.memory || action != rollout.Wait && action != rollout.RequestAbort
	n.memory = memory
	if killBefore {
		n.kill(w)
		return true
	}
	after := n.do(w, action)
	if killAfter {
		n.kill(w)
		return true
	}
	n.memory = after
	if n.connected() && n.memory.State != rollout.Assigned && w.e.reports[n.label] != n.memory.Report() {
		w.e.reports[n.label] = n.memory.Report()
		w.e.writes[n.label]++
		w.logf("%s reports %s %s", n.label, n.memory.State, n.memory.Reason)
		acted = true
	}
	return acted
}

func (n *node) kill(w *world) {
	w.logf("%s is killed", n.label)
	n.running, n.view = false, rollout.View{}
}

// fingerprint identifies the plan of a node for a revision.
func (n *node) fingerprint(revision int64) string {
	return fmt.Sprintf("%d->%d (%d)", n.revision, revision, n.salt)
}

// do executes an action, and returns the memory after it.
func (n *node) do(w *world, action rollout.Action) rollout.Memory {
	a := n.memory.Assignment
	switch action {
	case rollout.MakePlan:
		return n.memory.PlanMade(rollout.Plan{Fingerprint: n.fingerprint(a.Revision)}, "")
	case rollout.ApplyPlan:
		return n.apply(w, a)
	case rollout.ConfirmChange:
		w.mayConfirm(n, a)
		n.waiting = ""
		return n.memory.ChangeConfirmed()
	case rollout.RevertChange:
		n.revision, n.waiting = n.before, ""
		return n.memory.ChangeReverted()
	case rollout.RevertUnhealthy:
		n.revision, n.waiting = n.before, ""
		return n.memory.UnhealthyReverted("a gate failed")
	case rollout.RequestAbort:
		w.e.decide(a.Wave, rollout.Abort)
	}
	return n.memory
}

func (n *node) apply(w *world, a rollout.Assignment) rollout.Memory {
	w.mayApply(n, a)
	switch {
	case a.Fingerprint != "" && a.Fingerprint != n.fingerprint(a.Revision):
		return n.memory.PlanApplied(true, "")
	case n.fragile && a.Revision == newRevision:
		return n.memory.PlanApplied(false, "a value failed")
	}
	if n.same {
		n.appliedAt = w.now
		return n.memory.PlanApplied(false, "")
	}
	n.before, n.revision, n.waiting, n.appliedAt, n.timeout = n.revision, a.Revision, a.CommitID(), w.now, a.ConfirmTimeout
	w.logf("%s has %d, unconfirmed", n.label, n.revision)
	return n.memory.PlanApplied(false, "")
}

// mayApply checks what has to be so when a node applies a revision.
func (w *world) mayApply(n *node, a rollout.Assignment) {
	if n.waiting != "" {
		w.failf("%s applies %s while %s is unconfirmed", n.label, a.CommitID(), n.waiting)
	}
	if a.Revision != newRevision {
		return
	}
	if spec := w.e.rollout.Spec; spec.Approval && !spec.Approved {
		w.failf("%s applies a plan that was not approved", n.label)
	}
	if a.Fingerprint == "" {
		w.failf("%s applies any plan", n.label)
	}
	for wave := range a.Wave {
		if w.e.decisions[wave] != rollout.Commit && w.e.rollout.Spec.Atomic == rollout.AtomicWave {
			w.failf("%s applies in wave %d, and wave %d is not committed", n.label, a.Wave, wave)
		}
	}
}

// mayConfirm checks what has to be so when a node confirms a revision.
func (w *world) mayConfirm(n *node, a rollout.Assignment) {
	if n.waiting != a.CommitID() {
		w.failf("%s confirms %s, but %q waits", n.label, a.CommitID(), n.waiting)
	}
	if a.Task == rollout.TaskApply && w.e.decisions[a.Wave] != rollout.Commit {
		w.failf("%s confirms, but the decision is %q", n.label, w.e.decisions[a.Wave])
	}
}
