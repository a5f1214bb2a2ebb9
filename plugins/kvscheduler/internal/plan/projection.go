package plan

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// lacks iterates over the dependencies of v that are not met in the target, and why. v is
// what n wants, has or is to become.
func (p *planner) lacks(n *node, v *registry.Value, yield func(graph.Reason, *api.Dependency) bool) {
	in := &target{p, n, v}
	graph.Lacks(in, v, func(_ int, dep *api.Dependency) bool { return yield(in.Why(dep), dep) })
}

// unmet is the first dependency of v that is not met in the target; nil if there is none.
func (p *planner) unmet(n *node, v *registry.Value) (first *api.Dependency) {
	p.seen = target{p, n, v} // not allocated, since most values are asked
	graph.Lacks(&p.seen, v, func(_ int, dep *api.Dependency) bool {
		first = dep
		return false
	})
	return first
}

// target is the target of the plan as value v of n sees it, a graph.Projection.
type target struct {
	p *planner
	n *node
	v *registry.Value
}

func (t *target) Exists(i int, _ string) bool {
	gn, w := t.p.named(t.n, t.v, i)
	return w != nil && w.provides() || w == nil && gn != nil && gn.Provides()
}

func (t *target) Any(of graph.KeyPattern) bool { return t.p.patterns.meets(t.p.patterns.pattern(of)) }

func (t *target) Why(dep *api.Dependency) graph.Reason {
	switch {
	case t.p.g.Provider(dep) != nil:
		return graph.Leaving
	case dep.Creation, t.p.req.Unread.Meets(dep):
		return graph.Unread
	}
	return graph.Missing
}

// staying are the values that exist before, after and all the time in between, a
// graph.Projection like target.
type staying struct{ *target }

func (t staying) Exists(i int, _ string) bool {
	gn, w := t.p.named(t.n, t.v, i)
	return w != nil && w.stays() || w == nil && gn != nil && gn.Have != nil
}

func (t staying) Any(of graph.KeyPattern) bool {
	return t.p.patterns.staying(t.p.patterns.pattern(of))
}

// staysOrComes are the values that stay, and those that are created, a graph.Projection
// like target.
type staysOrComes struct{ *target }

func (t staysOrComes) Exists(i int, _ string) bool {
	gn, w := t.p.named(t.n, t.v, i)
	if w != nil {
		return w.stays() || w.kind == Up
	}
	return gn != nil && gn.Have != nil
}

func (t staysOrComes) Any(of graph.KeyPattern) bool {
	return t.p.patterns.moves(t.p.patterns.pattern(of))
}

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

func (a *after) Exists(_ int, key string) bool {
	if exists, planned := a.planned()[key]; planned {
		return exists
	}
	n := a.g.Node(key)
	return n != nil && n.Provides()
}

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
		if exists && strings.HasPrefix(key, of.Prefix) && of.Selects(key) {
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

func (a *after) Why(dep *api.Dependency) graph.Reason {
	switch n := a.g.Provider(dep); {
	case n == nil:
		return graph.Missing
	case n.Provides():
		return graph.Leaving
	}
	return graph.Stuck
}
