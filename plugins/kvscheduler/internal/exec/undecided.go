package exec

import (
	"errors"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// An operation is undecided while its effect is unknown: its callback timed out and
// has not returned, or it failed and its effect could not be read back. No other
// operation touches its key meanwhile; see Overdue.

// doubt reports operations that timed out and, of a plan in which any operation failed, the
// bases of its operations on derived values: some of them may not have been executed, and
// what is read of a base need not tell which of its derived values exist.
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

// read reads back the effects of failed operations. An operation stays undecided if its
// effect cannot be read now, unless the southbound received no request of it. If the
// southbound went down, it is read when it is up again, with all that is undecided: until
// then a reading decides nothing, although a connection may exist again.
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
			r.Doubt(&pl.Ops[ops[key]]) // the reading decides
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

// unsent finds the operations that cannot have had any effect: those that began after
// another one had found the southbound gone. One that began before and finds it gone
// may have taken the first of several steps.
type unsent struct {
	lost map[string]time.Time // when a southbound was found gone first
	keys map[string]bool      // of operations without effect
}

// ended records an operation that failed.
func (u *unsent) ended(op *plan.Op, j *job) {
	if !errors.Is(j.err, api.ErrUnreached) {
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
	if o == nil {
		return
	}
	now := o.clock.Now()
	o.Keep(&Call{
		Descriptor: op.Desc.Name, Southbound: southbound(op), Callback: callback(op), Key: op.Key,
		Since: now, Returned: now, Err: err, op: op,
	})
}

// southbound is the session that the value of an operation lives in: that of its
// descriptor, or of what it is derived from.
func southbound(op *plan.Op) string {
	if base := op.BaseSelf; op.Desc.Session() == "" && op.Base != "" && base != nil && base.Node != nil && base.Node.Desc != nil {
		return base.Node.Desc.Session()
	}
	return op.Desc.Session()
}

// Keep leaves a call undecided that has returned. Take returns it again after Wake.
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
