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
	rollout     rollout.Rollout            // that runs, or ended last
	ended       map[string]rollout.Rollout // before
	versions    map[string]int             // of the rollout ("") and of the assignments
	assignments map[string]rollout.Assignment
	reports     map[string]rollout.Report
	maintenance map[string]bool
	decisions   map[wave]rollout.Decision
	lease       int            // of the controller that writes
	writes      map[string]int // that were done, by agent
}

// wave is a wave of a rollout.
type wave struct {
	rollout string
	index   int
}

func (e *engine) clone() *engine {
	return &engine{
		rollout: e.rollout, ended: maps.Clone(e.ended), versions: maps.Clone(e.versions), assignments: maps.Clone(e.assignments),
		lease: e.lease, reports: maps.Clone(e.reports), maintenance: maps.Clone(e.maintenance), decisions: maps.Clone(e.decisions),
	}
}

// do does a write if what it replaces is as in the snapshot.
func (e *engine) do(w rollout.Write, snapshot *engine) bool {
	switch {
	case w.Status != nil:
		if e.rollout.Metadata.Name != snapshot.rollout.Metadata.Name || e.versions[""] != snapshot.versions[""] {
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
		e.decide(wave{snapshot.rollout.Metadata.Name, w.Wave}, w.Decision)
	}
	return true
}

// decide creates a decision unless there is one, and returns the decision in force.
func (e *engine) decide(w wave, d rollout.Decision) rollout.Decision {
	if e.decisions[w] == "" {
		e.decisions[w] = d
	}
	return e.decisions[w]
}

// decision returns the decision of a wave of the rollout.
func (e *engine) decision(index int) rollout.Decision {
	return e.decisions[wave{e.rollout.Metadata.Name, index}]
}

// of returns a rollout.
func (e *engine) of(name string) rollout.Rollout {
	if name == e.rollout.Metadata.Name {
		return e.rollout
	}
	return e.ended[name]
}

// begin creates a rollout after the one before has ended.
func (e *engine) begin(name string, spec rollout.Spec) {
	e.ended[e.rollout.Metadata.Name] = e.rollout
	e.rollout = rollout.Rollout{Metadata: fleet.Metadata{Name: name}, Spec: spec}
	e.versions[""]++
	clear(e.writes)
}

// node is an agent with what it controls.
type node struct {
	label string
	// on disk
	memory    rollout.Memory
	revision  int64 // whose content is in effect; see content
	before    int64 // to revert to
	waiting   string
	appliedAt time.Duration
	timeout   time.Duration
	salt      int // of fingerprints: grows when another client changes the node
	// in memory
	running bool
	view    rollout.View
	away    bool           // does not run for a while
	cut     bool           // from the engine, by the network
	sick    bool           // a gate fails
	fragile bool           // the new revision fails on it
	selfcut bool           // the new revision cuts it off
	same    bool           // the new revision has the same content as the old one
	guards  bool           // the new revision deletes most items
	lost    map[int64]bool // revisions that the node did not keep, for a reason that it reported
}

// content returns the revision that has the same content, which is the same or the old one.
func (n *node) content(revision int64) int64 {
	if n.same && revision == newRevision {
		return oldRevision
	}
	return revision
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
	// reverts: the rollout reverts the agents of committed waves.
	reverts bool
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
		rollout: rollout.Rollout{Metadata: fleet.Metadata{Name: "r"}, Spec: spec}, ended: map[string]rollout.Rollout{},
		versions: map[string]int{}, assignments: map[string]rollout.Assignment{}, reports: map[string]rollout.Report{},
		maintenance: map[string]bool{}, decisions: map[wave]rollout.Decision{}, writes: map[string]int{},
	}}
	for _, label := range slices.Concat(spec.Waves...) {
		w.nodes[label] = &node{
			label: label, running: true, revision: oldRevision, memory: rollout.Memory{Confirmed: oldRevision}, lost: map[int64]bool{},
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
	for of, d := range e.decisions {
		if of.rollout == e.rollout.Metadata.Name {
			in.Decisions[of.index] = rollout.WaveDecision{Decision: d}
		}
	}
	for label, n := range w.nodes {
		in.Agents[label] = rollout.Agent{Running: n.connected(), Trouble: n.sick, Maintenance: e.maintenance[label], Assignment: e.assignments[label], Report: e.reports[label]}
	}
	return in
}

// control runs a controller once. It stops after some writes, or never if limit is negative.
// Its writes need the lease: what it has read is newer than the writes of other controllers.
func (w *world) control(snapshot *engine, limit int) (done int) {
	if snapshot.lease != w.e.lease || snapshot.rollout.Metadata.Name != w.e.rollout.Metadata.Name {
		return 0
	}
	w.e.lease++
	for i, write := range rollout.Step(w.read(snapshot), time.Unix(0, 0).Add(w.now)) {
		if i == limit {
			w.logf("the controller is killed")
			return done
		}
		if w.e.do(write, snapshot) {
			done++
			switch {
			case write.Status != nil:
				w.reverts = w.reverts || write.Status.Phase == rollout.PhaseReverting
				w.logf("rollout: %s, wave %d %s", write.Status.Phase, write.Status.Wave, write.Status.Reason)
			case write.Assignment != nil:
				w.mayBegin(write.Agent, snapshot)
				w.logf("%s is to %s %d (attempt %d)", write.Agent, write.Assignment.Task, write.Assignment.Revision, write.Assignment.Attempt)
			default:
				w.logf("decision of wave %d: %s", write.Wave, w.e.decision(write.Wave))
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
		InEffect: n.revision == n.content(n.memory.Assignment.Revision), Maintenance: n.view.Maintenance,
	}
	if n.view == (rollout.View{}) { // nothing was read since the start
		v.Assignment = n.memory.Assignment
	}
	if v.Connected {
		v.Assignment = e.assignments[n.label]
		v.Decided = n.decided(e)
		v.Maintenance = e.maintenance[n.label]
	}
	switch {
	case n.sick:
		v.Health = rollout.Bad
	case v.SinceApplied >= n.memory.Assignment.Soak:
		v.Health = rollout.Good
	}
	n.view = v
}

// decided reads the decision for the assignment that a node works on.
func (n *node) decided(e *engine) rollout.Decided {
	a := n.memory.Assignment
	return rollout.Decided{Rollout: a.Rollout, Wave: a.Wave, Decision: e.decisions[wave{a.Rollout, a.Wave}]}
}

// act lets a node do one thing. It may be killed before or after it.
func (n *node) act(w *world, e *engine, killBefore, killAfter bool) (acted bool) {
	if !n.running {
		return false
	}
	n.look(w, e)
	memory, action := rollout.Next(n.memory, n.view)
	acted = memory != n.memory || action != rollout.Wait && action != rollout.RequestAbort
	n.gaveUp(memory)
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
	n.gaveUp(after)
	if n.connected() && n.memory.State != rollout.Assigned && w.e.reports[n.label] != n.memory.Report() {
		w.e.reports[n.label] = n.memory.Report()
		w.e.writes[n.label]++
		w.logf("%s reports %s %s", n.label, n.memory.State, n.memory.Reason)
		acted = true
	}
	return acted
}

// gaveUp records a revision that the node does not keep.
func (n *node) gaveUp(m rollout.Memory) {
	switch m.State {
	case rollout.Quarantined, rollout.Failed, rollout.Held:
		n.lost[m.Assignment.Revision] = true
	}
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
		w.e.decide(wave{a.Rollout, a.Wave}, rollout.Abort)
	}
	return n.memory
}

func (n *node) apply(w *world, a rollout.Assignment) rollout.Memory {
	w.mayApply(n, a)
	approved := n.memory.Fingerprint()
	switch {
	case approved != "" && approved != n.fingerprint(a.Revision):
		return n.memory.PlanApplied(true, "")
	case n.memory.Retries > 0 && w.rand.IntN(8) == 0:
		return n.memory.PlanApplied(true, "a change of another client waits")
	case n.guards && a.Revision == newRevision && n.memory.Guarded():
		return n.memory.PlanHeld("deletes most items")
	case n.fragile && a.Revision == newRevision:
		return n.memory.PlanApplied(false, "a value failed")
	case n.revision == n.content(a.Revision):
		n.appliedAt = w.now
		return n.memory.PlanApplied(false, "")
	}
	n.before, n.revision, n.waiting, n.appliedAt, n.timeout = n.revision, n.content(a.Revision), a.CommitID(), w.now, a.ConfirmTimeout
	w.logf("%s has %d, unconfirmed", n.label, n.revision)
	return n.memory.PlanApplied(false, "")
}

// mayApply checks what has to be so when a node applies a revision.
func (w *world) mayApply(n *node, a rollout.Assignment) {
	if n.waiting != "" {
		w.failf("%s applies %s while %s is unconfirmed", n.label, a.CommitID(), n.waiting)
	}
	if a.Task == rollout.TaskRollback {
		return
	}
	r := w.e.of(a.Rollout)
	if r.Spec.Approval && !r.Spec.Approved {
		w.failf("%s applies a plan that was not approved", n.label)
	}
	if n.memory.Fingerprint() == "" && n.memory.Retries == 0 {
		w.failf("%s applies any plan", n.label)
	}
	if r.Spec.Atomic == rollout.AtomicAgent {
		return
	}
	for i := range a.Wave {
		if w.e.decisions[wave{a.Rollout, i}] != rollout.Commit {
			w.failf("%s applies in wave %d, and wave %d is not committed", n.label, a.Wave, i)
		}
	}
	if n.memory.Retries > 0 && w.e.decisions[wave{a.Rollout, a.Wave}] != rollout.Commit {
		w.failf("%s catches up, and wave %d is not committed", n.label, a.Wave)
	}
}

// mayBegin checks that not too many agents are unavailable when one is assigned to apply a revision. One that was
// unavailable before may.
func (w *world) mayBegin(label string, snapshot *engine) {
	r, task := w.e.rollout, w.e.assignments[label].Task
	begins := task != rollout.TaskPlan && task != rollout.TaskRollback && !w.e.maintenance[label]
	if r.Spec.MaxUnavailable == 0 || !begins || w.unavailable(label, snapshot, snapshot) {
		return
	}
	var unavailable []string
	for _, label := range slices.Concat(r.Spec.Waves...) {
		if w.unavailable(label, w.e, snapshot) {
			unavailable = append(unavailable, label)
		}
	}
	if len(unavailable) > r.Spec.MaxUnavailable {
		w.failf("%s begins while others are unavailable: %v, the limit is %d", label, unavailable, r.Spec.MaxUnavailable)
	}
}

// unavailable reports whether a node does not run, is sick, or may be applying what it is assigned to.
func (w *world) unavailable(label string, assigned, reported *engine) bool {
	n, a, seen := w.nodes[label], assigned.assignments[label], reported.reports[label]
	if !n.connected() || n.sick {
		return true
	}
	state := rollout.Assigned
	if seen.Rollout == a.Rollout && seen.Attempt == a.Attempt {
		state = seen.State
	}
	itself := a.Task == rollout.TaskCatchUp || a.Task == rollout.TaskRollback
	switch {
	case a.Rollout == "", a.Task == rollout.TaskPlan, !itself && a.Rollout != w.e.rollout.Metadata.Name:
		return false
	case state == rollout.Confirmed, state == rollout.Refused, state == rollout.Quarantined, state == rollout.Held:
		return false
	case itself:
		return !w.e.maintenance[label] || state == rollout.Applied || state == rollout.Healthy
	case state == rollout.Healthy, state == rollout.Failed:
		return false
	case state == rollout.Reverted, state == rollout.Stale:
		return a.Task == rollout.TaskApply && w.e.decisions[wave{a.Rollout, a.Wave}] == rollout.Commit
	}
	return true
}

// mayConfirm checks what has to be so when a node confirms a revision.
func (w *world) mayConfirm(n *node, a rollout.Assignment) {
	if n.waiting != a.CommitID() {
		w.failf("%s confirms %s, but %q waits", n.label, a.CommitID(), n.waiting)
	}
	if d := w.e.decisions[wave{a.Rollout, a.Wave}]; a.Task == rollout.TaskApply && d != rollout.Commit {
		w.failf("%s confirms, but the decision is %q", n.label, d)
	}
}
