package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

type keySet map[string]struct{}

// needs reports whether the outcome of a plan may depend on notifications about some
// keys: a value stays pending, perhaps because of them, or has one of them as provider.
func needs(pl *plan.Plan, news keySet) bool {
	for i := range pl.Ops {
		op := &pl.Ops[i]
		switch {
		case op.Want == nil:
		case op.After == kvscheduler.ValueState_PENDING:
			return true
		case op.Kind == plan.Up || op.Kind == plan.Update:
			for j := range op.Want.Deps {
				if news.meet(&op.Want.Deps[j]) {
					return true
				}
			}
		}
	}
	return false
}

func (s keySet) meet(dep *api.Dependency) bool {
	if dep.Key != "" {
		_, named := s[dep.Key]
		return named
	}
	for key := range s {
		if graph.Meets(dep, key) {
			return true
		}
	}
	return false
}
