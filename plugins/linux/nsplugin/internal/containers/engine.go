package containers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// RequestTimeout is how long an engine may take to answer one request. One that takes longer
// counts as not available.
const RequestTimeout = 5 * time.Second

// inspected is how many containers an engine is asked about at once.
const inspected = 16

// engine is a container engine.
type engine interface {
	// events returns the stream of what containers do. It ends with ctx.
	events(ctx context.Context) (next func() (event, error), err error)
	// list returns the IDs of the containers that run.
	list(ctx context.Context) ([]string, error)
	// inspect returns a container; nil if it no longer runs, or has no label.
	inspect(ctx context.Context, id string) (*Container, error)
}

// event is what a container does.
type event struct {
	id      string
	started bool
	stopped bool
}

// follower follows the containers of an engine.
type follower struct {
	engine  engine
	timeout time.Duration
	relist  time.Duration   // how often containers are listed again; 0: never
	known   map[string]bool // IDs of containers that run
	report  func(Update)
}

// follow implements Source.Follow. It first opens the stream of events, so that no change
// after the listing is missed.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next, err := f.engine.events(ctx)
	if err != nil {
		return err
	}
	if err := f.list(ctx, true); err != nil {
		return err
	}
	events, ended := make(chan event), make(chan error, 1)
	go func() {
		for {
			ev, err := next()
			if err != nil {
				ended <- err
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
			}
		}
	}()
	again := make(<-chan time.Time)
	if f.relist > 0 {
		again = time.Tick(f.relist)
	}
	for {
		select {
		case ev := <-events:
			err = f.event(ctx, ev)
		case <-again:
			err = f.list(ctx, false)
		case err = <-ended:
			err = fmt.Errorf("the stream of events ended: %w", errors.Join(ctx.Err(), err))
		}
		if err != nil {
			return err
		}
	}
}

func (f *follower) event(ctx context.Context, ev event) error {
	switch {
	case f.known[ev.id] != ev.stopped: // the list told it before
	case ev.stopped:
		delete(f.known, ev.id)
		f.report(Update{Stopped: []string{ev.id}})
	case ev.started:
		f.known[ev.id] = true
		c, err := inspect(ctx, f.engine, f.timeout, ev.id)
		if err != nil {
			return err
		}
		if c != nil {
			f.report(Update{Running: []Container{*c}})
		}
	}
	return nil
}

// list lists the containers and reports all, or only new containers and containers that no
// longer run.
func (f *follower) list(ctx context.Context, all bool) error {
	listing, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	ids, err := f.engine.list(listing)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	u := Update{All: all}
	now := make(map[string]bool, len(ids))
	var unknown []string
	for _, id := range ids {
		if now[id] = true; !f.known[id] {
			unknown = append(unknown, id)
		}
	}
	for id := range f.known {
		if !now[id] {
			u.Stopped = append(u.Stopped, id)
		}
	}
	f.known = now
	if u.Running, err = f.inspectAll(ctx, unknown); err != nil {
		return err
	}
	if all || len(u.Running)+len(u.Stopped) > 0 {
		f.report(u)
	}
	return nil
}

func inspect(ctx context.Context, e engine, timeout time.Duration, id string) (*Container, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return e.inspect(ctx, id)
}

// inspectAll returns the containers that have a label.
func (f *follower) inspectAll(ctx context.Context, ids []string) ([]Container, error) {
	found, errs := make([]*Container, len(ids)), make([]error, len(ids))
	var all sync.WaitGroup
	turns := make(chan struct{}, inspected)
	for i, id := range ids {
		turns <- struct{}{}
		all.Go(func() {
			found[i], errs[i] = inspect(ctx, f.engine, f.timeout, id)
			<-turns
		})
	}
	all.Wait()
	var out []Container
	for _, c := range found {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out, errors.Join(errs...)
}
