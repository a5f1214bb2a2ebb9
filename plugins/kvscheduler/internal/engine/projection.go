package engine

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// projection is the actual state that is expected after a plan. It caches the results
// for AnyOf dependencies, since many values may have the same one.
type projection struct {
	graph *graph.Graph
	pl    *plan.Plan

	exists   map[string]bool // for the keys that the plan changes; nil before the first use
	patterns map[string]bool // by prefixes: a value with one of them exists
}

// met reports whether the dependency is met.
func (a *projection) met(dep *api.Dependency) bool {
	if a.exists == nil {
		a.exists = map[string]bool{}
		for i := range a.pl.Ops {
			if op := &a.pl.Ops[i]; op.Kind != plan.Note {
				a.exists[op.Key] = op.Target != nil
			}
		}
	}
	if dep.Key != "" {
		if exists, planned := a.exists[dep.Key]; planned {
			return exists
		}
		w := a.graph.Provider(dep)
		return w != nil && !w.Terminating()
	}
	if dep.AnyOf.KeySelector != nil {
		return a.metByAny(dep)
	}
	pattern := strings.Join(dep.AnyOf.KeyPrefixes, "\x00")
	met, known := a.patterns[pattern]
	if !known {
		if a.patterns == nil {
			a.patterns = map[string]bool{}
		}
		met = a.metByAny(dep)
		a.patterns[pattern] = met
	}
	return met
}

func (a *projection) metByAny(dep *api.Dependency) (met bool) {
	for key, exists := range a.exists {
		if exists && graph.Meets(dep, key) {
			return true
		}
	}
	prefixes := dep.AnyOf.KeyPrefixes
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		a.graph.Ascend(prefix, func(n *graph.Node) bool {
			_, planned := a.exists[n.Key]
			met = n.Have != nil && !n.Terminating() && !planned && graph.Meets(dep, n.Key)
			return !met
		})
		if met {
			break
		}
	}
	return met
}
