// Package engine runs transactions. One goroutine, the worker, takes tasks from a
// queue, plans them and executes them one after the other. The package also retries
// failed operations, tracks the sessions of southbounds, and answers queries about
// the state.
package engine

import (
	"context"
	"sync/atomic"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// Engine implements api.KVScheduler without the plugin around it. Run must be called
// once to execute the queued tasks. It embeds the interfaces that one of its parts
// implements.
type Engine struct {
	api.Registrar
	api.Inspector
	api.Browser
	api.Watcher
	api.DriftDetector
	api.OrphanFinder
	api.Quarantine

	*shared

	recorder  *recorder
	verifier  *verifier
	plans     *plans
	observer  *observer
	orphans   *orphanFinder
	registrar *registrar
	inspector *inspector
	problems  *problemCounter

	before atomic.Pointer[func() api.ChangesStatus] // changes that wait before the queue; nil: none

	// Used by the worker only.
	nextSeq   uint64
	named     uint32          // counts transactions of the northbound; see graph.Outcome
	postponed map[string]bool // southbounds to be read later; see Options.ResyncFirst
	barriers  []barrier       // they wait for the postponed southbounds
}

var _ api.KVScheduler = (*Engine)(nil)

// Run is the worker: it executes queued tasks until the context ends. The tasks that
// are still queued then fail with ErrClosedScheduler.
func (e *Engine) Run(ctx context.Context) {
	defer e.stop()
	defer context.AfterFunc(ctx, e.overdue.Close)()
	for entry := e.admission.queue.Pop(ctx); entry != nil; entry = e.admission.queue.Pop(ctx) {
		e.do(entry)
	}
}

// do executes an entry that was taken from the queue.
func (e *Engine) do(entry *queue.Entry) {
	defer e.southbound.endReading()
	if len(e.postponed) > 0 && dependsOnReads(entry.Task) {
		e.execute(e.admission.now(&work{typ: api.SBNotification, plan: e.readPostponed}))
	}
	switch t := entry.Task.(type) {
	case call:
		t()
		e.publish(nil) // it may have read values
	case barrier:
		e.barriers = append(e.barriers, t)
	default:
		e.execute(entry)
		if s, ok := entry.Task.(*sessionChange); ok {
			e.syncing.end(s) // after the problems of its values were reported
		}
	}
	if len(e.postponed) == 0 {
		for _, b := range e.barriers {
			close(b.done)
		}
		e.barriers = nil
	}
}

// execute executes a task that may become a transaction, and answers the client.
func (e *Engine) execute(entry *queue.Entry) {
	if e.opts.Waited != nil {
		e.opts.Waited(entry.Task.(task).txnType(), entry.Taken.Sub(entry.Queued))
	}
	if news := entry.News; news != nil {
		if gone := news.TakeGone(); gone != nil {
			e.process(&queue.Entry{Task: &notification{news: gone}, Queued: entry.Queued, Taken: entry.Taken})
		}
	}
	out := e.process(entry)
	e.publish(nil) // values that were read without an operation
	if t, ok := entry.Task.(committed); ok {
		t.parts().reply(out)
	}
}

// process runs one task through all stages.
func (e *Engine) process(entry *queue.Entry) outcome {
	p, ok, err := e.plan(entry)
	if err == nil && ok {
		err = e.plans.stale(p.expect, p.plan)
	}
	switch {
	case err != nil:
		return outcome{api.NoSeqNum, api.NewTransactionError(err, nil, false)}
	case !ok:
		e.trials.save()
		return outcome{seq: api.NoSeqNum}
	}
	e.record(p)
	e.perform(p)
	e.settleTxn(p)
	e.publish(p.result.Changed)
	return outcome{p.txn.Seq, e.verified(p, transactionError(append(p.rejected, p.delayed...), p.result))}
}

// plan prepares and plans a task; ok is false if there is nothing to do. If the task
// overtook notifications in the queue that its plan may depend on, plan executes those
// first. So a client can report an interface and then commit its dependents.
func (e *Engine) plan(entry *queue.Entry) (p *transaction, ok bool, err error) {
	for {
		from := e.clock.Now()
		p = &transaction{entry: entry}
		if ok, err = e.prepare(p); !ok || err != nil {
			return p, false, err
		}
		p.from, p.at = from, e.clock.Now()
		p.plan = plan.Make(e.state.graph, p.request)
		overtaken, keys := e.admission.queue.Overtaken(entry)
		if overtaken == 0 || !needs(p.plan, keys) { // calls selectors, so the queue is not locked
			return p, true, nil
		}
		for _, n := range e.admission.queue.TakeNotifications(overtaken) {
			e.execute(n)
		}
	}
}

// prepare makes a planning request of a task; ok is false if there is nothing to do.
func (e *Engine) prepare(p *transaction) (ok bool, err error) {
	p.request.Closed = e.southbound.closed()
	e.trials.pin(&p.request)
	ok, err = p.entry.Task.(task).prepare(e, p)
	e.admission.queue.Describe(p.entry, p.opts.Description)
	e.overdue.Pin(&p.request) // again, since a task may unpin keys: operations on one key never overlap
	p.request.Unread = e.reads.Unread(e.state.registry.Load())
	if p.request.Unread != nil || e.unreadable.rereads.told != "" {
		e.unreadable.planReread()
	}
	return ok, err
}

// record numbers the transaction and writes it to the history, before it is executed.
func (e *Engine) record(p *transaction) {
	p.txn = &exec.Txn{
		Seq: e.nextSeq, Request: p.request, Revert: p.opts.Revert, Refused: len(p.rejected)+len(p.delayed) > 0,
		Retry: p.opts.Retry, KeepRetry: p.entry.Task.(task).txnType() != api.NBTransaction, Notified: p.notified,
		Deadline: p.opts.Deadline, Plan: p.plan,
		Attempt: p.attempt, Alone: p.alone, RetryLeft: p.retryLeft, Repair: p.repair,
	}
	e.nextSeq++
	e.journal.seq = p.txn.Seq
	p.before = e.verifier.wantedBefore(p)
	p.record = e.recorder.preRecord(p.txn, p)
}

// perform executes the plan. After failures the executor plans the remaining work again.
func (e *Engine) perform(p *transaction) {
	e.southbound.endReading()
	e.owners.adopt(p.request.Changes)
	p.result = e.exec.Execute(p.txn)
	e.owners.giveBack(p.request.Changes)
}

// settleTxn records the result in the history and the journal, and updates the retries
// and the suspects.
func (e *Engine) settleTxn(p *transaction) {
	e.reportSelectors()
	e.recorder.complete(p.record, p.txn.Plan, p.result)
	e.journal.keep(p.result.Executed, p.request.Notified)
	if p.opts.Resync == api.FullResync && !p.opts.KeepFound {
		e.state.fullResyncDone = true
	}
	for _, l := range p.result.Left {
		e.log.Warn("object is left in the southbound", "key", l.Key, "reason", l.Why)
	}
	e.retries.scheduleRetries(p.txn, p.result)
	e.retries.planDecisions()
	e.trials.followSuspects()
	p.entry.Task.(task).settle(e, p, p.result)
	if !p.alone { // the changes of a series of trials are saved at its end
		e.trials.save()
	}
}

// publish reports the base values whose status changed, including those that a read
// changed.
func (e *Engine) publish(changed []string) {
	changed = append(changed, e.state.refreshed...)
	e.state.refreshed = nil
	if len(changed) == 0 {
		return
	}
	e.problems.note(changed)
	e.drift.note(changed)
	e.watches.publish(changed)
}

// stop rejects the queued tasks, and ends timers and watches.
func (e *Engine) stop() {
	for _, entry := range e.admission.queue.Close() {
		if t, ok := entry.Task.(committed); ok {
			t.parts().reply(outcome{api.NoSeqNum, api.NewTransactionError(api.ErrClosedScheduler, nil, false)})
		}
	}
	close(e.admission.stopped)
	e.timers.stop()
	e.watches.changes.close()
	e.overdue.End()
}
