package graph

import (
	"cmp"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// SelectorPanic is a dependency on any of several values whose KeySelector panicked.
type SelectorPanic struct {
	Problem    string
	Dependents []*Node // the values that have the dependency, in no order
}

// selectorPanic is a key for which the selector of a pattern panicked, and how.
type selectorPanic struct{ key, problem string }

// Selects is Selects of a pattern, and remembers a panic for TakePanics. It is for the
// one writer of the graph.
func (g *Graph) Selects(of KeyPattern, key string) (takes bool) {
	if of.selector == nil {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			takes = false
			if known, ok := g.panics[of]; !ok || key < known.key { // one is enough, always the same
				g.panics[of] = selectorPanic{key, registry.Panicked("KeySelector of "+key, p)}
			}
		}
	}()
	return of.function()(key)
}

// TakePanics returns the panics of selectors since the last call, sorted by problem.
func (g *Graph) TakePanics() []SelectorPanic {
	if len(g.panics) == 0 {
		return nil
	}
	list := make([]SelectorPanic, 0, len(g.panics))
	for of, known := range g.panics {
		p := SelectorPanic{Problem: known.problem}
		if c := g.anyOfDependents[of.Prefix]; c != nil {
			nodes := c.some[of]
			nodes.each(func(n *Node) { p.Dependents = append(p.Dependents, n) })
		}
		list = append(list, p)
	}
	clear(g.panics)
	slices.SortFunc(list, func(a, b SelectorPanic) int { return cmp.Compare(a.Problem, b.Problem) })
	return list
}
