package exec

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// ownership is how an operation changes the owner of its value; called reports that a
// callback ran. Only a derived value is given back or taken over by its operation. A
// base value is when its desired value changes: an operation may fail, or not begin.
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

// ofOthers is ownership for a value that belongs to others after the operation.
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
