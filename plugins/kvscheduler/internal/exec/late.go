package exec

import (
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// StoodOn is what the value of the call may have kept from going: its base, and
// what its dependencies lead to.
func (c *Call) StoodOn() (base string, deps []api.Dependency) {
	if c.op == nil {
		return "", nil
	}
	for _, v := range []*registry.Value{c.op.Have, c.op.Target} {
		if v != nil {
			deps = append(deps, v.Deps...)
		}
	}
	return c.op.Base, deps
}

// errGivenUp lets a value that came late be removed, when nobody wants it any
// more; values without an error that nobody wants are left alone.
var errGivenUp = errors.New("was given up, and came late")

// errPinned is the error of a value that is no longer desired and must not be touched now.
var errPinned = errors.New("the removal waits until the outcome of an earlier operation is known")

// postponed notes a new wish for a value that must not be touched now. A failure stands. A
// value that exists gets one if it is no longer desired: without one it would be left alone
// later.
func postponed(op *plan.Op, n *graph.Node) {
	switch {
	case !op.Changed:
	case n.Err == nil && n.Want == nil && n.Have != nil:
		n.Err = errPinned
	case n.Err == errPinned && n.Want != nil:
		n.Err = nil
	}
}

// succeeded ends the failure of a value. If it only waits for what it depends on, its last
// error is still of interest.
func (r *run) succeeded(op *plan.Op, n *graph.Node) {
	switch {
	case op.SetWant || r.reverted || op.After != kvscheduler.ValueState_PENDING:
		r.Graph.SetLastError(n, nil)
	case n.Err != nil:
		r.Graph.SetLastError(n, n.Err)
	}
	n.Err, n.Retrying, n.Held = nil, false, false
	delete(r.failures, n.Key)
}

// Settle brings the outcome of a callback that returned late into the graph:
// what it did if it was successful, else why it failed. Of one that was begun in
// another session only reading shows what it did. The value should be
// read back afterwards, as far as that is possible.
func (x *Executor) Settle(c *Call) {
	if c.op == nil {
		return
	}
	x.Lock.Lock()
	defer x.Lock.Unlock()
	n := x.settled(c)
	if n == nil || c.Stale {
		return
	}
	if c.Err != nil {
		if n.Err != nil {
			n.Err = fmt.Errorf("%w (%s returned after %v)", c.Err, c.Callback, c.Returned.Sub(c.Since))
		}
		return
	}
	if c.op.Kind == plan.Down {
		x.Graph.Remove(n, graph.Deleted)
		return
	}
	meta := c.meta
	if !c.op.Desc.WithMetadata {
		meta = nil
	}
	if err := x.Graph.SetHave(n, c.op.Target, meta, ownership(c.op, n, true)); err != nil && n.Err == nil {
		n.Err = err
	}
}

// settled is the node of a call that returned; nil: its value went with its base.
func (x *Executor) settled(c *Call) *graph.Node {
	if n := x.Graph.Node(c.Key); n != nil {
		return n
	}
	var base *graph.Node
	if c.op.Base != "" {
		if base = x.Graph.Node(c.op.Base); base == nil {
			return nil
		}
	}
	n := x.Graph.Ensure(c.Key, c.op.Desc, base)
	n.Err = errGivenUp
	if c.op.Base != "" && c.Err != nil && !c.Stale && c.op.Desc.RetrieveValue != nil {
		_ = x.Graph.SetHave(n, c.op.Target, nil, ownership(c.op, n, true)) // to be read by what it may be
	}
	return n
}
