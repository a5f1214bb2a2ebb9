package graph

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// KeyPattern matches the keys with a prefix that a selector takes, if there is one.
// Many values may depend on any key of the same pattern, so patterns can be compared.
// Go cannot compare functions, but it can compare the pointers to them: two are equal
// if the code and the captured variables are the same. Where each value has a closure
// of its own there are as many patterns.
type KeyPattern struct {
	Prefix   string
	selector unsafe.Pointer // an api.KeySelector
}

// NewKeyPattern returns a pattern; sel may be nil.
func NewKeyPattern(prefix string, sel api.KeySelector) KeyPattern {
	return KeyPattern{prefix, *(*unsafe.Pointer)(unsafe.Pointer(&sel))}
}

// Selects reports whether a key with the prefix matches the pattern.
func (c KeyPattern) Selects(key string) bool { return c.function().Selects(key) }

// function is the selector; it may be nil.
func (c KeyPattern) function() api.KeySelector {
	return *(*api.KeySelector)(unsafe.Pointer(&c.selector))
}

var everything = []string{""}

// Prefixes returns the prefixes of the keys that meet a dependency which names no key.
func Prefixes(dep *api.Dependency) []string {
	if len(dep.AnyOf.KeyPrefixes) == 0 && dep.AnyOf.KeySelector != nil {
		return everything
	}
	return dep.AnyOf.KeyPrefixes
}

// anyOfDependents are the nodes with a dependency on any of the keys with a prefix.
type anyOfDependents struct {
	any  nodeSet                // any value with the prefix will do
	some map[KeyPattern]nodeSet // one that a selector takes as well
}

// nodeSet is a set of nodes. It has a map only while it has several: of the patterns of closures
// there is one for each value.
type nodeSet struct {
	one  *Node
	more map[*Node]struct{}
}

func (s *nodeSet) add(n *Node) {
	switch {
	case s.more != nil:
		s.more[n] = struct{}{}
	case s.one == nil:
		s.one = n
	case s.one != n:
		s.one, s.more = nil, map[*Node]struct{}{s.one: {}, n: {}}
	}
}

func (s *nodeSet) remove(n *Node) {
	if delete(s.more, n); s.one == n {
		s.one = nil
	}
}

func (s *nodeSet) empty() bool { return s.one == nil && len(s.more) == 0 }

func (s *nodeSet) each(yield func(*Node)) {
	if s.one != nil {
		yield(s.one)
	}
	for n := range s.more {
		yield(n)
	}
}

// AnyOfDependents iterates over the nodes whose wanted or existing value has a
// dependency that names no key, but a pattern that matches this one; in no order and
// perhaps more than once. skip is called once for each pattern that matches the key; the
// nodes of a pattern for which it returns true are left out.
func (g *Graph) AnyOfDependents(key string, skip func(KeyPattern) bool, yield func(*Node)) {
	for length := range g.lengths {
		if length > len(key) {
			continue
		}
		c := g.anyOfDependents[key[:length]]
		if c == nil {
			continue
		}
		if !c.any.empty() && !skip(KeyPattern{Prefix: key[:length]}) {
			c.any.each(yield)
		}
		for pattern, nodes := range c.some {
			if g.Selects(pattern, key) && !skip(pattern) {
				nodes.each(yield)
			}
		}
	}
}

// linkAnyOf records the dependencies of a value that name no key.
func (g *Graph) linkAnyOf(n *Node, v *registry.Value) {
	if v != nil {
		g.eachAnyOf(n, v, (*Graph).addAnyOf)
	}
}

func (g *Graph) unlinkAnyOf(n *Node, v *registry.Value) { g.eachAnyOf(n, v, (*Graph).removeAnyOf) }

func (g *Graph) eachAnyOf(n *Node, v *registry.Value, change func(*Graph, KeyPattern, *Node)) {
	for i := range v.Deps {
		if dep := &v.Deps[i]; dep.Key == "" {
			for _, prefix := range Prefixes(dep) {
				change(g, NewKeyPattern(prefix, dep.AnyOf.KeySelector), n)
			}
		}
	}
}

func (g *Graph) addAnyOf(pattern KeyPattern, n *Node) {
	c := g.anyOfDependents[pattern.Prefix]
	if c == nil {
		c = &anyOfDependents{some: map[KeyPattern]nodeSet{}}
		g.anyOfDependents[pattern.Prefix] = c
		g.lengths[len(pattern.Prefix)]++
	}
	if pattern.selector == nil {
		c.any.add(n)
		return
	}
	set := c.some[pattern]
	set.add(n)
	c.some[pattern] = set
}

func (g *Graph) removeAnyOf(pattern KeyPattern, n *Node) {
	c := g.anyOfDependents[pattern.Prefix]
	switch {
	case c == nil:
		return
	case pattern.selector == nil:
		c.any.remove(n)
	default:
		set := c.some[pattern]
		if set.remove(n); set.empty() {
			delete(c.some, pattern)
		} else {
			c.some[pattern] = set
		}
	}
	if !c.any.empty() || len(c.some) > 0 {
		return
	}
	delete(g.anyOfDependents, pattern.Prefix)
	delete(g.existing, pattern.Prefix)
	if g.lengths[len(pattern.Prefix)]--; g.lengths[len(pattern.Prefix)] == 0 {
		delete(g.lengths, len(pattern.Prefix))
	}
}

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
