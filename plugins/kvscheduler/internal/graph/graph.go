// Package graph keeps the values and their relations: the desired state, the
// recorded actual state, and the dependencies. It only stores; package plan
// decides what to do.
//
// A Graph is not safe for concurrent use.
package graph

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/btree"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Node is one value. All packages may read its fields. Only the methods of
// Graph change them, except the fields of Outcome.
//
// A large graph does not fit into the caches of the processor, so a node has
// the size of three of their lines, in the order of use: what it is, what came
// of it, the rest.
type Node struct {
	Key  string
	Desc *registry.Descriptor // nil: none
	Base *Node                // the value it is derived from; nil: not derived

	Want      *registry.Value // nil: not wanted
	Have      *registry.Value // believed to exist; nil: does not exist
	relations *relations      // nil: none

	view int32  // see View
	plan uint32 // the plan that view is of

	Outcome

	Owner Owner // of Have; None if that is nil
	// Marked reports that the value was found with the mark of the agent.
	Marked bool

	waits bool // see Wait
	Gone  bool // forgotten: the key may have another node
	news  bool // see Tracked
	// Recreates reports that a value may depend on the node that its updates recreate, see
	// api.Dependency.
	Recreates bool
	marks     uint8  // see Mark
	round     uint32 // the round that marks are of
	at        int32  // where the node is in Base.relations.derived

	edges      []edge  // of Want
	otherEdges *[]edge // of Have unless that is Want; see also Wait
	Meta       api.Metadata
	Kept       *registry.Value // what is on record outside of the graph as existing; nil: nothing
	hash       uint32          // of the key; see table
	Number     int32           // small, because numbers of removed nodes are reused
}

// Outcome is what came of the last operation.
type Outcome struct {
	// Err is why the last operation failed, or why the value could not be
	// changed; nil if it was successful.
	Err     error
	LastTxn uint64
	// Retry is how failures are retried, as the last transaction asked; nil: not.
	Retry *api.RetryOpts
	// Named is the last transaction of the northbound, by its own count, that
	// named the value.
	Named uint32
	// Revision counts the changes of Want of a base value; a retry that was
	// planned for another revision is obsolete.
	Revision uint32
	LastOp   api.TxnOperation
	// Held reports whether Err says why the value stays as it is. SetHeld changes it.
	Held bool
	// Retrying: the scheduler will retry the failed operation.
	Retrying bool
	// Missing reports whether a refresh did not find the value.
	Missing bool
}

// relations are the other nodes that have to do with one. Most have none.
type relations struct {
	derived    []*Node     // those with Base == this
	dependents []dependent // the ends of edges that lead here
}

// IsDerived reports whether the value is derived from another one.
func (n *Node) IsDerived() bool { return n.Base != nil }

// Root is the base value: the node itself unless it is derived.
func (n *Node) Root() *Node {
	if n.Base != nil {
		return n.Base
	}
	return n
}

// Derived iterates over the nodes derived from this one, in no order. They must
// not change meanwhile.
func (n *Node) Derived(yield func(*Node) bool) {
	if n.relations == nil {
		return
	}
	for _, d := range n.relations.derived {
		if !yield(d) {
			return
		}
	}
}

// Child returns the derived node of a key if it is number i of Derived, nil if
// it has to be looked for: nodes are derived in the order of values, and most
// keep it.
func (n *Node) Child(i int, key string) *Node {
	if n.relations != nil && i < len(n.relations.derived) && n.relations.derived[i].Key == key {
		return n.relations.derived[i]
	}
	return nil
}

// related returns the relations of a node, which it creates if there are none.
func (n *Node) related() *relations {
	if n.relations == nil {
		n.relations = &relations{}
	}
	return n.relations
}

// dropRelations frees the relations of a node if they are empty.
func (n *Node) dropRelations() {
	if len(n.relations.derived) == 0 && len(n.relations.dependents) == 0 {
		n.relations = nil
	}
}

// derive makes n one of those derived from a base.
func (n *Node) derive(base *Node) {
	related := base.related()
	n.Base, n.at = base, int32(len(related.derived))
	related.derived = append(related.derived, n)
}

// depart undoes derive but for Base itself. Another node takes the place.
func (n *Node) depart() {
	list := n.Base.relations.derived
	last := len(list) - 1
	moved := list[last]
	list[n.at], moved.at = moved, n.at
	list[last] = nil
	n.Base.relations.derived = list[:last]
	n.Base.dropRelations()
}

