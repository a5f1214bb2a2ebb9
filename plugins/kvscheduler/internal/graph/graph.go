// Package graph keeps the values and their relations: what is wanted, what is
// believed to exist, and who depends on whom. It only stores; deciding what to
// do is the business of package plan.
//
// A Graph is not safe for concurrent use.
package graph

import (
	"strings"

	"github.com/google/btree"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Node is one value. Its fields are read by everyone and changed only through
// the methods of Graph, except those of Outcome.
type Node struct {
	Key  string
	Desc *registry.Descriptor // nil: none
	Base *Node                // the value it is derived from; nil: not derived

	Want *registry.Value // nil: not wanted
	Have *registry.Value // believed to exist; nil: does not exist
	Meta api.Metadata

	Outcome

	derived map[string]*Node // nodes with Base == this
	waits   bool             // see Wait
	gone    bool             // see Gone
	marks   [2]uint32        // see Mark

	// Scratch belongs to the planner while it makes a plan, and is nil else.
	Scratch any
}

// Outcome is what came of the last operation.
type Outcome struct {
	// Err is why the last operation failed, or why the value could not be
	// changed; nil if it was successful.
	Err error
	// Held tells that Err is for a value which another one holds.
	Held bool
	// Retrying tells that the failed operation will be tried again.
	Retrying bool
	// Missing tells that a refresh did not find the value.
	Missing bool
	LastOp  api.TxnOperation
	LastTxn uint64
	// Named is the last transaction of the northbound, by its own count, that
	// named the value.
	Named uint64
	// Revision counts the changes of Want of a base value; a retry that was
	// planned for another revision is obsolete.
	Revision uint64
	// Retry is how failures are retried, as the last transaction asked; nil: not.
	Retry *api.RetryOpts
}

// Gone tells that the node was forgotten; the key may have another one.
func (n *Node) Gone() bool { return n.gone }

// IsDerived tells that the value is derived from another one.
func (n *Node) IsDerived() bool { return n.Base != nil }

// Root is the base value: the node itself unless it is derived.
func (n *Node) Root() *Node {
	if n.Base != nil {
		return n.Base
	}
	return n
}

// Derived iterates over the nodes derived from this one, in no order.
func (n *Node) Derived(yield func(*Node) bool) {
	for _, d := range n.derived {
		if !yield(d) {
			return
		}
	}
}

// Graph is the set of all nodes with their reverse edges.
type Graph struct {
	nodes  map[string]*Node
	sorted *btree.BTreeG[*Node]

	// Who depends on what: by exact key, by prefix, and by selector alone.
	exact    map[string]nodeSet
	prefixes map[string]nodeSet
	lengths  map[int]int // lengths of the prefixes, with counts
	selected nodeSet
	round    uint32 // see NextRound
}

type nodeSet map[*Node]struct{}

// New returns an empty graph.
func New() *Graph {
	return &Graph{
		nodes:    map[string]*Node{},
		sorted:   btree.NewG(32, func(a, b *Node) bool { return a.Key < b.Key }),
		exact:    map[string]nodeSet{},
		prefixes: map[string]nodeSet{},
		lengths:  map[int]int{},
		selected: nodeSet{},
	}
}

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.nodes) }

// Node returns the node of a key, or nil.
func (g *Graph) Node(key string) *Node { return g.nodes[key] }

// Marks say what happened to a node in the present round; a mark on the node
// is cheaper than a set of keys where a round concerns all of them.
const (
	Asked = iota // the northbound is about to ask for the value
	Seen         // the southbound has it
)

// NextRound takes all marks away.
func (g *Graph) NextRound() { g.round++ }

// Mark sets a mark of the present round.
func (g *Graph) Mark(n *Node, mark int) { n.marks[mark] = g.round }

// Marked tells whether the node has the mark in the present round.
func (g *Graph) Marked(n *Node, mark int) bool { return g.round != 0 && n.marks[mark] == g.round }

// Ensure returns the node of a key, creating an empty one if needed. base is
// the value it is derived from, or nil.
func (g *Graph) Ensure(key string, d *registry.Descriptor, base *Node) *Node {
	n := g.nodes[key]
	if n == nil {
		n = &Node{Key: key}
		g.nodes[key] = n
		g.sorted.ReplaceOrInsert(n)
	}
	if n.Desc == nil {
		n.Desc = d
	}
	if n.Base != base {
		if n.Base != nil {
			delete(n.Base.derived, key)
		}
		n.Base = base
		if base != nil {
			if base.derived == nil {
				base.derived = map[string]*Node{}
			}
			base.derived[key] = n
		}
	}
	return n
}

// SetWant changes what is wanted.
func (g *Graph) SetWant(n *Node, v *registry.Value) {
	g.replace(n, v, n.Have)
}

// SetHave changes what is believed to exist, with its metadata. Without a
// value the metadata is dropped.
func (g *Graph) SetHave(n *Node, v *registry.Value, meta api.Metadata) error {
	g.replace(n, n.Want, v)
	if v == nil {
		meta = nil
	}
	n.Meta = meta
	if n.Desc == nil || n.Desc.Metadata == nil || n.IsDerived() {
		return nil
	}
	if v == nil {
		n.Desc.Metadata.Delete(n.Desc.Label(n.Key))
		return nil
	}
	return n.Desc.Metadata.Put(n.Desc.Label(n.Key), meta)
}

