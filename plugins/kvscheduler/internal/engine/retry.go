package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

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
