package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// quarantineWindow is how long a crash counts.
const quarantineWindow = time.Hour

// verdict is how long a southbound may take to go down after an operation that
// it did not survive has failed.
const verdict = time.Second

// ward is the values that may bring their southbound down. Only the worker
// changes it.
type ward struct {
	after int // crashes until quarantine; 0: never

	mu       sync.Mutex
	suspects map[string]*suspect
}

type suspect struct {
	api.Suspect
	tried bool // its trial failed; will the southbound go down?
	// revision is that of the base value when the trial failed.
	revision uint32
}

// list returns copies, sorted by key.
func (w *ward) list(selected func(s *suspect) bool) (list []api.Suspect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.suspects {
		if selected == nil || selected(s) {
			list = append(list, s.Suspect)
		}
	}
	slices.SortFunc(list, func(a, b api.Suspect) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func (w *ward) get(key string) *suspect {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.suspects[key]
}

func (w *ward) drop(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.suspects, key)
}

// pin makes a request leave the suspects alone.
func (w *ward) pin(req *plan.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.suspects) == 0 {
		return
	}
	pinned := make(map[string]bool, len(req.Pinned)+len(w.suspects))
	for key := range req.Pinned {
		pinned[key] = true
	}
	for key := range w.suspects {
		pinned[key] = true
	}
	req.Pinned = pinned
}

// crashed suspects the values that were being worked on when a southbound went
// down. It returns those that go into quarantine.
func (w *ward) crashed(southbound string, now time.Time, calls []exec.InFlight) (caught []api.Suspect) {
	if w.after == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	counted := map[string]bool{}
	for _, call := range calls {
		if counted[call.Key] {
			continue
		}
		counted[call.Key] = true
		s := w.suspects[call.Key]
		if s == nil {
			s = &suspect{Suspect: api.Suspect{Key: call.Key, Base: call.Base, Southbound: southbound}}
			w.suspects[call.Key] = s
		}
		recent := make([]time.Time, 0, len(s.Crashes)+1) // the old ones may have been handed out
		for _, t := range s.Crashes {
			if now.Sub(t) <= quarantineWindow {
				recent = append(recent, t)
			}
		}
		s.Crashes, s.Operation, s.tried = append(recent, now), call.Callback, false
		if len(s.Crashes) >= w.after && !s.Quarantined {
			s.Quarantined = true
			caught = append(caught, s.Suspect)
		}
	}
	return caught
}

// suspectsOf are those that are to be tried.
func (w *ward) suspectsOf(southbound string) []api.Suspect {
	return w.list(func(s *suspect) bool { return s.Southbound == southbound && !s.Quarantined && !s.tried })
}

// afterCrash finds out who may have brought a southbound down, of the callbacks
// that failed and of those that hang.
func (c *Control) afterCrash(southbound string, now time.Time, calls []exec.InFlight) {
	for _, call := range c.overdue.List() {
		if call.Southbound == southbound && !call.Stale && call.Owed != nil {
			calls = append(calls, exec.InFlight{Key: call.Key, Base: call.Owed.Base, Callback: call.Callback})
		}
	}
	for i := range calls {
		if calls[i].Base == calls[i].Key {
			calls[i].Base = ""
		}
	}
	if len(calls) > 0 {
		c.log.Warn("southbound went down during operations", "southbound", southbound, "operations", len(calls))
	}
	for _, s := range c.ward.crashed(southbound, now, calls) {
		c.log.Error("value quarantined", "key", s.Key, "southbound", southbound, "crashes", len(s.Crashes))
	}
	c.toldSuspects()
}

func (c *Control) toldSuspects() {
	if c.opts.Suspects != nil {
		c.opts.Suspects(c.Suspects())
	}
}

// markQuarantined makes the status of the values in quarantine say so, and
// drops those that nobody wants any more.
func (c *Control) markQuarantined() {
	for _, s := range c.ward.list(func(s *suspect) bool { return s.Quarantined }) {
		c.mu.Lock()
		n := c.graph.Node(s.Key)
		if n != nil {
			n.Err, n.Retrying = &api.QuarantineError{Suspect: s}, false
			c.refreshed = append(c.refreshed, n.Root().Key)
		}
		c.mu.Unlock()
		if n == nil {
			c.ward.drop(s.Key)
		}
	}
}

// tryNext queues the trial of the next suspect of a southbound.
func (c *Control) tryNext(southbound string, delay time.Duration) {
	if len(c.ward.list(func(s *suspect) bool { return s.Southbound == southbound && !s.Quarantined })) == 0 {
		return
	}
	j := &job{typ: api.RetryFailedOps, retry: &retry{ofTxn: c.nextSeq, trial: southbound}}
	if c.nextSeq > 0 {
		j.retry.ofTxn--
	}
	if delay > 0 {
		c.after(delay, j)
	} else {
		_ = c.push(j) // a closed scheduler tries nothing
	}
}

