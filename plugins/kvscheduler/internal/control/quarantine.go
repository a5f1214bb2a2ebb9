package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
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

	queued  map[string]int  // trials that wait for their turn, by southbound
	changed map[string]bool // keys of suspects whose state the journal does not know
	unsaved bool            // a write failed: the journal knows nothing for sure
}

type suspect struct {
	api.Suspect
	// wish is what the northbound wanted of the base value at the latest crash; nil:
	// nothing.
	wish proto.Message
	// early: it is known from an earlier run, and nobody has asked for it since.
	early bool
	tried bool // its trial failed; will the southbound go down?
	// again: the callback of its trial returned late, and the value is planned for after
	// the trial.
	again bool
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
	w.changed[key] = true
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
			switch age := now.Sub(t); {
			case age < 0: // of an earlier run; the clock was set back, and nobody knows when it was
				recent = append(recent, now)
			case age <= quarantineWindow:
				recent = append(recent, t)
			}
		}
		s.Crashes, s.Operation, s.tried, s.early, s.again = append(recent, now), call.Callback, false, false, false
		w.changed[call.Key] = true
		if len(s.Crashes) >= w.after && !s.Quarantined {
			s.Quarantined = true
			caught = append(caught, s.Suspect)
		}
	}
	return caught
}

// suspectsOf are those that are to be tried.
func (w *ward) suspectsOf(southbound string) []api.Suspect {
	return w.list(func(s *suspect) bool { return s.Southbound == southbound && !s.Quarantined && !s.tried && !s.early })
}

// afterCrash finds out who may have brought a southbound down, of the callbacks
// that failed and of those that hang.
func (c *Control) afterCrash(southbound string, now time.Time, calls []exec.InFlight) {
	for _, call := range c.overdue.List() {
		if call.Southbound == southbound && !call.Stale && !call.Unread() && call.Owed != nil {
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
	for i := range calls {
		if s := c.ward.get(calls[i].Key); s != nil {
			s.wish = c.wishFor(s.Key, s.Base)
		}
	}
	c.toldSuspects()
	c.keepWard() // at once: the agent may not live longer than its southbound
}

func (c *Control) toldSuspects() {
	if c.opts.Suspects != nil {
		c.opts.Suspects(c.Suspects())
	}
}

// beginTrials queues the trial of the next suspect of a southbound, unless one is
// queued already.
func (c *Control) beginTrials(southbound string) {
	if c.ward.queued[southbound] == 0 {
		c.tryNext(southbound, 0)
	}
}

// tryNext queues the trial of the next suspect of a southbound.
func (c *Control) tryNext(southbound string, delay time.Duration) {
	if len(c.ward.list(func(s *suspect) bool { return s.Southbound == southbound && !s.Quarantined })) == 0 {
		c.keepWard()
		return
	}
	c.ward.queued[southbound]++
	t := &trial{ofTxn: c.nextSeq, southbound: southbound}
	if c.nextSeq > 0 {
		t.ofTxn--
	}
	if delay > 0 {
		c.after(delay, t)
	} else {
		_ = c.push(t) // a closed scheduler tries nothing
	}
}

// prepareTrial lets one suspect come up, with nothing beside it.
func (c *Control) prepareTrial(t *trial, p *prepared) bool {
	southbound := t.southbound
	c.ward.queued[southbound]--
	if p.request.Closed[southbound] {
		return false // it comes up again, and so do the trials
	}
	p.request.DropUnwanted = c.fullResyncDone // what an earlier run could not remove was found without being desired
	// Those whose trial failed, and the southbound has survived it.
	for _, s := range c.ward.list(func(s *suspect) bool { return s.Southbound == southbound && s.tried }) {
		if n, tried := c.graph.Node(s.Key), c.ward.get(s.Key); n != nil && (tried.again || n.Root().Revision != tried.revision) {
			p.request.Touch = append(p.request.Touch, s.Key)
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
		if c.unread(n) != "" || c.overdue.Holds(s.Key) {
			continue // nothing would be done with it; its trial is when that is over
		}
		delete(p.request.Pinned, s.Key)
		t.suspect = s.Key
		p.opts.Description = fmt.Sprintf("%s alone, since southbound %s went down while it was worked on", s.Key, southbound)
		p.request.Touch = append(p.request.Touch, s.Key)
		return true
	}
	return len(p.request.Touch) > 0
}

// afterTrial decides about a suspect.
func (c *Control) afterTrial(t *trial, res *exec.Result) {
	if t.suspect == "" {
		return // no suspect was left to try
	}
	failed := slices.ContainsFunc(res.Failures, func(f exec.Failure) bool { return f.Key == t.suspect })
	if !failed {
		c.ward.drop(t.suspect)
		c.toldSuspects()
		c.tryNext(t.southbound, 0)
		return
	}
	c.ward.mu.Lock()
	if s := c.ward.suspects[t.suspect]; s != nil {
		s.tried = true
		if n := c.graph.Node(t.suspect); n != nil {
			s.revision = n.Root().Revision
		}
	}
	c.ward.mu.Unlock()
	c.tryNext(t.southbound, verdict)
}

// heal takes a value out of quarantine that is changed or deleted, with what is
// derived from it. While it stays as it is the change is an error.
func (c *Control) heal(p *prepared, change *plan.Change, dry bool) {
	if len(c.ward.suspects) == 0 {
		return
	}
	for _, s := range c.ward.list(func(s *suspect) bool { return s.Quarantined && (s.Key == change.Key || s.Base == change.Key) }) {
		if sameWish(c.ward.get(s.Key).wish, change.Want) {
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

// sameWish tells whether the northbound wants what it wanted before.
func sameWish(wish proto.Message, want *registry.Value) bool {
	if wish == nil || want == nil || want.FromSB {
		return wish == nil && (want == nil || want.FromSB)
	}
	return proto.Equal(wish, want.Msg)
}

// wardOff looks whether anything can be done with a value that is to change.
func (c *Control) wardOff(p *prepared, change *plan.Change, dry bool) {
	c.postpone(p, change)
	c.heal(p, change, dry)
}

// followSuspects brings the suspects in step with what the northbound asks for.
func (c *Control) followSuspects() {
	if len(c.ward.suspects) > 0 {
		c.arrive()
		c.markQuarantined()
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
		c.ward.changed[q.Key] = true
		c.ward.mu.Unlock()
		southbounds[q.Southbound] = true
		c.clearError(c.graph.Node(q.Key))
	}
	c.toldSuspects()
	c.keepWard()
	for southbound := range southbounds {
		c.beginTrials(southbound)
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
