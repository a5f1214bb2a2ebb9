// Package plan decides what has to be done to bring what exists to what is
// wanted. It is pure: a plan follows from the graph and the request alone,
// without clock, I/O, randomness or logging.
//
// A plan is made in three steps, a file each. Target: the largest set of
// wanted values in which every dependency is met by a member of the set; values
// that depend on each other come up together. Action: compare the target with
// what exists. Order: the operations as a directed acyclic graph.
//
// Work is done on the affected part of the graph only: the changed values and,
// transitively, those whose existence may change with them.
package plan

import (
	"slices"

	"github.com/google/btree"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Kind is what an operation does.
type Kind uint8

// The kinds of operations. Down deletes, Up creates and Update changes in
// place; they run a callback unless the value is a property. Adopt takes over
// an equivalent value and Note records a change that is not (yet) applied;
// they only change the graph.
const (
	Note Kind = iota
	Adopt
	Down
	Up
	Update
)

// Handle finds the node of a value without looking for it by key. All
// operations of a plan on one value share it.
type Handle struct{ Node *graph.Node }

// Op is one operation of a plan.
type Op struct {
	Key string
	// Self and BaseSelf are the nodes of the value and of its base, as far as
	// they are known; the executor keeps them up to date.
	Self, BaseSelf *Handle
	Desc           *registry.Descriptor
	Base           string // key of the base value; empty: not derived
	// Cause is the key of the base value whose change caused the re-creation; empty: the value's own
	// change or a change of its base value, or no re-creation.
	Cause string

	// Want is the desired value after the operation; SetWant: it changes.
	Want *registry.Value
	// Have is what exists before, Target what exists after the operation.
	Have, Target *registry.Value

	// Refused is why the value does not fit what it depends on, so that Up or Update cannot
	// succeed; nil: it fits.
	Refused error

	// Held is why the value stays as it is although something else is desired; nil: it
	// does not.
	Held *Hold

	// Before and After are the states around the operation, if it succeeds.
	Before, After api.ValueState

	// Preds are the operations that must be done before.
	Preds Preds

	Kind    Kind
	SetWant bool
	// Recreate: Down and Up of a value that cannot be changed in place.
	Recreate bool
	// Notified: the southbound did it already. Lost: it no longer has the value.
	Notified, Lost bool
	// Changed: the key was named in the request.
	Changed bool
}

// Preds are what must be done before; Plan.Before lists them.
type Preds struct{ from, to int32 }

// Gate stands between many operations and many others: those with the gate
// among their Preds wait for all of the Preds of the gate. It saves a
// predecessor for each with each.
type Gate struct {
	Preds Preds // of operations only
}

// Silent operations are executed but not recorded.
func (o *Op) Silent() bool {
	if o.Desc != nil && o.Desc.Unrecorded {
		return true
	}
	switch o.Kind {
	case Adopt:
		return o.Before != kvscheduler.ValueState_FAILED && o.Before != kvscheduler.ValueState_RETRYING &&
			o.Before != kvscheduler.ValueState_INVALID
	case Note:
		return o.Held != nil || o.Before == o.After && !o.Changed
	}
	return false
}

// Plan is a list of operations in an order in which they can be executed one
// after the other.
type Plan struct {
	Ops   []Op
	Gates []Gate
	preds []int32
}

// Recorded is the number of the operations that are not silent.
func (p *Plan) Recorded() (n int) {
	for i := range p.Ops {
		if !p.Ops[i].Silent() {
			n++
		}
	}
	return n
}

// Before are the indexes of predecessors; those from len(Ops) on are of gates.
func (p *Plan) Before(preds Preds) []int32 { return p.preds[preds.from:preds.to] }

// Request says what to plan.
type Request struct {
	// Changes are the new wanted values of base keys, each key once.
	Changes []Change
	// Touch are keys to look at again: failed, lost or found values.
	Touch []string
	// All looks at everything.
	All bool
	// DropUnwanted removes values that exist without being wanted by anyone
	// (left over from an earlier run), among the values looked at.
	DropUnwanted bool
	// Pinned values stay as they are, and hold what they stand on.
	Pinned map[string]bool
	// Unfinished are pinned values whose operation may still take effect.
	Unfinished map[string]Unfinished
	// Closed are the southbounds that cannot be reached.
	Closed map[string]bool
	// Unread is what may exist without being known; nil: nothing.
	Unread *Unread
	// Notified are keys among Changes that have changed in the southbound already:
	// nothing can hold them. Lost are existing values that it no longer has:
	// they go down without an operation, after what stands on them, and stay down.
	Notified, Lost map[string]bool

	left map[string]string // held values that stay as they are, and what they lack; see leaving
}

// Unfinished is what an operation that may still take effect can do to its value.
type Unfinished struct {
	// Coming is the value that may come to exist. What it needs stays.
	Coming *registry.Value
	// Leaving: it may cease to exist. Nothing new can stand on it.
	Leaving bool
}

// Change is the new wanted value of a base key.
type Change struct {
	Key  string
	Node *graph.Node // of the key, if it is known
	Desc *registry.Descriptor
	Want *registry.Value // nil: no longer desired
	// Adopt: what exists was not made by the scheduler, and must not be removed.
	Adopt bool
}

// Make plans.
func Make(g *graph.Graph, req Request) *Plan {
	p := &planner{
		g: g, req: req, newNodes: make(map[string]*node, newKeys(req.Changes)),
		list: make([]*node, 0, len(req.Changes)*2+len(req.Touch)),
	}
	p.patterns.p = p
	g.NextPlan()
	p.pieces = g.Cursor(len(req.Changes))
	p.seed()
	p.expand()
	p.settled = true
	p.prune()
	p.await()
	if len(p.left) > 0 {
		return Make(g, p.leaving(req))
	}
	p.act()
	identities{p}.contend()
	p.spelled = spellingsIn(p)
	p.spelled.contend()
	var pl *Plan
	if len(p.late) == 0 {
		pl = p.order()
	}
	if len(p.left) > 0 {
		return Make(g, p.leaving(req))
	}
	if len(p.late) > 0 {
		// Values that were reached only now have something to change as well,
		// which may let yet others come up: plan for them from the start.
		req.Touch = append(slices.Clone(req.Touch), p.late...)
		return Make(g, req)
	}
	return pl
}

// node is a value as the planner sees it.
type node struct {
	key  string
	node *graph.Node // nil: new
	desc *registry.Descriptor
	base *node

	// Of the graph node, which need not be looked at again for it.
	before api.ValueState
	failed bool // the last operation may have left the value, or derived ones, incomplete
	leaf   bool // nothing in the graph names it or is derived from it
	kind   Kind
	queued bool

	oldWant, want, have *registry.Value
	target              *registry.Value // what exists afterwards, if in

	holder    string // key of a pinned value that stands on this one
	unmetHeld bool   // exists only because of its holder
	changed   bool   // given a new wanted value by the request
	touched   bool   // named by the request to be looked at again
	pinned    bool   // stays as it is
	leaving   bool   // may cease to exist; see Unfinished
	unsure    bool   // stays what it is for now; see Unsure
	wasLeft   bool   // looked at because it is adopted and was left as it is
	in        bool   // exists in the target
	assumed   bool   // in was set by assume
	derived   bool   // derived values were taken from target

	acted    bool
	recreate bool  // cannot be changed in place
	bounce   bool  // Down and Up, whatever the reason
	place    int32 // in the list
	children []*node

	cause *node // the base value whose change caused the re-creation; nil: n itself

	away *registry.Value // what n is between two updates; see Vacate. Nil: there is one

	stepDown, stepUp, stepAway int32 // its operations, while they are ordered
	exact                      [2]*node
	self                       *Handle
}

type planner struct {
	g    *graph.Graph
	req  Request
	list []*node // in the order of touching

	added    newDependents
	patterns patterns
	newNodes map[string]*node     // nodes without graph node, by key
	near     int32                // place in list of the one that was looked for last
	pieces   *graph.Cursor        // for derived values
	sorted   *btree.BTreeG[*node] // see byKey; nil until a prefix is looked for

	work    []*node
	seeds   []*node
	settled bool             // all assumptions were made
	late    []string         // touched after that, with a change of their own
	failed  []*graph.Node    // not touched, and depend on what does not exist in the target
	left    []*node          // held values that lack something for their change
	lackOf  map[*node]string // what held values lack; see Hold
	spelled spellings

	seen     target // see unmet
	attempts int    // to find an order that failed
}

func (n *node) exists() bool { return n.have != nil }

// adopted reports whether n exists and is adopted, or would have to be; see touchNode.
func (n *node) adopted() bool { return n.exists() && n.holder == n.key }

// of returns the planner's view of a node; nil if it was not touched.
func (p *planner) of(gn *graph.Node) *node {
	if view := p.g.View(gn); view > 0 {
		return p.list[view-1]
	}
	return nil
}

// touch returns the planner's view of a key; nil if the key is not known.
func (p *planner) touch(key string) *node {
	if n := p.newNodes[key]; n != nil {
		return n
	}
	gn := p.g.Node(key)
	if gn == nil {
		return nil
	}
	return p.touchNode(gn)
}

func (p *planner) touchNode(gn *graph.Node) *node {
	if n := p.of(gn); n != nil {
		return n
	}
	n := &node{key: gn.Key, node: gn, desc: gn.Desc}
	n.oldWant, n.want, n.have = gn.Want, gn.Want, gn.Have
	n.before, n.failed, n.leaf = State(gn), gn.Err != nil, gn.IsLeaf()
	p.add(n)
	p.g.SetView(gn, int32(len(p.list)))
	if gn.Base != nil {
		n.base = p.touchNode(gn.Base)
		n.base.children = append(n.base.children, n)
	}
	if p.sorted != nil && !n.exists() {
		p.sorted.ReplaceOrInsert(n)
	}
	n.in = n.exists()
	if !gn.Obtained() && (gn.Owner == graph.Adopted || gn.Refused()) {
		n.holder = n.key
	}
	p.retarget(n)
	if p.settled && (n.target != n.have || n.failed) {
		p.late = append(p.late, n.key)
		n.target = n.have
	}
	return n
}

// newKeys counts the keys of changes without a node, with the keys of their derived
// values.
func newKeys(changes []Change) (count int) {
	for i := range changes {
		if c := &changes[i]; c.Node == nil && c.Want != nil {
			count += 1 + len(c.Want.Derived)
		}
	}
	return count
}

// create adds a value that is not in the graph.
func (p *planner) create(key string, d *registry.Descriptor, base *node) *node {
	n := &node{key: key, desc: d, base: base, pinned: p.req.Pinned[key]} // no longer known, but must not be touched
	p.newNodes[key] = n
	p.add(n)
	if p.sorted != nil {
		p.sorted.ReplaceOrInsert(n)
	}
	if base != nil {
		base.children = append(base.children, n)
	}
	return n
}

func (p *planner) add(n *node) {
	n.place = int32(len(p.list))
	p.list = append(p.list, n)
}

// setWant changes the desired value of n within this plan.
func (p *planner) setWant(n *node, v *registry.Value) {
	if n.want == v {
		return
	}
	n.want = v
	if p.added.complete && v != nil && v != n.oldWant && v != n.have {
		p.added.add(n, v)
	}
	p.retarget(n)
}

// retarget computes what n would be if it exists in the target.
func (p *planner) retarget(n *node) {
	switch {
	case n.pinned:
		n.target = n.have
	case n.want == nil:
		n.target = nil
		if n.have != nil && n.keepsUnwanted(&p.req) {
			n.target = n.have
		}
	case n.want.Invalid != nil:
		n.target = n.want.Last
		if n.want.KeepsFound() && n.have != nil && n.have.FromSB { // whatever it is by now
			n.target = n.have
		}
	case n.want.Observed:
		n.target = n.have
	case n.unimplemented():
		n.target = nil
	default:
		n.target = n.want
	}
	if n.target == nil && n.holder != "" {
		n.target = n.have
	}
}

// unimplemented: a base value from the northbound that no descriptor handles.
func (n *node) unimplemented() bool {
	return n.desc == nil && n.base == nil && !n.want.FromSB
}

// keepsUnwanted: a value that exists without being wanted is left alone unless
// it was just given up or the request says to clean up.
func (n *node) keepsUnwanted(req *Request) bool {
	return n.base == nil && n.oldWant == nil && !n.changed && !req.DropUnwanted && !n.failed
}
