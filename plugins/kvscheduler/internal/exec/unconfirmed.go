package exec

import (
	"errors"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// An operation is undecided while its effect is unknown: its callback timed out and
// has not returned, or it failed and its effect could not be read back. Until then no
// other operation touches its key; see Overdue.

// doubt reports the operations that timed out. If any operation of the plan failed, it also
// reports one operation per base with operations on derived values: some of those may have
// been skipped, and reading the base may not show which of its derived values exist.
func (r *run) doubt(pl *plan.Plan, expired []int32, failed []string) {
	if r.Doubt == nil {
		return
	}
	for _, i := range expired {
		r.Doubt(&pl.Ops[i])
	}
	if len(failed) == 0 {
		return
	}
	bases := map[string]bool{}
	for i := range pl.Ops {
		if op := &pl.Ops[i]; op.Base != "" && !bases[op.Base] {
			bases[op.Base] = true
			r.Doubt(op)
		}
	}
}

// read reads back the effects of failed operations. An operation whose effect cannot be
// read stays undecided, unless the southbound received no request of it. If the southbound
// went down, all undecided operations wait for the read after the reconnect: an earlier
// read decides nothing, although a connection may exist again.
func (r *run) read(pl *plan.Plan, unknown []int32) {
	ops := make(map[string]int32, len(unknown))
	keys := make([]string, 0, len(unknown))
	for _, i := range unknown {
		ops[pl.Ops[i].Key] = i
		keys = append(keys, pl.Ops[i].Key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if r.Doubt != nil && errors.Is(r.failures[key].Err, api.ErrUndecided) {
			r.Doubt(&pl.Ops[ops[key]]) // the read decides
		}
	}
	unread := map[string]bool{}
	for _, key := range r.Refresh(keys) {
		unread[key] = true
	}
	for _, key := range keys {
		op := &pl.Ops[ops[key]]
		err := r.failures[key].Err
		if r.unsent.keys[key] || !unread[key] && r.Crashes.refuse(southbound(op)) == nil {
			continue
		}
		if r.Doubt != nil {
			r.Doubt(op)
		}
		r.Overdue.keep(op, err)
	}
}

// unsent finds the failed operations that had no effect: those that started after
// another operation had failed to reach the southbound. An operation that started
// earlier may have completed the first of several steps.
type unsent struct {
	lost map[string]time.Time // when an operation first failed to reach a southbound
	keys map[string]bool      // of operations without effect
}

// ended records an operation that failed.
func (u *unsent) ended(op *plan.Op, j *job, err error) {
	if !errors.Is(err, api.ErrUnreached) {
		return
	}
	at, lost := u.lost[op.Desc.Southbound]
	if !lost || j.end.Before(at) {
		u.lost[op.Desc.Southbound] = j.end
	}
	u.keys[op.Key] = lost && !j.start.Before(at)
}

// keep makes a failed operation undecided.
func (o *Overdue) keep(op *plan.Op, err error) {
	now := o.clock.Now()
	o.Keep(&Call{
		Descriptor: op.Desc.Name, Southbound: southbound(op), Callback: callback(op), Key: op.Key,
		Since: now, Returned: now, Err: err, op: op,
	})
}

// southbound returns the southbound of the value of an operation: its descriptor's, or its
// base value's.
func southbound(op *plan.Op) string {
	if base := op.BaseSelf; op.Desc.Session() == "" && op.Base != "" && base != nil && base.Node != nil && base.Node.Desc != nil {
		return base.Node.Desc.Session()
	}
	return op.Desc.Session()
}

// Keep makes a call that has returned undecided. Take returns it again after Wake.
func (o *Overdue) Keep(c *Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.kept = true
	o.calls[c] = struct{}{}
	o.count.Add(1)
	o.byKey[c.Key] = c
	o.kept++
}

// Unread reports that the call has returned and its effect could not be read.
func (c *Call) Unread() bool { return c.kept }

// Undecided counts the calls that have returned and whose effect could not be read.
func (o *Overdue) Undecided() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept
}

// Wake makes Take return the calls whose effect could not be read.
func (o *Overdue) Wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.calls {
		o.wake(c)
	}
}

func (o *Overdue) wake(c *Call) {
	if c.kept {
		c.kept = false
		o.kept--
	}
}
