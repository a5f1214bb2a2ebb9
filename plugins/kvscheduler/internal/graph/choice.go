package graph

import (
	"strings"
	"unsafe"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Choice is the keys with a prefix that a selector takes, if there is one. Many
// values may depend on the same choice, so it can be compared. Functions cannot,
// in Go, but the pointers can that they are: they are the same if the code is and
// the variables that it captured are. Where each value brings a closure of its
// own there are as many choices.
type Choice struct {
	Prefix   string
	selector unsafe.Pointer // an api.KeySelector
}

// NewChoice returns a choice; sel may be nil.
func NewChoice(prefix string, sel api.KeySelector) Choice {
	return Choice{prefix, *(*unsafe.Pointer)(unsafe.Pointer(&sel))}
}

// Takes reports whether a key is part of the choice.
func (c Choice) Takes(key string) bool {
	return strings.HasPrefix(key, c.Prefix) && c.Selects(key)
}

// Selects is Takes for a key with the prefix.
func (c Choice) Selects(key string) bool { return c.function().Selects(key) }

// function is the selector; it may be nil.
func (c Choice) function() api.KeySelector { return *(*api.KeySelector)(unsafe.Pointer(&c.selector)) }

var everything = []string{""}

// Prefixes are those of the keys that meet a dependency which names none.
func Prefixes(dep *api.Dependency) []string {
	if len(dep.AnyOf.KeyPrefixes) == 0 && dep.AnyOf.KeySelector != nil {
		return everything
	}
	return dep.AnyOf.KeyPrefixes
}

// choosers are the nodes with a dependency that leaves a choice among the keys
// with a prefix.
type choosers struct {
	any  nodeSet            // any value with the prefix will do
	some map[Choice]nodeSet // one that a selector takes as well
}

type nodeSet map[*Node]struct{}

// Choosing iterates over the nodes whose wanted or existing value has a
// dependency that names no key, but leaves a choice that takes this one; in no
// order and perhaps more than once. It leaves out those of a choice for which
// skip, asked once for each that takes the key, says so.
func (g *Graph) Choosing(key string, skip func(Choice) bool, yield func(*Node)) {
	for length := range g.lengths {
		if length > len(key) {
			continue
		}
		c := g.choosers[key[:length]]
		if c == nil {
			continue
		}
		if len(c.any) > 0 && !skip(Choice{Prefix: key[:length]}) {
			for n := range c.any {
				yield(n)
			}
		}
		for choice, nodes := range c.some {
			if g.Selects(choice, key) && !skip(choice) {
				for n := range nodes {
					yield(n)
				}
			}
		}
	}
}

// choose notes those dependencies of a value that leave a choice of keys.
func (g *Graph) choose(n *Node, v *registry.Value) {
	if v == nil {
		return
	}
	for i := range v.Deps {
		if dep := &v.Deps[i]; dep.Key == "" {
			for _, prefix := range Prefixes(dep) {
				g.addChooser(NewChoice(prefix, dep.AnyOf.KeySelector), n)
			}
		}
	}
}

func (g *Graph) addChooser(choice Choice, n *Node) {
	c := g.choosers[choice.Prefix]
	if c == nil {
		c = &choosers{any: nodeSet{}}
		g.choosers[choice.Prefix] = c
		g.lengths[len(choice.Prefix)]++
	}
	set := c.any
	if choice.selector != nil {
		if set = c.some[choice]; set == nil {
			if c.some == nil {
				c.some = map[Choice]nodeSet{}
			}
			set = nodeSet{}
			c.some[choice] = set
		}
	}
	set[n] = struct{}{}
}

func (g *Graph) removeChooser(choice Choice, n *Node) {
	c := g.choosers[choice.Prefix]
	switch {
	case c == nil:
		return
	case choice.selector == nil:
		delete(c.any, n)
	default:
		delete(c.some[choice], n)
		if len(c.some[choice]) == 0 {
			delete(c.some, choice)
		}
	}
	if len(c.any)+len(c.some) > 0 {
		return
	}
	delete(g.choosers, choice.Prefix)
	delete(g.existing, choice.Prefix)
	if g.lengths[len(choice.Prefix)]--; g.lengths[len(choice.Prefix)] == 0 {
		delete(g.lengths, len(choice.Prefix))
	}
}

func (g *Graph) unchoose(n *Node, v *registry.Value) {
	for i := range v.Deps {
		if dep := &v.Deps[i]; dep.Key == "" {
			for _, prefix := range Prefixes(dep) {
				g.removeChooser(NewChoice(prefix, dep.AnyOf.KeySelector), n)
			}
		}
	}
}

func (g *Graph) unchooseDerived(n *Node) {
	for i := range n.Want.Derived {
		g.unchoose(n, n.Want.Derived[i].Value)
	}
}
