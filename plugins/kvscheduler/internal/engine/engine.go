// Package engine runs transactions. One goroutine, the worker, takes tasks from a
// queue, plans them and executes them one after the other. The package also retries
// failed operations, tracks the sessions of southbounds, and answers queries about
// the state.
package engine

import (
	"context"
	"sync/atomic"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// Engine implements api.KVScheduler without the plugin around it. Run must be called
// once to execute the queued tasks.
type Engine struct {
	opts Options

	*state
	*admission
	*timers
	*registrar
	*inspector
	*watches
	*driftDetector
	*trials
	*retries
	*unreadable
	*lossRepair
	*orphanFinder

	exec       *exec.Executor
	southbound *southbound
	contracts  *contract.Tracker
	journal    *journal
	recorder   recorder
	verifier   verifier
	problems   *problemCounter
	plans      plans
	owners     *ownerPolicies
	observer   *observer

	before atomic.Pointer[func() api.ChangesStatus] // changes that wait before the queue; nil: none

	barriers []barrier // used by the worker: they wait for the postponed southbounds

	named uint32 // used by the worker: counts transactions of the northbound; see graph.Outcome
}

var _ api.KVScheduler = (*Engine)(nil)

// Run is the worker: it executes queued tasks until the context ends. The tasks that
// are still queued then fail with ErrClosedScheduler.
func (c *Engine) Run(ctx context.Context) {
	defer c.stop()
	defer context.AfterFunc(ctx, c.overdue.Close)()
	for e := c.queue.Pop(ctx); e != nil; e = c.queue.Pop(ctx) {
		c.do(e)
	}
}

// do executes an entry that was taken from the queue.
func (c *Engine) do(e *queue.Entry) {
	defer c.southbound.endReading()
	if len(c.postponed) > 0 && dependsOnReads(e.Task) {
		c.execute(c.now(postponedRead{}))
	}
	switch t := e.Task.(type) {
	case call:
		t()
		c.publish(nil) // it may have read values
	case barrier:
		c.barriers = append(c.barriers, t)
	default:
		c.execute(e)
	}
	if len(c.postponed) == 0 {
		for _, b := range c.barriers {
			close(b.done)
		}
		c.barriers = nil
	}
}

// execute executes a task that may become a transaction, and answers the client.
func (c *Engine) execute(e *queue.Entry) {
	if c.opts.Waited != nil {
		c.opts.Waited(e.Task.(task).txnType(), e.Taken.Sub(e.Queued))
	}
	if news := e.Task.News(); news != nil {
		if gone := news.TakeGone(); gone != nil {
			c.process(&queue.Entry{Task: &notification{news: gone}, Queued: e.Queued, Taken: e.Taken})
		}
	}
	out := c.process(e)
	c.publish(nil) // values that were read without an operation
	if t, ok := e.Task.(committed); ok {
		t.parts().reply(out)
	}
}

// process runs one task through all stages.
func (c *Engine) process(e *queue.Entry) outcome {
	p, ok, err := c.plan(e)
	if err == nil && ok {
		err = c.plans.stale(p.expect, p.plan)
	}
	switch {
	case err != nil:
		return outcome{api.NoSeqNum, api.NewTransactionError(err, nil, false)}
	case !ok:
		c.trials.save()
		return outcome{seq: api.NoSeqNum}
	}
	c.record(p)
	c.perform(p)
	c.settleTxn(p)
	c.publish(p.result.Changed)
	return outcome{p.txn.Seq, c.verified(p, transactionError(append(p.rejected, p.delayed...), p.result))}
}

// plan prepares and plans a task; ok is false if there is nothing to do. If the task
// overtook notifications in the queue that its plan may depend on, plan executes those
// first. So a client can report an interface and then commit its dependents.
func (c *Engine) plan(e *queue.Entry) (p *transaction, ok bool, err error) {
	for {
		from := c.clock.Now()
		p = &transaction{entry: e}
		if ok, err = c.prepare(p); !ok || err != nil {
			return p, false, err
		}
		p.from, p.at = from, c.clock.Now()
		p.plan = plan.Make(c.graph, p.request)
		overtaken, keys := c.queue.Overtaken(e)
		if overtaken == 0 || !needs(p.plan, keys) { // calls selectors, so the queue is not locked
			return p, true, nil
		}
		for _, n := range c.queue.TakeNotifications(overtaken) {
			c.execute(n)
		}
	}
}

// prepare makes a planning request of a task; ok is false if there is nothing to do.
func (c *Engine) prepare(p *transaction) (ok bool, err error) {
	p.request.Closed = c.closedSessions()
	c.pin(&p.request)
	ok, err = p.entry.Task.(task).prepare(c, p)
	c.queue.Describe(p.entry, p.opts.Description)
	c.overdue.Pin(&p.request) // again, since a task may unpin keys: operations on one key never overlap
	p.request.Unread = c.reads.Unread(c.registry.Load())
	if p.request.Unread != nil || c.rereads.told != "" {
		c.planReread()
	}
	return ok, err
}

// record numbers the transaction and writes it to the history, before it is executed.
func (c *Engine) record(p *transaction) {
	p.txn = &exec.Txn{
		Seq: c.nextSeq, Request: p.request, Revert: p.opts.Revert, Refused: len(p.rejected)+len(p.delayed) > 0,
		Retry: p.opts.Retry, KeepRetry: p.entry.Task.(task).txnType() != api.NBTransaction, Notified: p.notified,
		Deadline: p.opts.Deadline, Plan: p.plan,
		Attempt: p.attempt, Alone: p.alone, RetryLeft: p.retryLeft, Repair: p.repair,
	}
	c.nextSeq++
	c.journal.seq = p.txn.Seq
	p.before = c.verifier.wantedBefore(p)
	p.record = c.recorder.preRecord(p.txn, p)
}

// perform executes the plan. After failures the executor plans the remaining work again.
func (c *Engine) perform(p *transaction) {
	c.southbound.endReading()
	c.owners.adopt(p.request.Changes)
	p.result = c.exec.Execute(p.txn)
	c.owners.giveBack(p.request.Changes)
}

// settleTxn records the result in the history and the journal, and updates the retries
// and the suspects.
func (c *Engine) settleTxn(p *transaction) {
	c.reportSelectors()
	c.recorder.complete(p.record, p.txn.Plan, p.result)
	c.journal.keep(p.result.Executed, p.request.Notified)
	if p.opts.Resync == api.FullResync && !p.opts.KeepFound {
		c.fullResyncDone = true
	}
	c.scheduleRetries(p.txn, p.result)
	c.planDecisions()
	c.followSuspects()
	p.entry.Task.(task).settle(c, p, p.result)
	if !p.alone { // the changes of a series of trials are saved at its end
		c.trials.save()
	}
}

// publish reports the base values whose status changed, including those that a read
// changed.
func (c *Engine) publish(changed []string) {
	changed = append(changed, c.refreshed...)
	c.refreshed = nil
	if len(changed) == 0 {
		return
	}
	c.problems.note(changed)
	c.drifts.note(changed)
	c.watches.publish(changed)
}

// stop rejects the queued tasks, and ends timers and watches.
func (c *Engine) stop() {
	for _, e := range c.queue.Close() {
		if t, ok := e.Task.(committed); ok {
			t.parts().reply(outcome{api.NoSeqNum, api.NewTransactionError(api.ErrClosedScheduler, nil, false)})
		}
	}
	close(c.stopped)
	c.timers.stop()
	c.changes.close()
	c.overdue.End()
}
