package graph

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// choosers are the nodes with a dependency that leaves a choice among the keys
// with a prefix.
type choosers struct {
	any  nodeSet // any value with the prefix will do
	some nodeSet // one that a selector takes as well
}

type nodeSet map[*Node]struct{}

// Choosing iterates over the nodes whose wanted or existing value has a
// dependency that names no key, but leaves a choice of which this one may be
// part; in no order and perhaps more than once. It leaves out those for which
// any value with a prefix will do where skip, asked once for every such prefix,
// says so.
func (g *Graph) Choosing(key string, skip func(prefix string) bool, yield func(*Node)) {
	for length := range g.lengths {
		if length > len(key) {
			continue
		}
		c := g.choosers[key[:length]]
		if c == nil {
			continue
		}
		if len(c.any) > 0 && !skip(key[:length]) {
			for n := range c.any {
				yield(n)
			}
		}
		for n := range c.some {
			yield(n)
		}
	}
	for n := range g.selected {
		yield(n)
	}
}

// choose notes those dependencies of a value that leave a choice of keys.
func (g *Graph) choose(n *Node, v *registry.Value) {
	if v == nil {
		return
	}
	for i := range v.Deps {
		dep := &v.Deps[i]
		switch {
		case dep.Key != "":
		case len(dep.AnyOf.KeyPrefixes) == 0:
			g.selected[n] = struct{}{}
		default:
			for _, prefix := range dep.AnyOf.KeyPrefixes {
				g.addChooser(prefix, dep, n)
			}
		}
	}
}

func (g *Graph) addChooser(prefix string, dep *api.Dependency, n *Node) {
	c := g.choosers[prefix]
	if c == nil {
		c = &choosers{}
		g.choosers[prefix] = c
		g.lengths[len(prefix)]++
	}
	set := c.of(dep)
	if *set == nil {
		*set = nodeSet{}
	}
	(*set)[n] = struct{}{}
}

func (g *Graph) removeChooser(prefix string, dep *api.Dependency, n *Node) {
	c := g.choosers[prefix]
	if c == nil {
		return
	}
	delete(*c.of(dep), n)
	if len(c.any)+len(c.some) > 0 {
		return
	}
	delete(g.choosers, prefix)
	delete(g.existing, prefix)
	if g.lengths[len(prefix)]--; g.lengths[len(prefix)] == 0 {
		delete(g.lengths, len(prefix))
	}
}

// of returns the set that those with such a dependency are in.
func (c *choosers) of(dep *api.Dependency) *nodeSet {
	if dep.AnyOf.KeySelector == nil {
		return &c.any
	}
	return &c.some
}

func (g *Graph) unchoose(n *Node, v *registry.Value) {
	for i := range v.Deps {
		dep := &v.Deps[i]
		switch {
		case dep.Key != "":
		case len(dep.AnyOf.KeyPrefixes) == 0:
			delete(g.selected, n)
		default:
			for _, prefix := range dep.AnyOf.KeyPrefixes {
				g.removeChooser(prefix, dep, n)
			}
		}
	}
}

func (g *Graph) unchooseDerived(n *Node) {
	for i := range n.Want.Derived {
		g.unchoose(n, n.Want.Derived[i].Value)
	}
}