// Graph is the set of all nodes with their reverse edges.
type Graph struct {
	nodes  table // and those that are gone, while others name them
	sorted *btree.BTreeG[*Node]

	// Who depends on what, by prefix; see edge for keys.
	anyOfDependents map[string]*anyOfDependents     // by prefix
	lengths         map[int]int                     // lengths of the prefixes, with counts
	existing        map[string]*btree.BTreeG[*Node] // see Existing
	round           uint32                          // see NextRound
	plan            uint32                          // see NextPlan
	inserted        uint32                          // counts the nodes that came
	named           *Node                           // the last one that connect was asked for; nil: not known

	held map[*Node]struct{} // those with Held

	claims    map[registry.Claim][]*Node // see Claimants
	spellings map[string][]*Node         // see Spellings

	lastErrors map[*Node]error              // see LastError
	panics     map[KeyPattern]selectorPanic // see TakePanics

	// OwnerChanged is called after each change of owner; nil disables it.
	OwnerChanged func(n *Node, from Owner, by Event)

	track bool // see Track
	news  []*Node
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{
		nodes:           newTable(),
		sorted:          btree.NewG(32, byKey),
		anyOfDependents: map[string]*anyOfDependents{},
		lengths:         map[int]int{},
		panics:          map[KeyPattern]selectorPanic{},
		existing:        map[string]*btree.BTreeG[*Node]{},
		held:            map[*Node]struct{}{},
		claims:          map[registry.Claim][]*Node{},
		spellings:       map[string][]*Node{},
		lastErrors:      map[*Node]error{},
	}
}

// Len is the number of nodes.
func (g *Graph) Len() int { return g.sorted.Len() }

// Node returns the node of a key, or nil.
func (g *Graph) Node(key string) *Node {
	if n := g.find(key); n != nil && !n.Gone {
		return n
	}
	return nil
}

// find is Node that also finds a node that is gone, while others name its key.
func (g *Graph) find(key string) *Node { return g.nodes.find(g.nodes.hash(key), key) }

// Marks say what happened to a node in the present round; a mark on the node
// is cheaper than a set of keys where a round concerns all of them.
const (
	Asked = iota // the northbound is about to ask for the value
	Seen         // the southbound has it
)

// NextPlan takes all views away.
func (g *Graph) NextPlan() { g.plan++ }

// SetView notes what a planner has about the node; 0 is nothing.
func (g *Graph) SetView(n *Node, view int32) { n.view, n.plan = view, g.plan }

// View returns the number that was noted since NextPlan; 0 is none.
func (g *Graph) View(n *Node) int32 {
	if n.plan != g.plan {
		return 0
	}
	return n.view
}

// IsLeaf reports whether no value names the node in a dependency or is derived from
// it.
func (n *Node) IsLeaf() bool { return n.relations == nil }

// NextRound takes all marks away.
func (g *Graph) NextRound() { g.round++ }

// Mark sets a mark of the present round.
func (g *Graph) Mark(n *Node, mark int) {
	if n.round != g.round {
		n.round, n.marks = g.round, 0
	}
	n.marks |= 1 << mark
}

// Marked reports whether the node has the mark in the present round.
func (g *Graph) Marked(n *Node, mark int) bool {
	return n.round == g.round && n.marks&(1<<mark) != 0
}

// Ensure returns the node of a key, creating an empty one if needed. base is
// the value it is derived from, or nil.
func (g *Graph) Ensure(key string, d *registry.Descriptor, base *Node) *Node {
	h := g.nodes.hash(key)
	n := g.nodes.find(h, key)
	switch {
	case n == nil:
		n = g.nodes.add(h, key)
		g.insert(n)
	case n.Gone:
		*n = Node{Key: key, hash: n.hash, Number: n.Number, Kept: n.Kept, news: n.news, relations: n.relations}
		g.insert(n)
	}
	if n.Desc == nil {
		n.Desc = d
	}
	if n.Base != base {
		if n.Base != nil {
			n.depart()
			n.Base = nil
		}
		if base != nil {
			n.derive(base)
		}
	}
	return n
}

func (g *Graph) insert(n *Node) {
	g.inserted++
	g.sorted.ReplaceOrInsert(n)
}

// SetWant changes the desired value.
func (g *Graph) SetWant(n *Node, v *registry.Value) {
	g.spell(n, v)
	g.replace(n, v, n.Have)
	g.observe(n)
}

// Remove notes that a value does not exist, which drops its metadata.
func (g *Graph) Remove(n *Node, event Event) {
	_ = g.SetHave(n, nil, nil, event) // removing metadata cannot fail
}

// SetHave changes the recorded actual value, with its metadata and its owner.
func (g *Graph) SetHave(n *Node, v *registry.Value, meta api.Metadata, event Event) error {
	g.claim(n, v)
	g.replace(n, n.Want, v)
	g.Own(n, event)
	if g.track && !n.news && n.Base == nil {
		n.news = true
		g.news = append(g.news, n)
	}
	n.Meta = meta
	if n.Desc == nil || n.Desc.Metadata == nil || n.IsDerived() {
		return nil
	}
	return n.index(v != nil, meta)
}

// Forget removes a node that is neither wanted nor exists nor has a failure to
// report; others stay.
func (g *Graph) Forget(n *Node) {
	hasDerived := n.relations != nil && len(n.relations.derived) > 0
	if n.Gone || n.Want != nil || n.Have != nil || n.Err != nil || hasDerived {
		return
	}
	n.Gone = true
	delete(g.lastErrors, n)
	delete(g.held, n)
	if n.relations == nil {
		g.drop(n)
	}
	g.sorted.Delete(n)
	if n.Base != nil {
		n.depart()
		g.Forget(n.Base) // which may have been kept for this one only
	}
}

