package exec

import (
	"context"
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Read runs f, which calls Retrieve, or RetrieveValue if key is not empty. It returns a
// TimeoutError and cancels the context of f when no record has arrived for the time limit
// of the descriptor. The result of f is then ignored, and f must not access data that its
// caller uses. While such a call hangs, Read refuses to start another one.
func (o *Overdue) Read(d *registry.Descriptor, key string, f func(context.Context) error) error {
	c := &Call{Descriptor: d.Name, Southbound: d.Southbound, Callback: "Retrieve", Key: key}
	if key != "" {
		c.Callback = "RetrieveValue"
	}
	limit := o.patience(d)
	if limit > 0 {
		c.Since = o.clock.Now()
		if err := o.stillReading(c); err != nil {
			return err
		}
	}
	t, ctx := &callGuard{}, o.contexts.take(d.Southbound)
	t.begin()
	done := make(chan error, 1)
	go func() {
		err := error(&PanicError{Descriptor: c.Descriptor, Callback: c.Callback})
		defer func() { // f may not return
			if t.end() {
				o.contexts.give(ctx)
				done <- err
			} else {
				o.back(t, []api.KVBatchResult{{Err: err}})
			}
		}()
		err = f(ctx.Context)
	}()
	if limit == 0 {
		return <-done
	}
	return o.await(t, ctx, c, limit, done)
}

// await waits for a callback, and gives it up after its time limit.
func (o *Overdue) await(t *callGuard, ctx *callContext, c *Call, limit time.Duration, done <-chan error) error {
	closing, before := o.closing, o.records()
	for {
		alarm := make(chan struct{})
		stop := o.clock.AfterFunc(limit, func() { close(alarm) })
		select {
		case err := <-done:
			stop()
			return err
		case <-closing:
			stop()
			closing, limit = nil, min(limit, closingLimit)
			continue
		case <-alarm:
		}
		if now := o.records(); now != before && closing != nil {
			before = now
			continue
		}
		if state := t.state.Load(); isRunning(state) && o.giveUp(t, state, func() []*Call { return []*Call{c} }) {
			err := &TimeoutError{c.Descriptor, c.Callback, limit}
			ctx.cancel(cancelCause(err, closing == nil))
			return err
		}
		return <-done
	}
}

// records returns how many records have arrived; 0 if that is unknown.
func (o *Overdue) records() uint64 {
	if o.Records == nil {
		return 0
	}
	return o.Records()
}

// stillReading returns an error if an earlier read of the same values still hangs.
func (o *Overdue) stillReading(c *Call) error {
	if !o.Any() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for other := range o.calls {
		if other.Descriptor == c.Descriptor && other.op == nil && (other.Key == c.Key || other.Key == "") {
			return fmt.Errorf("descriptor %q: %s has not returned since %s", c.Descriptor, other.Callback, other.Since.UTC().Format(time.RFC3339))
		}
	}
	return nil
}
