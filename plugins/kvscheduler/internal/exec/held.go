package exec

import (
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// Held says why a value stays as it is, of an operation that is only a note of
// that.
func Held(op *plan.Op, n *graph.Node) error {
	switch {
	case op.Held == plan.Unsure:
		return errors.New("it stays as it is until it is known whether what it needs exists: reading that failed")
	case op.Held != op.Key:
		return fmt.Errorf("held by %s, which could not be removed", op.Held)
	case op.Want != nil && op.Want.Invalid == nil && op.Desc.NeedsRecreate(op.Key, op.Have.Msg, op.Want.Msg, n.Meta):
		return api.Permanent(errors.New("it was adopted, not made by the agent, and would have to be re-created: it is left as it is; remove it, or make it managed"))
	case op.Knot:
		return api.Permanent(errors.New("it was adopted, not made by the agent, and something that it needs would go with its change: it is left as it is"))
	}
	return api.Permanent(errors.New("it was adopted, not made by the agent, and something that it needs is missing: it is left as it is"))
}
