package graph

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// edge leads from a node to the one whose key a dependency of its value names,
// so that it need not be looked up by key. The edges of a value are in the
// order of its dependencies.
type edge struct {
	to *Node // nil: the dependency names no key
	at int32 // where the edge is in to.relations.dependents
}

// dependent is the other end of an edge.
type dependent struct {
	from *Node
	edge *edge
}

// Exact returns the node that dependency i of a value names by its key, nil if
// there is none. ok reports whether it is known: v has to be what n wants or has.
func (n *Node) Exact(v *registry.Value, i int) (to *Node, ok bool) {
	var edges []edge
	switch {
	case v == n.Want:
		edges = n.edges
	case v == n.Have && n.otherEdges != nil:
		edges = *n.otherEdges
	}
	if i >= len(edges) || edges[i].to == nil {
		return nil, false
	}
	if to = edges[i].to; to.Gone {
		return nil, true
	}
	return to, true
}

// Naming iterates over the nodes whose wanted or existing value has a
// dependency that names the key, in no order and perhaps more than once.
func (g *Graph) Naming(key string, yield func(*Node)) {
	if n := g.find(key); n != nil {
		g.NamingNode(n, yield)
	}
}

// NamingNode is Naming for the key of a node.
func (g *Graph) NamingNode(n *Node, yield func(*Node)) {
	if n.relations == nil {
		return
	}
	for i := range n.relations.dependents {
		yield(n.relations.dependents[i].from)
	}
}

// replace changes both values and keeps the edges in step.
func (g *Graph) replace(n *Node, want, have *registry.Value) {
	if want == n.Want && have == n.Have {
		return
	}
	old := [2]linked{{value: n.Want, edges: n.edges}}
	switch {
	case n.waits: // and Have is nil
		n.waits = false
		g.cut(*n.otherEdges)
		for i := range n.Want.Derived {
			g.unlinkAnyOf(n, n.Want.Derived[i].Value)
		}
	case n.Want == n.Have:
	default:
		old[1].value = n.Have
		if n.otherEdges != nil {
			old[1].edges = *n.otherEdges
		}
	}
	comes := (n.Have == nil) != (have == nil)
	n.Want, n.Have = want, have
	if comes {
		g.noteExistence(n)
	}
	wanted, keptWant := take(&old, want)
	var had []edge
	keptHave := false
	if have != want {
		had, keptHave = take(&old, have)
	}
	for _, l := range old {
		if l.value != nil {
			g.cut(l.edges)
			g.unlinkAnyOf(n, l.value)
		}
	}
	if !keptWant {
		wanted = g.makeEdges(n, want)
	}
	if have != want && !keptHave {
		had = g.makeEdges(n, have)
	}
	n.edges, n.otherEdges = wanted, nil
	if had != nil {
		other := had // here, so that only then it is allocated
		n.otherEdges = &other
	}
	g.linkAnyOf(n, want) // after unlinkAnyOf, which may concern the same prefixes
	g.linkAnyOf(n, have)
}

// linked is a value with its edges.
type linked struct {
	value *registry.Value
	edges []edge
}

// take finds the edges of a value among the edges of the former values of its
// node, which serve as well for a value with the same dependencies.
func take(old *[2]linked, v *registry.Value) (edges []edge, ok bool) {
	if v == nil {
		return nil, true
	}
	for i := range old {
		if old[i].value == v {
			edges = old[i].edges
			old[i] = linked{}
			return edges, true
		}
	}
	for i := range old {
		if old[i].value != nil && slices.EqualFunc(old[i].value.Deps, v.Deps, sameKeys) {
			edges = old[i].edges
			old[i] = linked{}
			return edges, true
		}
	}
	return nil, false
}

func sameKeys(a, b api.Dependency) bool {
	return a.Key == b.Key && (a.Recreates == nil) == (b.Recreates == nil) && slices.Equal(a.AnyOf.KeyPrefixes, b.AnyOf.KeyPrefixes) &&
		NewKeyPattern("", a.AnyOf.KeySelector) == NewKeyPattern("", b.AnyOf.KeySelector)
}

// makeEdges makes the edges of a value; nil if it names no keys.
func (g *Graph) makeEdges(n *Node, v *registry.Value) []edge {
	if v == nil || !slices.ContainsFunc(v.Deps, func(dep api.Dependency) bool { return dep.Key != "" }) {
		return nil
	}
	out := make([]edge, len(v.Deps))
	for i := range v.Deps {
		if key := v.Deps[i].Key; key != "" {
			g.connect(n, key, &out[i])
			if v.Deps[i].Recreates != nil {
				out[i].to.Recreates = true
			}
		}
	}
	return out
}

// connect makes e lead from n to the node of a key, or to one that is gone in its place.
func (g *Graph) connect(n *Node, key string, e *edge) {
	to := g.named // many in a row name the same
	if to == nil || to.Key != key {
		h := g.nodes.hash(key)
		if to = g.nodes.find(h, key); to == nil {
			to = g.nodes.add(h, key)
			to.Gone = true
		}
		g.named = to
	}
	related := to.related()
	e.to, e.at = to, int32(len(related.dependents))
	related.dependents = append(related.dependents, dependent{n, e})
}

// cut removes edges.
func (g *Graph) cut(edges []edge) {
	for i := range edges {
		to := edges[i].to
		if to == nil {
			continue
		}
		list := to.relations.dependents
		last := len(list) - 1
		moved := list[last]
		list[edges[i].at] = moved
		moved.edge.at = edges[i].at
		list[last] = dependent{}
		to.relations.dependents = list[:last]
		if last == 0 {
			to.relations.dependents = nil
			if to.dropRelations(); to.Gone && to.relations == nil {
				g.drop(to)
			}
		}
	}
}

// Wait makes the dependencies of the derived values of n lead to n, until Want
// or Have changes: a value that is wanted and does not exist has no derived
// nodes yet, but may come up together with them, where it depends on one of
// them by way of others.
func (g *Graph) Wait(n *Node) {
	if n.waits || n.Want == nil || n.Have != nil || len(n.Want.Derived) == 0 {
		return
	}
	n.waits = true
	count := 0
	for i := range n.Want.Derived {
		count += len(n.Want.Derived[i].Value.Deps)
	}
	edges := make([]edge, count) // their place no longer changes
	n.otherEdges = &edges
	next := 0
	for i := range n.Want.Derived {
		v := n.Want.Derived[i].Value
		for j := range v.Deps {
			if key := v.Deps[j].Key; key != "" {
				g.connect(n, key, &edges[next])
			}
			next++
		}
		g.linkAnyOf(n, v)
	}
}
