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
