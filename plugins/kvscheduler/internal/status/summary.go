package status

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// severity orders the states of values that are not in effect, the worst first.
var severity = []kvscheduler.ValueState{
	kvscheduler.ValueState_FAILED, kvscheduler.ValueState_INVALID, kvscheduler.ValueState_RETRYING,
	kvscheduler.ValueState_MISSING, kvscheduler.ValueState_UNIMPLEMENTED, kvscheduler.ValueState_PENDING,
}

// Summary counts the values by state and returns the status of the worst. It describes
// only those, so that its cost is that of one pass over the graph.
func (r *Reader) Summary(worst int) api.StateSummary {
	sum := api.StateSummary{Counts: map[api.ValueState]int{}}
	found := make([][]*graph.Node, len(severity))
	r.Graph.Ascend("", func(n *graph.Node) bool {
		state := plan.State(n)
		if state == kvscheduler.ValueState_NONEXISTENT {
			return true
		}
		sum.Counts[state]++
		if i := slices.Index(severity, state); i >= 0 {
			sum.Troubles++
			if len(found[i]) < worst {
				found[i] = append(found[i], n)
			}
		}
		return true
	})
	for _, nodes := range found {
		for _, n := range nodes[:min(len(nodes), worst-len(sum.Worst))] {
			sum.Worst = append(sum.Worst, r.value(n))
		}
	}
	return sum
}
