package exec

import (
	"errors"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// An operation is undecided while nobody knows what it did: its callback timed out
// and has not returned, or it failed and its effect could not be read back. Nobody
// touches its key meanwhile; see Overdue.

// doubt reports operations that timed out.
func (r *run) doubt(pl *plan.Plan, expired []int32) {
	if r.Doubt == nil {
		return
	}
	for _, i := range expired {
		r.Doubt(&pl.Ops[i])
	}
}

// read reads back what failed operations did. Those of which that cannot be read
// now stay undecided, unless the southbound was not even asked.
func (r *run) read(pl *plan.Plan, unknown []int32) {
	ops := make(map[string]int32, len(unknown))
	keys := make([]string, 0, len(unknown))
	for _, i := range unknown {
		ops[pl.Ops[i].Key] = i
		keys = append(keys, pl.Ops[i].Key)
	}
	slices.Sort(keys)
	for _, key := range r.Refresh(keys) {
		op := &pl.Ops[ops[key]]
		err := r.failures[key].Err
		if errors.Is(err, api.ErrUnreached) {
			continue
		}
		if r.Doubt != nil {
			r.Doubt(op)
		}
		r.Overdue.keep(op, err)
	}
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