// drop takes a node that is gone out of those that are found by key.
func (g *Graph) drop(n *Node) {
	g.nodes.remove(n)
	if g.named == n {
		g.named = nil
	}
}

// Meets reports whether the key meets the dependency, once it exists.
func Meets(dep *api.Dependency, key string) bool {
	if dep.Key != "" {
		return dep.Key == key
	}
	matches := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
	return slices.ContainsFunc(Prefixes(dep), matches) && dep.AnyOf.KeySelector.Selects(key)
}

// Provider returns the first existing node that meets the dependency, or nil; one
// that is terminating only if there is no other.
func (g *Graph) Provider(dep *api.Dependency) (found *Node) {
	if dep.Key != "" {
		if n := g.Node(dep.Key); n != nil && n.Have != nil {
			return n
		}
		return nil
	}
	for _, prefix := range Prefixes(dep) {
		switch n := g.ProviderOf(NewKeyPattern(prefix, dep.AnyOf.KeySelector)); {
		case n == nil:
		case !n.Terminating():
			return n
		case found == nil:
			found = n
		}
	}
	return found
}

// ProviderOf is Provider for a pattern.
func (g *Graph) ProviderOf(of KeyPattern) (found *Node) {
	for n := range g.Ascend(of.Prefix) {
		switch {
		case n.Have == nil || !of.Selects(n.Key):
		case !n.Terminating():
			return n
		case found == nil:
			found = n
		}
	}
	return found
}

// AsItIs returns the actual value, with the derived values that exist, and without
// relations. The derived values may differ from the message: a change of them can have
// failed.
func (n *Node) AsItIs() *registry.Value {
	v := &registry.Value{Msg: n.Have.Msg, Assembled: true}
	for child := range n.Derived {
		if child.Have != nil {
			v.Derived = append(v.Derived, registry.Derived{Key: child.Key, Desc: child.Desc, Value: child.Have})
		}
	}
	slices.SortFunc(v.Derived, func(a, b registry.Derived) int { return strings.Compare(a.Key, b.Key) })
	return v
}

// AsFound returns AsItIs of a foreign value, with its derived values.
func (n *Node) AsFound() *registry.Value {
	v := n.AsItIs()
	v.FromSB = true
	for i := range v.Derived {
		v.Derived[i].Value = &registry.Value{Msg: v.Derived[i].Value.Msg, FromSB: true}
	}
	return v
}

// Terminating reports whether the value exists only because it, or a dependent of it, could
// not be removed yet: it is no longer desired. Nothing new is to depend on it.
func (n *Node) Terminating() bool {
	if n.Base != nil && n.Base.Terminating() {
		return true
	}
	return n.Want == nil && n.Have != nil && n.Err != nil
}

// LastError is the error of the last attempt to create a value that now waits for what it
// depends on; nil if there was none.
func (g *Graph) LastError(n *Node) error { return g.lastErrors[n] }

// SetLastError remembers an error; nil forgets it.
func (g *Graph) SetLastError(n *Node, err error) {
	if err == nil {
		delete(g.lastErrors, n)
	} else {
		g.lastErrors[n] = err
	}
}

// Ascend returns the nodes whose key has the prefix, in the order of keys.
func (g *Graph) Ascend(prefix string) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		g.sorted.AscendGreaterOrEqual(&Node{Key: prefix}, func(n *Node) bool {
			return strings.HasPrefix(n.Key, prefix) && yield(n)
		})
	}
}

// Nodes iterates over all nodes in the order of keys.
func (g *Graph) Nodes(yield func(*Node) bool) { g.sorted.Ascend(yield) }

// From returns the nodes from a key on, in the order of keys.
func (g *Graph) From(key string) iter.Seq[*Node] {
	return func(yield func(*Node) bool) { g.sorted.AscendGreaterOrEqual(&Node{Key: key}, yield) }
}

// Track makes the graph note which base values come into being, change or go,
// for a record of them outside of the graph; see Tracked.
func (g *Graph) Track() { g.track = true }

// Tracked returns the nodes of base values whose existence was set since it
// was last called, each once, in no order; some may be gone meanwhile.
func (g *Graph) Tracked() []*Node {
	news := g.news
	g.news = nil
	for _, n := range news {
		n.news = false
	}
	return news
}

// index puts the metadata where others look it up; indexes are functions of the
// descriptor.
func (n *Node) index(exists bool, meta api.Metadata) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("descriptor %q: an index of its metadata panicked: %v", n.Desc.Name, p)
		}
	}()
	if !exists {
		n.Desc.Metadata.Delete(n.Desc.Label(n.Key))
		return nil
	}
	return n.Desc.Metadata.Put(n.Desc.Label(n.Key), meta)
}