// prepareTrial lets one suspect come up, with nothing beside it.
func (c *Control) prepareTrial(j *job, p *prepared) bool {
	southbound := j.retry.trial
	if p.request.Closed[southbound] {
		return false // it comes up again, and so do the trials
	}
	// Those whose trial failed, and the southbound has survived it.
	for _, s := range c.ward.list(func(s *suspect) bool { return s.Southbound == southbound && s.tried }) {
		if n := c.graph.Node(s.Key); n != nil && n.Root().Revision != c.ward.get(s.Key).revision {
			p.request.Touch = append(p.request.Touch, s.Key) // was changed meanwhile
		}
		c.ward.drop(s.Key)
		delete(p.request.Pinned, s.Key)
	}
	c.toldSuspects()
	for _, s := range c.ward.suspectsOf(southbound) {
		n := c.graph.Node(s.Key)
		if n == nil {
			c.ward.drop(s.Key)
			continue
		}
		if c.unread(n) != "" {
			continue // nothing would be done with it; its trial is when it was read
		}
		delete(p.request.Pinned, s.Key)
		j.retry.suspect = s.Key
		j.opts.Description = fmt.Sprintf("%s alone, since southbound %s went down while it was worked on", s.Key, southbound)
		p.request.Touch = append(p.request.Touch, s.Key)
		return true
	}
	return len(p.request.Touch) > 0
}

// afterTrial decides about a suspect.
func (c *Control) afterTrial(r *retry, res *exec.Result) {
	if r.suspect == "" {
		return // there was nobody left to try
	}
	failed := slices.ContainsFunc(res.Failures, func(f exec.Failure) bool { return f.Key == r.suspect })
	if !failed {
		c.ward.drop(r.suspect)
		c.toldSuspects()
		c.tryNext(r.trial, 0)
		return
	}
	c.ward.mu.Lock()
	if s := c.ward.suspects[r.suspect]; s != nil {
		s.tried = true
		if n := c.graph.Node(r.suspect); n != nil {
			s.revision = n.Root().Revision
		}
	}
	c.ward.mu.Unlock()
	c.tryNext(r.trial, verdict)
}

// heal takes a value out of quarantine that is changed or deleted, with what is
// derived from it. While it stays as it is the change is an error.
func (c *Control) heal(p *prepared, change *plan.Change, dry bool) {
	same := change.Node != nil && change.Want == change.Node.Want
	for _, s := range c.ward.list(func(s *suspect) bool { return s.Quarantined && (s.Key == change.Key || s.Base == change.Key) }) {
		if same {
			p.delayed = append(p.delayed, api.KeyWithError{
				Key: s.Key, TxnOperation: operation(change), Error: &api.QuarantineError{Suspect: s},
			})
			continue
		}
		delete(p.request.Pinned, s.Key)
		if !dry {
			c.ward.drop(s.Key)
			c.toldSuspects()
		}
	}
}

// wardOff looks whether anything can be done with a value that is to change.
func (c *Control) wardOff(p *prepared, change *plan.Change, dry bool) {
	c.postpone(p, change)
	c.heal(p, change, dry)
}

// goOnTrying follows trials, and begins them when a southbound is up.
func (c *Control) goOnTrying(j *job, res *exec.Result) {
	switch {
	case j.retry != nil && j.retry.trial != "":
		c.afterTrial(j.retry, res)
	case j.session != nil && j.session.up:
		c.tryNext(j.session.name, 0)
	}
}

// limbo says why nothing is done with a value for now.
func (c *Control) limbo(key string) (why string, leaving bool) {
	if why, leaving = c.overdue.Of(key); why != "" {
		return why, leaving
	}
	if s := c.ward.get(key); s != nil {
		return fmt.Sprintf("its turn alone, since southbound %q went down while it was worked on", s.Southbound), false
	}
	return "", false
}

// Suspects implements api.Quarantine.
func (c *Control) Suspects() []api.Suspect { return c.ward.list(nil) }

// ReleaseQuarantined implements api.Quarantine.
func (c *Control) ReleaseQuarantined(ctx context.Context, keys ...string) error {
	var problem error
	err := c.onWorker(ctx, func() { problem = c.release(keys) })
	if err != nil {
		return err
	}
	return problem
}

func (c *Control) release(keys []string) error {
	quarantined := c.ward.list(func(s *suspect) bool { return s.Quarantined && (len(keys) == 0 || slices.Contains(keys, s.Key)) })
	for _, key := range keys {
		if !slices.ContainsFunc(quarantined, func(s api.Suspect) bool { return s.Key == key }) {
			return fmt.Errorf("%s: %w", key, api.ErrNotQuarantined)
		}
	}
	southbounds := map[string]bool{}
	for _, q := range quarantined {
		c.ward.mu.Lock()
		s := c.ward.suspects[q.Key]
		s.Quarantined, s.Crashes = false, nil
		c.ward.mu.Unlock()
		southbounds[q.Southbound] = true
		c.clearError(c.graph.Node(q.Key))
	}
	c.toldSuspects()
	for southbound := range southbounds {
		c.tryNext(southbound, 0)
	}
	return nil
}

func (c *Control) clearError(n *graph.Node) {
	if n == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.Err = nil
	c.refreshed = append(c.refreshed, n.Root().Key)
}
