package control

import (
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// timer is a retry that waits for its time.
type timer struct{ stop func() bool }

// scheduleRetries plans the retries of what failed, one transaction for all
// values that are retried in the same way.
func (c *Control) scheduleRetries(txn *exec.Txn, res *exec.Result) {
	groups := map[api.RetryOpts]*retry{}
	for _, f := range res.Failures {
		n := c.graph.Node(f.Key)
		if n != nil && c.overdue.Holds(f.Key) { // with or without a retry
			c.overdue.Owe(&f, txn.Seq, txn.Attempt, n.Root().Revision)
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
		c.after(c.delay(opts, txn.Attempt), r)
	}
}

// patiently retries without end.
func patiently() *api.RetryOpts {
	return &api.RetryOpts{Period: api.DefaultRetryPeriod, ExpBackoff: true}
}

// delay is how long to wait before the retry that follows the given attempt.
func (c *Control) delay(opts api.RetryOpts, attempt int) time.Duration {
	limit := opts.MaxPeriod
	if limit <= 0 {
		limit = api.DefaultRetryMaxPeriod
	}
	d := min(opts.Period, limit)
	if !opts.ExpBackoff {
		return d
	}
	for range attempt {
		if d >= limit {
			break
		}
		d *= 2
	}
	d = min(d, limit)
	if attempt > 0 { // up to a tenth less, so that retries do not march in step
		d -= time.Duration(c.opts.Rand.Int64N(int64(d)/10 + 1))
	}
	return d
}

// after queues a task after a while.
func (c *Control) after(d time.Duration, t queue.Task) {
	c.timersMu.Lock()
	defer c.timersMu.Unlock()
	if c.timers == nil {
		return
	}
	running := &timer{}
	c.timers[running] = struct{}{}
	running.stop = c.clock.AfterFunc(d, func() {
		c.timersMu.Lock()
		delete(c.timers, running)
		c.timersMu.Unlock()
		_ = c.push(t) // a closed scheduler retries nothing
	})
}

func (c *Control) stopTimers() {
	c.timersMu.Lock()
	defer c.timersMu.Unlock()
	for t := range c.timers {
		t.stop()
	}
	c.timers = nil
}

// prepareRetry looks again at what failed, unless something newer was asked
// for meanwhile.
func (c *Control) prepareRetry(r *retry, p *prepared) bool {
	later := &retry{ofTxn: r.ofTxn, attempt: r.attempt, revision: r.revision}
	for _, f := range r.failures {
		n := c.graph.Node(f.Key)
		switch {
		case n == nil || n.Err == nil || n.Root().Revision != r.revision[f.Base]:
		case c.ward.get(f.Key) != nil:
			later.failures = append(later.failures, f)
		case p.request.Pinned[f.Key]:
			c.overdue.Owe(&f, r.ofTxn, r.attempt-1, r.revision[f.Base])
		default:
			p.request.Touch = append(p.request.Touch, f.Key)
		}
	}
	if len(later.failures) > 0 { // suspects, whose turn comes
		c.after(verdict, later)
	}
	return len(p.request.Touch) > 0
}
