package exec

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// Held returns the error that explains why a value was not changed. op is a
// plan.Note with Held set.
func Held(op *plan.Op, n *graph.Node) error {
	switch {
	case op.Held.By == plan.Unsure:
		return errors.New("it stays as it is until it is known whether what it needs exists: reading that failed")
	case op.Held.By != op.Key:
		return fmt.Errorf("held by %s, which could not be removed", op.Held.By)
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
