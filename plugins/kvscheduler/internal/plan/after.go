package plan

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// after is the state that is expected after a plan, a graph.Projection. It remembers the
// results for patterns, since many values may have the same one.
type after struct {
	pl       *Plan
	g        *graph.Graph
	exists   map[string]bool // for the keys that the plan changes; nil before the first use
	patterns map[graph.KeyPattern]bool
}

// After returns the state that is expected after the plan. The graph must be as it was
// when the plan was made.
func (p *Plan) After(g *graph.Graph) graph.Projection {
	return &after{pl: p, g: g, patterns: map[graph.KeyPattern]bool{}}
}

// planned returns whether the values exist that the plan changes.
func (a *after) planned() map[string]bool {
	if a.exists != nil {
		return a.exists
	}
	a.exists = map[string]bool{}
	for i := range a.pl.Ops {
		if op := &a.pl.Ops[i]; op.Kind != Note {
			a.exists[op.Key] = op.Target != nil
		}
	}
	return a.exists
}

// Exists implements graph.Projection.
func (a *after) Exists(_ int, key string) bool {
	if exists, planned := a.planned()[key]; planned {
		return exists
	}
	n := a.g.Node(key)
	return n != nil && n.Provides()
}

// Any implements graph.Projection.
func (a *after) Any(of graph.KeyPattern) bool {
	met, known := a.patterns[of]
	if !known {
		met = a.any(of)
		a.patterns[of] = met
	}
	return met
}

func (a *after) any(of graph.KeyPattern) bool {
	for key, exists := range a.planned() {
		if exists && of.Takes(key) {
			return true
		}
	}
	for n := range a.g.Ascend(of.Prefix) {
		if _, planned := a.exists[n.Key]; !planned && n.Provides() && of.Selects(n.Key) {
			return true
		}
	}
	return false
}

// Why implements graph.Projection.
func (a *after) Why(dep *api.Dependency) graph.Reason {
	switch n := a.g.Provider(dep); {
	case n == nil:
		return graph.Missing
	case n.Provides():
		return graph.Leaving
	}
	return graph.Stuck
}
