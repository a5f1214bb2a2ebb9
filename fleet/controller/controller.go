// Package controller executes rollouts: it reads the state of a fleet, calls rollout.Step, and does the
// writes. It has no state of its own, so that it can be stopped and started at any time. Of several
// controllers one executes a rollout at a time, under a lease of etcd; the others follow it, and one of
// them takes over when the lease ends.
package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// lookInterval is how often a controller looks at a rollout if nothing changes: deadlines may have
// passed.
const lookInterval = time.Second

// Controller executes rollouts of a fleet.
type Controller struct {
	Store store.Store
	// Name identifies the controller in the decisions that it creates.
	Name string
	// Follows is called when another controller executes the rollout; nil: it is not.
	Follows func(other store.Controller)
	// Leads is called when the controller begins and ends to execute the rollout; nil: it is not. It is called
	// from another goroutine than Follows.
	Leads func(bool)
}

// View is the state of a rollout.
type View struct {
	Rollout store.RolloutStatus
	Agents  map[string]store.AgentStatus
}

// Run executes a rollout, or follows the controller that does, until it has ended or ctx ends, and calls
// see with every state that it read. It returns the last state. The error is kv.ErrNotFound if there is no
// such rollout, or ctx's error; it continues after errors of the store, which it passes to failed.
func (c Controller) Run(ctx context.Context, name string, see func(View), failed func(error)) (View, error) {
	host, _ := os.Hostname() // for people
	r := &run{Controller: c, rollout: name, changes: make(chan struct{}, 1), failed: failed, self: store.Controller{
		Name: c.Name, Host: host, PID: os.Getpid(), Since: time.Now().UTC(),
	}}
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() { r.watch(ctx) })
	tasks.Go(func() { r.campaign(ctx) })
	defer tasks.Wait()
	defer cancel()
	for {
		view, err := r.step(ctx)
		switch {
		case errors.Is(err, kv.ErrNotFound):
			return view, err
		case err != nil && ctx.Err() == nil:
			failed(err)
		case err == nil:
			see(view)
		}
		if err == nil && view.Rollout.Rollout.Status.Phase.Ended() {
			return view, nil
		}
		select {
		case <-ctx.Done():
			return view, ctx.Err()
		case <-r.changes:
		case <-time.After(lookInterval):
		}
	}
}

// run is a call of Run.
type run struct {
	Controller

	rollout string
	self    store.Controller
	changes chan struct{} // has a token when there is something to look at
	failed  func(error)
	leads   atomic.Pointer[store.Store] // for the writes of the leader; nil: another controller leads
	leader  store.Controller            // that Follows was called with
}

// campaign leads whenever no other controller does.
func (r *run) campaign(ctx context.Context) {
	for ctx.Err() == nil {
		s, leadership, err := r.Store.Lead(ctx, r.rollout, r.self)
		if err == nil {
			r.leads.Store(&s)
			r.notify()
			r.report(true)
			select {
			case <-ctx.Done():
			case <-leadership.Lost():
			}
			r.leads.Store(nil)
			r.report(false)
			_ = leadership.Resign() // it expires otherwise
			continue
		}
		if ctx.Err() == nil {
			r.failed(err)
		}
		pause(ctx)
	}
}

func (r *run) report(leads bool) {
	if r.Leads != nil {
		r.Leads(leads)
	}
}

// pause waits before what failed is tried again.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(lookInterval):
	}
}

func (r *run) notify() {
	select {
	case r.changes <- struct{}{}:
	default:
	}
}

// watch notices what changes in the fleet.
func (r *run) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.Store.Watch(ctx, r.notify)
		if ctx.Err() == nil && err != nil {
			r.failed(err)
		}
		pause(ctx)
	}
}

// step reads the fleet. The leader does what is to be done, and reads again until that is nothing.
func (r *run) step(ctx context.Context) (View, error) {
	for {
		leads := r.leads.Load()
		view, w, err := r.read(ctx, r.rollout)
		if err != nil {
			return view, err
		}
		if leads == nil {
			return view, r.follow(ctx)
		}
		writes := rollout.Step(w, time.Now())
		if len(writes) == 0 {
			return view, nil
		}
		if err := r.write(ctx, *leads, view, writes); err != nil {
			return view, err
		}
	}
}

// parallelWrites is how many assignments are written at once: etcd makes several durable with one write of
// its disk.
const parallelWrites = 32

// write does writes until one fails because something has changed meanwhile, or another controller leads.
// Assignments are written at once; any part of them may be done, see rollout.Step.
func (r *run) write(ctx context.Context, leads store.Store, view View, writes []rollout.Write) error {
	var group errgroup.Group
	group.SetLimit(parallelWrites)
	var failed atomic.Bool
	for _, w := range writes {
		if failed.Load() {
			break
		}
		if w.Assignment == nil { // depends on the writes before
			if err := group.Wait(); err != nil {
				return r.afterWrite(err)
			}
		}
		group.Go(func() error {
			err := leads.Write(ctx, view.Rollout, view.Agents, w, r.Name)
			failed.CompareAndSwap(false, err != nil)
			return err
		})
	}
	return r.afterWrite(group.Wait())
}

// afterWrite returns the error of a write, unless the state is to be read again.
func (r *run) afterWrite(err error) error {
	switch {
	case errors.Is(err, store.ErrConflict):
		return nil
	case errors.Is(err, kv.ErrNotLeader):
		r.leads.Store(nil) // campaign tries again
		return nil
	}
	return err
}

// follow says which other controller executes the rollout.
func (r *run) follow(ctx context.Context) error {
	if r.Follows == nil {
		return nil
	}
	leader, ok, err := r.Store.Leader(ctx, r.rollout)
	if ok && leader != r.self && leader != r.leader {
		r.leader = leader
		r.Follows(leader)
	}
	return err
}

func (c Controller) read(ctx context.Context, name string) (view View, w rollout.World, err error) {
	rollouts, err := c.Store.Rollouts(ctx)
	if err != nil {
		return view, w, err
	}
	r, ok := rollouts[name]
	if !ok {
		return view, w, fmt.Errorf("rollout %s: %w", name, kv.ErrNotFound)
	}
	// Agents are read after rollouts, so that a report is not older than the assignment that it answers.
	agents, err := c.Store.Agents(ctx)
	if err != nil {
		return view, w, err
	}
	return View{Rollout: r, Agents: agents}, rollouts.World(name, agents), nil
}
