package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// Queue reports the queued transactions and the running one.
func (e *Engine) Queue() api.QueueStatus {
	st := e.admission.queue.Status()
	if st.Running != nil {
		st.Running.Progress = e.progressNow()
	}
	if before := e.before.Load(); before != nil {
		changes := (*before)()
		st.Changes = &changes
	}
	return st
}

// ValueTimes returns when the base values were changed last, as far as the history
// reaches.
func (e *Engine) ValueTimes() map[string]time.Time {
	st := e.state
	st.mu.RLock()
	defer st.mu.RUnlock()
	times, starts := make(map[string]time.Time, st.graph.Len()), map[uint64]time.Time{}
	for n := range st.graph.Nodes {
		if n.IsDerived() {
			continue
		}
		at, known := starts[n.LastTxn]
		if !known {
			at = e.history.Start(n.LastTxn).UTC()
			starts[n.LastTxn] = at
		}
		times[n.Key] = at
	}
	return times
}

// TellChanges sets the function that reports the changes that wait before the queue.
func (e *Engine) TellChanges(changes func() api.ChangesStatus) { e.before.Store(&changes) }

// Overdue lists the callbacks that were given up and that the worker has not settled.
func (e *Engine) Overdue() []exec.Call { return e.overdue.List() }

// Hanging lists the callbacks that were given up and have not returned.
func (e *Engine) Hanging() []exec.Call { return e.overdue.Hanging() }

// Timeouts counts the callbacks that were given up, by descriptor.
func (e *Engine) Timeouts() map[string]uint64 { return e.overdue.Given() }

// RetriesPending returns the number of delayed tasks.
func (e *Engine) RetriesPending() int { return e.timers.count() }

// Unread lists the unreadable descriptors, sorted by name. The scheduler reads them
// again periodically.
func (e *Engine) Unread() []Unread { return e.unreadable.list() }

// CountUnread returns the number of unreadable descriptors.
func (e *Engine) CountUnread() int { return len(e.reads.List()) }

// Stats returns the statistics of all transactions.
func (e *Engine) Stats() record.Stats { return e.history.Stats() }

// CountViolations counts how often descriptors violated their contract, by descriptor.
func (e *Engine) CountViolations() map[string]uint64 { return e.contracts.Counts() }

// DescriptorOf returns the name of the descriptor of a key; empty if there is none.
func (e *Engine) DescriptorOf(key string) string {
	d, err := e.state.registry.Load().Lookup(key)
	if d == nil || err != nil {
		return ""
	}
	return d.Name
}

// countedAtOnce is how many values are counted before the lock is released.
const countedAtOnce = 4096

// CountStates counts the values, including derived ones, by state. It releases the
// lock regularly for running transactions, so the counts are not a snapshot.
func (e *Engine) CountStates() map[api.ValueState]int {
	counts := map[api.ValueState]int{}
	for next, more := "", true; more; {
		next, more = e.countSome(next, counts)
	}
	return counts
}

func (e *Engine) countSome(from string, counts map[api.ValueState]int) (next string, more bool) {
	e.state.mu.RLock()
	defer e.state.mu.RUnlock()
	n := 0
	for v := range e.state.graph.From(from) {
		if n == countedAtOnce {
			return v.Key, true
		}
		n++
		counts[plan.State(v)]++
	}
	return "", false
}

// TellRefusals sets the source of the refusals that explanations show: values that
// were rejected before they reached the scheduler.
func (e *Engine) TellRefusals(r api.Refusals) { e.inspector.refusals.Store(&r) }

// CheckDescriptors returns an error for references to descriptors that are not
// registered. Call it after the initialization of all plugins.
func (e *Engine) CheckDescriptors() error { return e.state.registry.Load().Check() }

// DetectPeriodically detects drift until the context ends or the scheduler is closed.
func (e *Engine) DetectPeriodically(ctx context.Context, opts DriftOptions) {
	e.drift.periodically(ctx, opts)
}

// progress is the progress of the worker with the current task. It may be read
// concurrently.
type progress struct {
	reading atomic.Pointer[string] // the descriptor that is read; nil: none
	before  atomic.Uint64          // the number of records when the read started
}

// beginReading records that the values of a descriptor are being read.
func (b *southbound) beginReading(descriptor string) {
	b.progress.before.Store(b.records())
	b.progress.reading.Store(&descriptor)
}

func (b *southbound) endReading() { b.progress.reading.Store(nil) }

// records returns how many records southbounds have sent so far.
func (b *southbound) records() uint64 {
	if b.opts.Records == nil {
		return 0
	}
	return b.opts.Records()
}

// progressNow returns the progress of the current task; nil if it neither reads nor
// executes.
func (e *Engine) progressNow() *api.Progress {
	if descriptor := e.southbound.progress.reading.Load(); descriptor != nil {
		return &api.Progress{Phase: api.PhaseRetrieving, Descriptor: *descriptor, Done: e.southbound.records() - e.southbound.progress.before.Load()}
	}
	if done, total := e.exec.Progress.Get(); total > 0 {
		return &api.Progress{Phase: api.PhaseExecuting, Done: uint64(done), Total: uint64(total)}
	}
	return nil
}
