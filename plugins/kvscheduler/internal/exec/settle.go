package exec

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// StoodOn returns what could not be removed while the call was unfinished: the
// base of its value, and the providers of its dependencies.
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

// errGivenUp marks a value that a late callback created. If it is no longer
// desired, it is removed because of this error: undesired values without an
// error are kept.
var errGivenUp = errors.New("was given up, and came late")

// errPinned is the error of a value that is no longer desired but blocked by an
// unfinished call.
var errPinned = errors.New("the removal waits until the outcome of an earlier operation is known")

// postponed records a new desired state for a blocked value. It keeps an existing error.
// A value that exists and is no longer desired gets errPinned: without an error it would
// not be removed later.
func postponed(op *plan.Op, n *graph.Node) {
	switch {
	case !op.Changed:
	case n.Err == nil && n.Want == nil && n.Have != nil:
		n.Err = errPinned
	case n.Err == errPinned && n.Want != nil:
		n.Err = nil
	}
}

// succeeded clears the failure of a value. A value that is only pending keeps its last
// error for reports.
func (r *run) succeeded(op *plan.Op, n *graph.Node) {
	switch {
	case op.SetWant || r.reverted || op.After != kvscheduler.ValueState_PENDING:
		r.Graph.SetLastError(n, nil)
	case n.Err != nil:
		r.Graph.SetLastError(n, n.Err)
	}
	n.Err, n.Retrying = nil, false
	r.Graph.SetHeld(n, false)
	delete(r.failures, n.Key)
}

// Settle records the outcome of a callback that returned late in the graph: its
// effect if it succeeded, otherwise its error. It ignores the outcome of a callback
// from an earlier session. The caller should read the value back afterwards, if
// its descriptor can.
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
	if err := x.Graph.SetHave(n, c.op.Target, meta, x.created(c.op, n, true, c.found)); err != nil && n.Err == nil {
		n.Err = err
	}
}

// settled returns the node of a call that returned. It returns nil if the base
// value was removed, and the value with it.
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

// Held returns the error that explains why a value was not changed. op is a
// plan.Note with Held set.
func Held(op *plan.Op, n *graph.Node) error {
	switch {
	case op.Held.By == plan.Unsure:
		return errors.New("it stays as it is until it is known whether what it needs exists: reading that failed")
	case op.Held.By != op.Key:
		return fmt.Errorf("held by %s, which could not be removed", op.Held.By)
	case op.Have != nil && len(api.Unmodeled(op.Have.Msg)) > 0:
		return fmt.Errorf("another process made it, with %s, for which the model has no field: it is left as it is; remove it, or give this item another name",
			strings.Join(api.Unmodeled(op.Have.Msg), ", "))
	case op.Want != nil && op.Want.Invalid == nil && op.Desc.NeedsRecreate(op.Key, op.Have.Msg, op.Want.Msg, n.Meta):
		return api.Permanent(errors.New("it was adopted, not made by the agent, and would have to be re-created: it is left as it is; remove it, or make it managed"))
	}
	return api.Permanent(fmt.Errorf("it was adopted, not made by the agent, and needs %s, which is missing or would be removed by its change: it is left as it is",
		cmp.Or(op.Held.Lacks, "something")))
}

// ownership returns how an operation changes the owner of its value; called reports that
// a callback ran. Only the operation of a derived value gives it back or takes it over. A
// base value changes its owner with its desired state, since an operation may fail or not
// start.
func ownership(op *plan.Op, n *graph.Node, called bool) graph.Event {
	switch {
	case op.Kind == plan.Down && op.Lost:
		return graph.Lost
	case op.Kind == plan.Down:
		return graph.Deleted
	case op.Target.FromSB:
		return ofOthers(op, n, called)
	case n.Owner == graph.None:
		return graph.Created
	case n.Owner == graph.Foreign:
		return graph.TakenOver
	}
	return graph.Unchanged
}

// created is ownership for an operation that creates or updates its value; found reports that
// Create found the object.
func (x *Executor) created(op *plan.Op, n *graph.Node, called, found bool) graph.Event {
	event := ownership(op, n, called)
	if found && event == graph.Created && op.Base == "" && x.Policies.Of(op.Desc, op.Key) == registry.Adopt {
		return graph.Adopt
	}
	return event
}

// ofOthers is ownership for a value that is foreign after the operation.
func ofOthers(op *plan.Op, n *graph.Node, called bool) graph.Event {
	switch owner := n.Owner; {
	case owner == graph.None && called:
		return graph.Restored
	case owner == graph.None, owner == graph.Ours && op.Notified:
		return graph.Found
	case owner == graph.Ours:
		return graph.GivenBack
	}
	return graph.Unchanged
}
