// Package controller executes rollouts: it reads the state of a fleet, calls rollout.Step, and does the
// writes. It has no state of its own, so that it can be stopped and started at any time, and several
// controllers can run at once.
package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
}

// View is the state of a rollout.
type View struct {
	Rollout store.RolloutStatus
	Agents  map[string]store.AgentStatus
}

// Run executes a rollout until it has ended or ctx ends, and calls see with every state that it read. It
// returns the last state. The error is kv.ErrNotFound if there is no such rollout, or ctx's error; it goes
// on after errors of the store, which it passes to failed.
func (c Controller) Run(ctx context.Context, name string, see func(View), failed func(error)) (View, error) {
	changes := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx, changes, failed) })
	defer watching.Wait()
	defer cancel()
	for {
		view, err := c.step(ctx, name)
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
		case <-changes:
		case <-time.After(lookInterval):
		}
	}
}

// watch puts a token into changes when something changes in the fleet.
func (c Controller) watch(ctx context.Context, changes chan<- struct{}, failed func(error)) {
	for ctx.Err() == nil {
		err := c.Store.Watch(ctx, func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		})
		if ctx.Err() == nil && err != nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookInterval):
		}
	}
}

// step reads the fleet, and does what is to be done, until a write fails because something has changed
// meanwhile.
func (c Controller) step(ctx context.Context, name string) (View, error) {
	for {
		view, w, err := c.read(ctx, name)
		if err != nil {
			return view, err
		}
		writes := rollout.Step(w, time.Now())
		if len(writes) == 0 {
			return view, nil
		}
		for _, write := range writes {
			err := c.Store.Write(ctx, view.Rollout, view.Agents, write, c.Name)
			if errors.Is(err, store.ErrConflict) {
				break
			}
			if err != nil {
				return view, err
			}
		}
	}
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
