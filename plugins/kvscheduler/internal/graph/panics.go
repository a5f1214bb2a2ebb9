package graph

import (
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// selectorPanic is a key for which the selector of a choice panicked, and how.
type selectorPanic struct{ key, problem string }

// Selects is Selects of a choice, and remembers a panic. It is for the one writer
// of the graph.
func (g *Graph) Selects(of Choice, key string) (takes bool) {
	if of.selector == nil {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			takes = false
			g.panicked(of, key, p)
		}
	}()
	return of.function()(key)
}

func (g *Graph) panicked(of Choice, key string, p any) {
	if known, ok := g.panics[of]; ok && known.key <= key { // one is enough, always the same
		return
	}
	if g.panics == nil {
		g.panics = map[Choice]selectorPanic{}
	}
	g.panics[of] = selectorPanic{key, registry.Panicked("KeySelector of "+key, p)}
}

// AnyPanics tells whether there may be something in Panics.
func (g *Graph) AnyPanics() bool { return len(g.panics) > 0 }

// Panic is how the selector of a choice panics for a key that exists, so that it is
// not known what the choice takes, and who depends on that.
type Panic struct {
	Of         Choice
	Problem    string // empty: it is over, which is told once
	Dependents map[*Node]struct{}
}

// Panics are those that were seen and are not over, in no order.
func (g *Graph) Panics() []Panic {
	list := make([]Panic, 0, len(g.panics))
	for _, of := range slices.Collect(maps.Keys(g.panics)) {
		p := Panic{Of: of, Problem: g.stillPanics(of)}
		if c := g.choosers[of.Prefix]; c != nil {
			p.Dependents = c.some[of]
		}
		if p.Problem == "" || len(p.Dependents) == 0 {
			delete(g.panics, of)
		}
		list = append(list, p)
	}
	return list
}

// stillPanics returns how the selector panics for a key that exists; empty if for
// none. It is pure, so what is known is not asked for again.
func (g *Graph) stillPanics(of Choice) string {
	if n := g.Node(g.panics[of].key); n != nil && n.Have != nil {
		return g.panics[of].problem
	}
	delete(g.panics, of)
	g.Existing(of.Prefix, func(n *Node) bool {
		g.Selects(of, n.Key)
		_, found := g.panics[of]
		return !found
	})
	return g.panics[of].problem
}
