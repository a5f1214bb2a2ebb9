package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// retries schedules the retries of failed operations, and handles callbacks that return
// after their timeout. The worker calls its methods; those that only read may be called
// concurrently.
type retries struct {
	*shared

	returns   atomic.Bool // a task for late returns is queued
	decisions decisions
}

// overdueCall handles a callback that was given up, and its later return.
func (l *retries) overdueCall(call exec.Call) {
	if call.Returned.IsZero() {
		l.log.Warn("callback did not return in time", "descriptor", call.Descriptor, "callback", call.Callback, "key", call.Key)
	} else {
		l.log.Info("callback returned late", "descriptor", call.Descriptor, "callback", call.Callback, "key", call.Key,
			"took", call.Returned.Sub(call.Since), "error", call.Err)
		l.returnedLate()
	}
	l.conditions.Hanging(l.overdue.Hanging())
}

// returnedLate queues a task for the callbacks that returned after they were given
// up. One task handles many of them, since they return together when a connection
// breaks.
func (l *retries) returnedLate() {
	if !l.returns.Swap(true) {
		_ = l.admission.push(&work{typ: api.RetryFailedOps, plan: l.prepareLate}) // fails if the scheduler is closed
	}
}

// prepareLate records the effects of callbacks that returned late. It requests a plan
// for their values if the callback succeeded, a retry is due, or the desired state has
// changed.
func (l *retries) prepareLate(p *transaction) bool {
	l.returns.Store(false)
	calls, more := l.overdue.Take()
	if more {
		l.returnedLate()
	}
	if len(calls) == 0 {
		return false
	}
	p.ofTxn, p.attempt = calls[0].OfTxn, calls[0].Attempt+1
	for _, call := range calls {
		l.exec.Settle(call)
	}
	calls = l.decide(calls, &p.request)
	l.trials.pin(&p.request) // unpins the decided calls
	var texts []string
	for _, call := range calls {
		texts = append(texts, describeReturn(call))
		l.owners.leave(call.Key)
	}
	p.opts.Description = abbreviated(texts)
	for _, call := range calls {
		p.request.Touch = append(p.request.Touch, call.Key)
		p.request.Touch = append(p.request.Touch, l.held(call)...)
		if n := l.state.graph.Node(call.Key); n != nil {
			l.state.refreshed = append(l.state.refreshed, n.Root().Key)
		}
		again := l.again(call)
		if !again { // it stays failed; others are retried
			if p.request.Pinned == nil {
				p.request.Pinned = map[string]bool{}
			}
			p.request.Pinned[call.Key] = true
		}
		if s := l.trials.suspects.Get(call.Key); s != nil {
			s.Again = s.Again || s.Tried && again
			l.trials.beginTrials(call.Southbound)
		}
	}
	return len(calls) > 0
}

// again reports whether the value of a callback that returned late is planned again:
// the callback succeeded, a retry is due, or the desired state has changed.
func (l *retries) again(call *exec.Call) bool {
	n := l.state.graph.Node(call.Key)
	switch {
	case n == nil || n.Err == nil || n.Want == nil:
		return true
	case call.Err == nil || call.Stale || call.Owed == nil:
		return true
	}
	return call.Owed.Retry != nil || n.Root().Revision != call.Revision
}

// held lists the values that could not be changed or removed because of the value of
// a callback, sorted by key.
func (l *retries) held(call *exec.Call) (keys []string) {
	look := func(n *graph.Node) {
		for ; n != nil; n = n.Base { // a derived value holds its base
			if n.Held {
				keys = append(keys, n.Key)
			}
		}
	}
	base, deps := call.StoodOn()
	look(l.state.graph.Node(base))
	for i := range deps {
		look(l.state.graph.Node(deps[i].Key))
		for _, prefix := range deps[i].AnyOf.KeyPrefixes {
			for n := range l.state.graph.Ascend(prefix) {
				look(n)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func operation(change *plan.Change) api.TxnOperation {
	switch {
	case change.Want == nil:
		return kvscheduler.TxnOperation_DELETE
	case change.Node != nil && change.Node.Have != nil:
		return kvscheduler.TxnOperation_UPDATE
	}
	return kvscheduler.TxnOperation_CREATE
}

func describeReturn(call *exec.Call) string {
	text := fmt.Sprintf("%s of %s returned after %v", call.Callback, call.Key, call.Returned.Sub(call.Since))
	if call.Err != nil {
		text += ": " + call.Err.Error()
	}
	return text
}

// abbreviated joins the first few texts.
func abbreviated(texts []string) string {
	const most = 5
	if n := len(texts) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), n)
	}
	return strings.Join(texts, ", ")
}

// postpone reports a change as delayed if a callback of its value, or of a value
// derived from it, has not returned.
func (l *retries) postpone(p *transaction, change *plan.Change) {
	if len(p.request.Pinned) == 0 {
		return
	}
	keys := []string{change.Key}
	if change.Node != nil {
		for child := range change.Node.Derived {
			keys = append(keys, child.Key)
		}
	}
	for _, key := range keys {
		if why, _ := l.overdue.Of(key); why != "" {
			p.delayed = append(p.delayed, api.KeyWithError{
				Key: key, TxnOperation: operation(change),
				Error: errors.New(why + "; the change is made when it does"),
			})
		}
	}
}

// scheduleRetries schedules the retries of failed values, with one transaction for all
// values that have the same retry options.
func (l *retries) scheduleRetries(txn *exec.Txn, res *exec.Result) {
	groups := map[api.RetryOpts]*retry{}
	for _, f := range res.Failures {
		n := l.state.graph.Node(f.Key)
		if n != nil && l.overdue.Holds(f.Key) { // with or without a retry
			l.overdue.Owe(&f, txn.Seq, txn.Attempt, n.Root().Revision)
			continue
		}
		if f.Retry == nil || n == nil || n.Err == nil {
			continue
		}
		r := groups[*f.Retry]
		if r == nil {
			r = &retry{ofTxn: txn.Seq, attempt: txn.Attempt + 1, revision: map[string]uint32{}}
			groups[*f.Retry] = r
		}
		r.failures = append(r.failures, f)
		r.revision[f.Base] = n.Root().Revision
	}
	for opts, r := range groups {
		l.timers.after(l.timers.delay(opts, txn.Attempt), r)
	}
}

// prepareRetry reads failed values again and requests a plan for them. It skips values
// with a newer desired state.
func (l *retries) prepareRetry(r *retry, p *transaction) bool {
	later := &retry{ofTxn: r.ofTxn, attempt: r.attempt, revision: r.revision}
	for _, f := range r.failures {
		n := l.state.graph.Node(f.Key)
		switch {
		case n == nil || n.Err == nil || n.Root().Revision != r.revision[f.Base]:
		case l.trials.suspects.Get(f.Key) != nil:
			later.failures = append(later.failures, f)
		case p.request.Pinned[f.Key]:
			l.overdue.Owe(&f, r.ofTxn, r.attempt-1, r.revision[f.Base])
		default:
			p.request.Touch = append(p.request.Touch, f.Key)
		}
	}
	if len(later.failures) > 0 { // suspects that wait for their trial
		l.timers.after(verdict, later)
	}
	return len(p.request.Touch) > 0
}
