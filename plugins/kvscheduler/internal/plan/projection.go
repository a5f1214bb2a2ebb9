package plan

import (
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

// Exists implements graph.Projection.
func (t *target) Exists(i int, _ string) bool {
	gn, w := t.p.named(t.n, t.v, i)
	return w != nil && w.provides() || w == nil && gn != nil && gn.Provides()
}

// Any implements graph.Projection.
func (t *target) Any(of graph.KeyPattern) bool { return t.p.patterns.meets(t.p.patterns.pattern(of)) }

// Why implements graph.Projection.
func (t *target) Why(dep *api.Dependency) graph.Reason {
	switch {
	case t.p.g.Provider(dep) != nil:
		return graph.Leaving
	case t.p.req.Unread.Meets(dep):
		return graph.Unread
	}
	return graph.Missing
}

// staying are the values that exist before, after and all the time in between, a
// graph.Projection like target.
type staying struct{ *target }

// Exists implements graph.Projection.
func (t staying) Exists(i int, _ string) bool {
	gn, w := t.p.named(t.n, t.v, i)
	return w != nil && w.stays() || w == nil && gn != nil && gn.Have != nil
}

// Any implements graph.Projection.
func (t staying) Any(of graph.KeyPattern) bool {
	return t.p.patterns.staying(t.p.patterns.pattern(of))
}

// staysOrComes are the values that stay, and those that are created, a graph.Projection
// like target.
type staysOrComes struct{ *target }

// Exists implements graph.Projection.
func (t staysOrComes) Exists(i int, _ string) bool {
	gn, w := t.p.named(t.n, t.v, i)
	if w != nil {
		return w.stays() || w.kind == Up
	}
	return gn != nil && gn.Have != nil
}

// Any implements graph.Projection.
func (t staysOrComes) Any(of graph.KeyPattern) bool {
	return t.p.patterns.moves(t.p.patterns.pattern(of))
}
