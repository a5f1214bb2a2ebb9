package exec

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

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
	case n.Owner() == graph.None:
		return graph.Created
	case n.Owner() == graph.Foreign:
		return graph.TakenOver
	}
	return graph.Unchanged
}

// ofOthers is ownership for a value that is foreign after the operation.
func ofOthers(op *plan.Op, n *graph.Node, called bool) graph.Event {
	switch owner := n.Owner(); {
	case owner == graph.None && called:
		return graph.Restored
	case owner == graph.None, owner == graph.Ours && op.Notified:
		return graph.Found
	case owner == graph.Ours:
		return graph.GivenBack
	}
	return graph.Unchanged
}
