// Package fleettest has agents for the tests of controllers: they follow the protocol of package rollout
// over etcd, and configure nothing.
package fleettest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// Agent is an agent of a fleet.
type Agent struct {
	Label string
	// Writes counts the reports that the agent wrote, Events what it received, and Bytes the size of the
	// configurations that it read.
	Writes, Events, Bytes atomic.Int64

	tb     testing.TB
	store  store.Store
	memory rollout.Memory
	held   bool
	wake   chan struct{}

	mu   sync.Mutex
	seen store.AgentStatus

	revision, before int64 // that is in effect, and to which the agent reverts
	waiting          string
	appliedAt        time.Time
}

// Start starts an agent with a connection of its own. It ends with stop.
func Start(tb testing.TB, addr, fleet, label string) (a *Agent, stop func()) {
	tb.Helper()
	cfg := etcd.DefaultConfig()
	cfg.Endpoints, cfg.OperationTimeout, cfg.DialTimeout = []string{addr}, time.Minute, time.Minute
	p := etcd.NewPlugin(etcd.UseConf(cfg))
	disconnect := kvtest.Start(tb, p)
	a = &Agent{Label: label, tb: tb, store: store.New(p.DB(), fleet), wake: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { a.watch(ctx) })
	tasks.Go(func() { a.run(ctx) })
	return a, func() {
		cancel()
		tasks.Wait()
		disconnect()
	}
}

// Report returns what the agent reports.
func (a *Agent) Report() rollout.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.memory.Report()
}

func (a *Agent) watch(ctx context.Context) {
	for ctx.Err() == nil {
		_ = a.store.WatchAgent(ctx, a.Label, func(s store.AgentStatus, _ store.Origin) error { // an error: it is watched again
			a.Events.Add(1)
			a.mu.Lock()
			a.seen = s
			a.mu.Unlock()
			select {
			case a.wake <- struct{}{}:
			default:
			}
			return nil
		})
	}
}

// run acts until ctx ends, as the agent does that has memory of its assignment.
func (a *Agent) run(ctx context.Context) {
	var reported rollout.Report
	for ctx.Err() == nil {
		if err := a.act(ctx, &reported); err != nil && ctx.Err() == nil {
			a.tb.Logf("%s: %v", a.Label, err)
		}
		var again <-chan time.Time
		if a.waiting != "" || a.memory.State == rollout.Healthy || a.memory.State == rollout.Reverted {
			again = time.After(500 * time.Millisecond) // as the agent does
		}
		select {
		case <-ctx.Done():
		case <-a.wake:
		case <-again:
		}
	}
}

// act acts until there is nothing to do.
func (a *Agent) act(ctx context.Context, reported *rollout.Report) error {
	a.mu.Lock()
	label := a.seen.Label
	a.mu.Unlock()
	if label == "" { // nothing was read yet
		return nil
	}
	if !a.held {
		if err := a.store.Hold(ctx, a.Label, store.Hold{Instance: a.Label, Host: "test"}); err != nil {
			return err
		}
		a.held = true
	}
	for ctx.Err() == nil {
		if r := a.memory.Report(); r != *reported && r.State != rollout.Assigned {
			if err := a.store.WriteReport(ctx, a.Label, r); err != nil {
				return err
			}
			a.Writes.Add(1)
			*reported = r
		}
		view, err := a.view(ctx)
		if err != nil {
			return err
		}
		memory, action := rollout.Next(a.memory, view)
		idle := memory == a.memory && action == rollout.Wait
		a.remember(memory)
		if idle {
			return nil
		}
		after, err := a.do(ctx, action)
		a.remember(after)
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (a *Agent) remember(m rollout.Memory) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.memory = m
}

func (a *Agent) view(ctx context.Context) (rollout.View, error) {
	to := a.memory.Assignment
	if a.waiting != "" && time.Since(a.appliedAt) >= to.ConfirmTimeout {
		a.revision, a.waiting = a.before, ""
	}
	a.mu.Lock()
	v := rollout.View{Connected: true, Assignment: a.seen.Assignment, Maintenance: a.seen.Spec.Spec.Maintenance}
	a.mu.Unlock()
	v.Waiting, v.InEffect, v.SinceApplied = a.waiting != "" && a.waiting == to.CommitID(), a.revision == to.Revision, time.Since(a.appliedAt)
	if v.SinceApplied >= to.Soak {
		v.Health = rollout.Good
	}
	if to.Task != rollout.TaskApply {
		return v, nil
	}
	d, err := a.store.Decision(ctx, to.Rollout, to.Wave)
	v.Decided = rollout.Decided{Rollout: to.Rollout, Wave: to.Wave, Decision: d.Decision}
	return v, err
}

func (a *Agent) do(ctx context.Context, action rollout.Action) (rollout.Memory, error) {
	to := a.memory.Assignment
	switch action {
	case rollout.MakePlan:
		return a.memory.PlanMade(rollout.Plan{Fingerprint: "plan", Effects: "1 to change"}, ""), a.read(ctx, to.Revision)
	case rollout.ApplyPlan:
		a.before, a.revision, a.waiting, a.appliedAt = a.revision, to.Revision, to.CommitID(), time.Now()
		return a.memory.PlanApplied(false, ""), nil
	case rollout.ConfirmChange:
		a.waiting = ""
		return a.memory.ChangeConfirmed(), nil
	case rollout.RevertChange:
		a.revision, a.waiting = a.before, ""
		return a.memory.ChangeReverted(), nil
	case rollout.RequestAbort:
		_, err := a.store.Decide(ctx, to.Rollout, to.Wave, rollout.WaveDecision{Decision: rollout.Abort, By: a.Label, Reason: "no decision in time"})
		return a.memory, err
	}
	return a.memory, nil
}

// read reads the configuration of the agent in a revision, if there is one.
func (a *Agent) read(ctx context.Context, revision int64) error {
	r, err := a.store.Revision(ctx, revision)
	if err != nil || r.Agents[a.Label] == "" {
		return err
	}
	items, err := a.store.Config(ctx, r.Agents[a.Label])
	for _, it := range items {
		a.Bytes.Add(int64(len(it.Key) + len(it.Value)))
	}
	return err
}

// Revise creates a revision in which each agent has the items.
func Revise(tb testing.TB, s store.Store, items []store.Item, labels ...string) int64 {
	tb.Helper()
	configs := map[string][]store.Item{}
	for _, label := range labels {
		configs[label] = items
	}
	number, err := s.Revise(tb.Context(), store.Revision{Created: time.Now().UTC()}, configs)
	if err != nil {
		tb.Fatal(err)
	}
	return number
}
