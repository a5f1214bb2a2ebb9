package fleetagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

const (
	// lookInterval is how often an agent looks whether it is healthy and a decision was made, while a
	// change waits for its confirmation.
	lookInterval = 500 * time.Millisecond
	// retryInterval is how often it tries again what the engine did not answer.
	retryInterval = 2 * time.Second
	// requestTimeout is the limit of one request to the engine.
	requestTimeout = 5 * time.Second
)

// member is the agent as a member of its fleet. watch reads the engine, and run acts.
type member struct {
	*Deps

	label string
	fleet store.Store
	hold  store.Hold
	wake  chan struct{} // has a token when there is something to look at

	metrics collector

	memory    rollout.Memory
	reported  rollout.Report
	decided   rollout.Decided
	appliedAt time.Time // of the waiting change; zero: it was applied before the start of this agent
	started   time.Time
	applied   applied

	engine health.Reporter
	origin store.Origin // that was followed last; of watch

	past    atomic.Pointer[past]
	changed chan struct{} // has a token after a change of the memory

	mu          sync.Mutex
	connected   bool
	notFollowed string            // why the engine is not followed although it answers; empty: it is
	seen        store.AgentStatus // of the engine
}

// applied describes the last change. It is stored before the change is applied.
type applied struct {
	// Content identifies the items; see contentOf.
	Content string `json:"content"`
	// Keys are the keys of the items that were not in trouble before.
	Keys []string `json:"keys"`
}

// Keys in the state of the plugin.
const (
	memoryKey  = "memory"
	appliedKey = "applied"
	originKey  = "origin"
)