// Forget removes a node that is neither wanted nor exists nor has a failure to
// tell; others stay.
func (g *Graph) Forget(n *Node) {
	if n.Want != nil || n.Have != nil || n.Err != nil || len(n.derived) > 0 {
		return
	}
	n.gone = true
	delete(g.nodes, n.Key)
	g.sorted.Delete(n)
	if n.Base != nil {
		delete(n.Base.derived, n.Key)
		g.Forget(n.Base) // which may have been kept for this one only
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
	for i := range n.Want.Derived {
		g.link(n, n.Want.Derived[i].Value)
	}
}

// replace changes both values and keeps the reverse edges in step.
func (g *Graph) replace(n *Node, want, have *registry.Value) {
	if want == n.Want && have == n.Have {
		return
	}
	if n.waits {
		n.waits = false
		for i := range n.Want.Derived {
			g.unlink(n, n.Want.Derived[i].Value)
		}
	}
	before, after := [2]*registry.Value{n.Want, n.Have}, [2]*registry.Value{want, have}
	for i, v := range before {
		if v != nil && v != after[0] && v != after[1] && (i == 0 || v != before[0]) {
			g.unlink(n, v)
		}
	}
	n.Want, n.Have = want, have
	for i, v := range after {
		if v != nil && (i == 0 || v != after[0]) {
			g.link(n, v)
		}
	}
}

func (g *Graph) link(n *Node, v *registry.Value) {
	for i := range v.Deps {
		dep := &v.Deps[i]
		switch {
		case dep.Key != "":
			add(g.exact, dep.Key, n)
		case len(dep.AnyOf.KeyPrefixes) == 0:
			g.selected[n] = struct{}{}
		default:
			for _, prefix := range dep.AnyOf.KeyPrefixes {
				if add(g.prefixes, prefix, n) {
					g.lengths[len(prefix)]++
				}
			}
		}
	}
}

func (g *Graph) unlink(n *Node, v *registry.Value) {
	for i := range v.Deps {
		dep := &v.Deps[i]
		switch {
		case dep.Key != "":
			remove(g.exact, dep.Key, n)
		case len(dep.AnyOf.KeyPrefixes) == 0:
			delete(g.selected, n)
		default:
			for _, prefix := range dep.AnyOf.KeyPrefixes {
				if remove(g.prefixes, prefix, n) {
					if g.lengths[len(prefix)]--; g.lengths[len(prefix)] == 0 {
						delete(g.lengths, len(prefix))
					}
				}
			}
		}
	}
}

// add reports whether the set is new.
func add(sets map[string]nodeSet, key string, n *Node) bool {
	set := sets[key]
	if set == nil {
		sets[key] = nodeSet{n: {}}
		return true
	}
	set[n] = struct{}{}
	return false
}

// remove reports whether the set is gone.
func remove(sets map[string]nodeSet, key string, n *Node) bool {
	set := sets[key]
	if set == nil {
		return false
	}
	delete(set, n)
	if len(set) == 0 {
		delete(sets, key)
		return true
	}
	return false
}

// Dependents iterates over the nodes whose wanted or existing value has a
// dependency that the key may meet, in no order and perhaps more than once.
func (g *Graph) Dependents(key string, yield func(*Node)) {
	for n := range g.exact[key] {
		yield(n)
	}
	for length := range g.lengths {
		if length > len(key) {
			continue
		}
		for n := range g.prefixes[key[:length]] {
			yield(n)
		}
	}
	for n := range g.selected {
		yield(n)
	}
}

// Ascend iterates over the nodes whose key has the prefix, in the order of
// keys, until yield returns false.
func (g *Graph) Ascend(prefix string, yield func(*Node) bool) {
	g.sorted.AscendGreaterOrEqual(&Node{Key: prefix}, func(n *Node) bool {
		return strings.HasPrefix(n.Key, prefix) && yield(n)
	})
}

// Nodes iterates over all nodes in no order.
func (g *Graph) Nodes(yield func(*Node) bool) {
	for _, n := range g.nodes {
		if !yield(n) {
			return
		}
	}
}

// Meets tells whether the key meets the dependency, once it exists.
func Meets(dep *api.Dependency, key string) bool {
	if dep.Key != "" {
		return dep.Key == key
	}
	if dep.AnyOf.KeySelector == nil && len(dep.AnyOf.KeyPrefixes) == 0 {
		return false
	}
	if len(dep.AnyOf.KeyPrefixes) > 0 && !hasAnyPrefix(key, dep.AnyOf.KeyPrefixes) {
		return false
	}
	return dep.AnyOf.KeySelector == nil || dep.AnyOf.KeySelector(key)
}

func hasAnyPrefix(key string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// Witness returns the first existing node that meets the dependency, or nil.
func (g *Graph) Witness(dep *api.Dependency) *Node {
	if dep.Key != "" {
		if n := g.nodes[dep.Key]; n != nil && n.Have != nil {
			return n
		}
		return nil
	}
	var found *Node
	scan := func(n *Node) bool {
		if n.Have != nil && (dep.AnyOf.KeySelector == nil || dep.AnyOf.KeySelector(n.Key)) {
			found = n
		}
		return found == nil
	}
	for _, prefix := range dep.AnyOf.KeyPrefixes {
		if g.Ascend(prefix, scan); found != nil {
			return found
		}
	}
	if len(dep.AnyOf.KeyPrefixes) == 0 && dep.AnyOf.KeySelector != nil {
		g.Ascend("", scan)
	}
	return found
}
