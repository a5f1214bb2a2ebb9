package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// admission passes tasks to the worker. All methods may be called concurrently.
type admission struct {
	queue   *queue.Queue
	time    func() time.Time
	stopped chan struct{} // closed when the worker has ended
}

// push queues a task, a call or a barrier without regard to the capacity of the queue.
func (a *admission) push(work any) error {
	return a.queue.Push(context.Background(), entryOf(work))
}

// onWorker runs f on the worker, in the order of the queue, and waits for it. If ctx ends
// before f starts, f does not run.
func (a *admission) onWorker(ctx context.Context, f func()) error {
	done := make(chan struct{})
	e := entryOf(call(func() {
		defer close(done)
		f()
	}))
	if err := a.queue.Push(ctx, e); err != nil {
		return err
	}
	canceled := ctx.Done()
	for {
		select {
		case <-done:
			return nil
		case <-a.stopped:
			return api.ErrClosedScheduler
		case <-canceled:
			if a.queue.Cancel(e) {
				return context.Cause(ctx)
			}
			canceled = nil // wait for f: it uses data of the caller
		}
	}
}

// submit queues a transaction of the northbound and, unless it is NonBlocking, waits for its
// end. When ctx ends, submit cancels the transaction unless its execution has started.
func (a *admission) submit(ctx context.Context, what committed) (seqNum uint64, err error) {
	fail := func(err error) (uint64, error) {
		return api.NoSeqNum, api.NewTransactionError(err, nil, false)
	}
	t := what.parts()
	if err := t.check(); err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		return fail(canceled(ctx))
	}
	if t.opts.Timeout > 0 {
		if d := a.time().Add(t.opts.Timeout); t.opts.Deadline.IsZero() || d.Before(t.opts.Deadline) {
			t.opts.Deadline = d
		}
	}
	e := entryOf(what)
	if t.opts.NonBlocking {
		if err := a.queue.Offer(e); err != nil {
			return fail(err)
		}
		return api.NoSeqNum, nil
	}
	t.done = make(chan outcome, 1)
	if err := a.queue.Push(ctx, e); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			err = canceled(ctx)
		}
		return fail(err)
	}
	select {
	case out := <-t.done:
		return out.seq, out.err
	case <-ctx.Done():
	}
	if a.queue.Cancel(e) {
		return fail(canceled(ctx))
	}
	select { // it may just have ended
	case out := <-t.done:
		return out.seq, out.err
	default:
		return fail(api.NewUnfinishedError(context.Cause(ctx), t.wait))
	}
}

func canceled(ctx context.Context) error {
	return fmt.Errorf("%w: %w", api.ErrTxnCanceled, context.Cause(ctx))
}

// now returns an entry for a task that skips the queue.
func (a *admission) now(t task) *queue.Entry {
	e := entryOf(t)
	e.Queued = a.time()
	e.Taken = e.Queued
	return e
}

// wait waits until the worker has executed the transactions that were queued before.
func (a *admission) wait(ctx context.Context) error {
	done := make(chan struct{})
	if err := a.queue.Push(ctx, entryOf(barrier{done})); err != nil {
		return err
	}
	_, err := await(ctx, a, done)
	return err
}

// await waits for a result until the context or the worker ends.
func await[T any](ctx context.Context, a *admission, results <-chan T) (result T, err error) {
	select {
	case result = <-results:
		return result, nil
	case <-a.stopped:
		return result, api.ErrClosedScheduler
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
}