func (m *member) load() error {
	m.started = time.Now()
	state, err := m.State.LoadState(m.String())
	if err != nil {
		return err
	}
	var before past
	for key, into := range map[string]any{memoryKey: &m.memory, appliedKey: &m.applied, originKey: &m.origin, pastKey: &before} {
		if data := state[key]; data != nil {
			if err := json.Unmarshal(data, into); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	m.metrics.memory.Store(new(m.memory))
	m.past.Store(&before)
	return nil
}

// save stores values in the state of the plugin.
func (m *member) save(values map[string]any) (err error) {
	put := map[string][]byte{}
	for key, value := range values {
		if put[key], err = json.Marshal(value); err != nil {
			break
		}
	}
	if err == nil {
		err = m.State.SaveState(m.String(), put, false)
	}
	if err != nil {
		return fmt.Errorf("store the state of the rollout: %w", err)
	}
	return nil
}

// remember stores the memory before what depends on it is done.
func (m *member) remember(memory rollout.Memory) error {
	if memory == m.memory {
		return nil
	}
	p := m.past.Load().note(m.memory, memory, time.Now().UTC().Truncate(time.Second))
	if err := m.save(map[string]any{memoryKey: memory, pastKey: p}); err != nil {
		return err
	}
	m.memory = memory
	m.past.Store(&p)
	select {
	case m.changed <- struct{}{}:
	default:
	}
	m.metrics.memory.Store(&memory)
	return nil
}

// errWentBack is returned for a store that the agent does not follow.
var errWentBack = errors.New("etcd is another one, or was restored from a backup; if it is the right one: agentctl fleet trust")

// watch follows what the engine has of the agent.
func (m *member) watch(ctx context.Context) {
	logged := ""
	for ctx.Err() == nil {
		err := m.fleet.WatchAgent(ctx, m.label, m.observe)
		m.mu.Lock()
		m.connected, m.notFollowed = false, ""
		if errors.Is(err, errWentBack) {
			m.notFollowed = err.Error()
		}
		m.mu.Unlock()
		m.metrics.followed.Store(false)
		if ctx.Err() != nil {
			return
		}
		if text := fmt.Sprint(err); text != logged { // what lasts is logged once
			m.Log.Warn("assignments are not followed", "error", err)
			logged = text
		}
		if errors.Is(err, errWentBack) {
			m.engine.Failed("assignments are not followed", err)
		} else {
			m.engine.Degraded("assignments are not followed", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

// observe records what the engine has of the agent.
func (m *member) observe(a store.AgentStatus, o store.Origin) error {
	if m.origin.WentBack(o) {
		return fmt.Errorf("it went from revision %d to %d: %w", m.origin.Revision, o.Revision, errWentBack)
	}
	if err := m.save(map[string]any{originKey: o}); err != nil {
		return err
	}
	m.origin = o
	m.mu.Lock()
	m.connected, m.notFollowed, m.seen = true, "", a
	m.mu.Unlock()
	m.engine.OK("")
	m.metrics.followed.Store(true)
	m.notify()
	return nil
}

func (m *member) notify() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run follows the assignments until ctx ends.
func (m *member) run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-m.Orchestrator.Synced():
	}
	for ctx.Err() == nil {
		next, err := m.step(ctx)
		if err != nil {
			m.Health.Degraded(m.describe(), err)
		} else {
			m.Health.OK(m.describe())
		}
		var timer <-chan time.Time
		if next > 0 {
			timer = time.After(next)
		}
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-timer:
		}
	}
}

// describe describes the state of the agent in its fleet.
func (m *member) describe() string {
	a := m.memory.Assignment
	if a.Rollout == "" {
		return "no rollout yet"
	}
	return strings.TrimSpace(fmt.Sprintf("rollout %s, revision %d: %s %s", a.Rollout, a.Revision, m.memory.State, m.memory.Reason))
}

// step acts until there is nothing to do, and returns when to look again; 0: after the next change in
// the engine.
func (m *member) step(ctx context.Context) (again time.Duration, err error) {
	for ctx.Err() == nil {
		if err := m.Engine.Usable(); err != nil {
			return retryInterval, err // a change that waits is reverted by the orchestrator
		}
		reported := m.report(ctx)
		memory, action := rollout.Next(m.memory, m.view(ctx, reported == nil))
		idle := memory == m.memory && action == rollout.Wait
		if err := m.remember(memory); err != nil {
			return retryInterval, err
		}
		switch {
		case idle && errors.Is(reported, errNotConnected):
			return retryInterval, nil // watch reports it
		case idle && reported != nil:
			return retryInterval, reported
		case idle:
			return m.pause(), nil
		}
		after, err := m.do(ctx, action)
		if err == nil {
			err = m.remember(after)
		}
		if err != nil {
			return retryInterval, err
		}
		switch {
		case action == rollout.RequestAbort:
			return lookInterval, nil
		case action == rollout.ApplyPlan && after.State == rollout.Assigned:
			return retryInterval, errors.New(after.Reason)
		}
	}
	return 0, ctx.Err()
}

// pause returns when to look again if nothing changes in the engine.
func (m *member) pause() time.Duration {
	switch m.memory.State {
	case rollout.Applying, rollout.Applied, rollout.Healthy:
		return lookInterval
	case rollout.Reverted, rollout.Stale:
		if m.decided.Decision == "" || m.decided.Wave != m.memory.Assignment.Wave || m.decided.Rollout != m.memory.Assignment.Rollout {
			return retryInterval
		}
	}
	return 0
}

var errNotConnected = errors.New("etcd: not connected")

// report writes the report and the hold if the engine does not have them.
func (m *member) report(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m.mu.Lock()
	connected, held := m.connected, m.seen.Running
	m.mu.Unlock()
	if !connected {
		return errNotConnected
	}
	if held == nil || *held != m.hold {
		if err := m.fleet.Hold(ctx, m.label, m.hold); err != nil {
			return err
		}
	}
	if r := m.memory.Report(); m.memory.State != rollout.Assigned && r != m.reported {
		if err := m.fleet.WriteReport(ctx, m.label, r); err != nil {
			return err
		}
		m.reported = r
	}
	return nil
}

// view returns what the agent knows. connected says that its report was written, which shows that the
// agent still reaches the engine with the applied change.
func (m *member) view(ctx context.Context, connected bool) rollout.View {
	m.mu.Lock()
	v := rollout.View{Connected: connected, Assignment: m.seen.Assignment, Maintenance: m.seen.Spec.Spec.Maintenance}
	if m.seen.Label == "" { // nothing was read since the start
		v.Assignment = m.memory.Assignment
	}
	m.mu.Unlock()
	a := m.memory.Assignment
	if connected && a.Task == rollout.TaskApply && (m.pause() > 0 || m.memory.State == rollout.Assigned) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		d, err := m.fleet.Decision(ctx, a.Rollout, a.Wave)
		cancel()
		if err == nil {
			m.decided = rollout.Decided{Rollout: a.Rollout, Wave: a.Wave, Decision: d.Decision}
		} else {
			v.Connected = false
		}
	}
	v.Decided = m.decided
	v.Waiting = a.Rollout != "" && m.Orchestrator.Unconfirmed() == a.CommitID()
	v.SinceApplied = time.Since(later(m.appliedAt, m.started))
	switch {
	case v.Waiting:
		v.Health = m.health(v.SinceApplied)
	case m.pause() > 0:
		v.InEffect = m.applied.Content != "" && m.applied.Content == contentOf(m.Orchestrator.ListData(Source))
	}
	return v
}

// contentOf identifies items.
func contentOf(items []orchestrator.KeyVal) string {
	values := make([]api.RecordedKVPair, 0, len(items))
	for _, it := range items {
		values = append(values, api.RecordedKVPair{Key: it.Key, Value: it.Val})
	}
	slices.SortFunc(values, func(a, b api.RecordedKVPair) int { return strings.Compare(a.Key, b.Key) })
	return api.ValuesDigest(values)
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// health returns whether the items of the change are in effect or wait. An item that is in trouble, and was
// not before the change, makes the agent unhealthy.
func (m *member) health(since time.Duration) rollout.Health {
	if m.trouble() != "" {
		return rollout.Bad
	}
	if since < m.memory.Assignment.Soak {
		return rollout.Inconclusive
	}
	return rollout.Good
}

func inTrouble(s api.ValueState) bool {
	return s != kvscheduler.ValueState_PENDING && slices.Contains(api.TroubleStates(), s)
}

// do executes an action, and returns the memory after it.
func (m *member) do(ctx context.Context, action rollout.Action) (rollout.Memory, error) {
	a := m.memory.Assignment
	switch action {
	case rollout.MakePlan:
		plan, _, err := m.plan(ctx, a.Revision)
		if isTemporary(err) {
			return m.memory, err
		}
		if err != nil {
			return m.memory.PlanMade(rollout.Plan{}, err.Error()), nil
		}
		shown := plan.Shown(0, false)
		return m.memory.PlanMade(summary(shown), cannot(shown)), nil
	case rollout.ApplyPlan:
		return m.apply(ctx, a)
	case rollout.ConfirmChange:
		if _, err := m.Orchestrator.ConfirmCommit(a.CommitID()); err != nil {
			return m.memory, m.ifWaiting(err)
		}
		return m.memory.ChangeConfirmed(), nil
	case rollout.RevertChange, rollout.RevertUnhealthy:
		trouble := m.trouble()
		if err := m.Orchestrator.CancelCommit(ctx, a.CommitID()); err != nil {
			return m.memory, m.ifWaiting(err)
		}
		if action == rollout.RevertUnhealthy {
			return m.memory.UnhealthyReverted(cmp.Or(trouble, "an item was not in effect")), nil
		}
		return m.memory.ChangeReverted(), nil
	case rollout.RequestAbort:
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		d, err := m.fleet.Decide(ctx, a.Rollout, a.Wave, rollout.WaveDecision{
			Decision: rollout.Abort, By: m.label, Reason: m.label + " waited for a decision too long",
		})
		if err == nil {
			m.decided = rollout.Decided{Rollout: a.Rollout, Wave: a.Wave, Decision: d.Decision}
		}
		return m.memory, err
	}
	return m.memory, nil
}

// ifWaiting returns the error unless the change no longer waits: it was reverted meanwhile, which
// rollout.Next finds out.
func (m *member) ifWaiting(err error) error {
	if errors.Is(err, orchestrator.ErrNothingToConfirm) || errors.Is(err, orchestrator.ErrOtherCommit) {
		return nil
	}
	return err
}

// isTemporary reports whether an error is of the engine or of the load, and not of the revision.
func isTemporary(err error) bool {
	var unread *engineError
	return errors.As(err, &unread) || errors.Is(err, orchestrator.ErrQueueFull) || errors.Is(err, context.Canceled)
}

// engineError is an error of the engine.
type engineError struct{ error }

// plan returns the plan of a revision, and what contentOf returns for its items.
func (m *member) plan(ctx context.Context, revision int64) (p *orchestrator.Plan, content string, err error) {
	items, err := m.items(ctx, revision)
	if err != nil {
		return nil, "", err
	}
	p, err = m.Orchestrator.PlanData(ctx, Source, items, orchestrator.WithResync(),
		orchestrator.WithDescription(fmt.Sprintf("revision %d of the fleet", revision)))
	return p, contentOf(items), err
}

// items returns the items of the agent in a revision.
func (m *member) items(ctx context.Context, revision int64) ([]orchestrator.KeyVal, error) {
	if revision == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := m.fleet.Revision(ctx, revision)
	if err != nil {
		return nil, &engineError{err}
	}
	manifest, ok := r.Agents[m.label]
	if !ok {
		return nil, fmt.Errorf("revision %d has no configuration of %s", revision, m.label)
	}
	stored, err := m.fleet.Config(ctx, manifest)
	if err != nil {
		return nil, &engineError{err}
	}
	items := make([]orchestrator.KeyVal, 0, len(stored))
	for _, it := range stored {
		model, ok := m.Orchestrator.Models().ForKey(it.Key)
		if !ok {
			return nil, fmt.Errorf("%s: this agent has no model for it", it.Key)
		}
		value := model.NewInstance()
		if err := kv.Encoded(it.Value).Decode(value); err != nil {
			return nil, fmt.Errorf("%s: %w", it.Key, err)
		}
		items = append(items, orchestrator.KeyVal{Key: it.Key, Val: value})
	}
	return items, nil
}

// NoChanges is what Effects of a plan begins with if it changes nothing.
const NoChanges = "no changes"

// summary describes a shown plan: "5 to create, 1 waiting: ITEM waits for ...".
func summary(shown *orchestrator.Plan) rollout.Plan {
	var effects []string
	for _, e := range []struct {
		kind api.StepKind
		what string
	}{
		{api.StepCreate, "to create"}, {api.StepUpdate, "to change"}, {api.StepRecreate, "to create again"}, {api.StepDelete, "to delete"},
		{api.StepWithdraw, "removed and waiting"}, {api.StepWait, "waiting"}, {api.StepDrop, "no longer waiting"}, {api.StepNever, "impossible"},
	} {
		if n := shown.ItemCounts[e.kind]; n > 0 {
			effects = append(effects, fmt.Sprintf("%d %s", n, e.what))
		}
	}
	if shown.Changed == 0 || len(effects) == 0 {
		effects = append([]string{NoChanges}, effects...)
	}
	text := strings.Join(effects, ", ") + waitsFor(shown.Effects)
	return rollout.Plan{Fingerprint: shown.Fingerprint, Effects: text, Overridden: len(shown.Left)}
}

// waitsFor returns ": ITEM waits for ..." of the first item that waits; empty if there is none.
func waitsFor(items []api.PlanItem) string {
	for i := range items {
		it := &items[i]
		if it.Kind == api.StepWait && it.Reason != "" {
			return fmt.Sprintf(": %s %s", it.Key, short(it.Reason))
		}
		for _, part := range it.Parts {
			if part.Kind == api.StepWait && part.Reason != "" {
				return fmt.Sprintf(": %s %s", part.Key, short(part.Reason))
			}
		}
	}
	return ""
}

// cannot returns why an agent cannot have a revision; empty if it can. What waits is no reason.
func cannot(shown *orchestrator.Plan) string {
	for _, f := range shown.Findings {
		if f.Refused {
			return fmt.Sprintf("%s: %s", f.Key, f.Text)
		}
	}
	for _, e := range shown.Effects {
		if e.Kind == api.StepNever {
			return fmt.Sprintf("%s is %v: %s", e.Key, e.State, e.Reason)
		}
	}
	return ""
}

// apply applies the plan of the assignment, if it is still the same.
func (m *member) apply(ctx context.Context, a rollout.Assignment) (rollout.Memory, error) {
	plan, content, err := m.plan(ctx, a.Revision)
	if err != nil {
		return m.memory.PlanApplied(isTemporary(err), err.Error()), nil
	}
	if approved := m.memory.Fingerprint(); approved != "" && plan.Reference(1).Fingerprint != approved {
		return m.memory.PlanApplied(true, "the plan is another one now"), nil
	}
	if m.memory.Retries > 0 { // no controller has seen the plan
		if shown := plan.Shown(0, false); cannot(shown) != "" {
			return m.memory.PlanMade(summary(shown), cannot(shown)), nil
		}
	}
	if reason := m.deletesMost(plan); reason != "" && m.memory.Guarded() {
		return m.memory.PlanHeld(reason), nil
	}
	m.applied = applied{Content: content}
	for _, it := range plan.Items {
		if m.troubleOf(it.Key) == "" {
			m.applied.Keys = append(m.applied.Keys, it.Key)
		}
	}
	if err := m.save(map[string]any{appliedKey: m.applied}); err != nil {
		return m.memory, err
	}
	_, err = m.Orchestrator.ApplyPlan(ctx, plan, orchestrator.ApplyOptions{
		Revert: true, Verify: true, ConfirmTimeout: a.ConfirmTimeout, CommitID: a.CommitID(),
	})
	switch {
	case ctx.Err() != nil:
		return m.memory, ctx.Err() // the agent stops: the next one finds out whether the change waits
	case errors.Is(err, api.ErrPlanStale), errors.Is(err, orchestrator.ErrUnconfirmed), errors.Is(err, orchestrator.ErrQueueFull):
		return m.memory.PlanApplied(true, err.Error()), nil
	case err != nil:
		return m.memory.PlanApplied(false, err.Error()), nil
	}
	m.appliedAt = time.Now()
	return m.memory.PlanApplied(false, ""), nil
}

// deletesMost says how many items of the fleet a plan deletes if it is more than half of them.
func (m *member) deletesMost(plan *orchestrator.Plan) string {
	keep := map[string]bool{}
	for _, it := range plan.Items {
		keep[it.Key] = it.Value != nil
	}
	now, deleted := m.Orchestrator.ListData(Source), 0
	for _, it := range now {
		if !keep[it.Key] {
			deleted++
		}
	}
	if 2*deleted <= len(now) {
		return ""
	}
	return fmt.Sprintf("would delete %d of %d items by a plan that was not approved; the next rollout plans it", deleted, len(now))
}

// trouble describes the first item of the change that is in trouble; empty if there is none.
func (m *member) trouble() string {
	for _, key := range m.applied.Keys {
		if text := m.troubleOf(key); text != "" {
			return text
		}
	}
	return ""
}

// troubleOf describes the trouble of an item; empty if there is none.
func (m *member) troubleOf(key string) string {
	s := m.Orchestrator.Status(key).Status
	if s == nil || !inTrouble(s.GetValue().GetState()) {
		return ""
	}
	return fmt.Sprintf("%s is %v", key, s.GetValue().GetState())
}
