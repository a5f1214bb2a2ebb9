package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// seed touches everything that the request names and assumes that whatever
// has a target exists.
func (p *planner) seed() {
	for _, key := range slices.Sorted(maps.Keys(p.req.Pinned)) {
		if n := p.touch(key); n != nil {
			n.pinned, n.leaving = true, p.req.Unfinished[key].Leaving
			p.retarget(n)
		}
	}
	changes := p.req.Changes
	if !slices.IsSortedFunc(changes, byChangedKey) {
		changes = slices.Clone(changes)
		slices.SortFunc(changes, byChangedKey)
	}
	cursor := p.g.Cursor(len(changes))
	for i := range changes {
		p.seedChange(&changes[i], cursor)
	}
	for _, key := range p.req.Touch {
		n := p.touch(key)
		if n == nil { // never came up, but something may have come up on its account
			n = p.create(key, nil, nil)
		}
		n.touched = true
	}
	if p.req.All {
		for gn := range p.g.Nodes {
			p.touchNode(gn)
		}
	}
	for _, gn := range p.g.Left() {
		if p.of(gn) == nil {
			p.touchNode(gn).wasLeft = true
		}
	}
	p.seeds = p.list[:len(p.list):len(p.list)] // both may grow, each for itself
	for _, n := range p.seeds {
		if n.pinned {
			p.holdAll(n)
		}
	}
	for _, n := range p.seeds {
		p.assume(n)
	}
}

func (p *planner) seedChange(c *Change, cursor *graph.Cursor) {
	gn := c.Node
	if gn == nil || gn.Gone {
		gn = cursor.Node(c.Key)
	}
	var n *node
	switch {
	case gn != nil:
		n = p.touchNode(gn)
	case c.Want == nil:
		return
	default:
		n = p.create(c.Key, c.Desc, nil)
	}
	n.changed = true
	if n.desc == nil {
		n.desc = c.Desc
	}
	refused := gn != nil && gn.Refused() && c.Want != nil && !c.Want.FromSB && !p.req.Notified[c.Key]
	if n.exists() && (c.Adopt || refused) {
		n.holder = n.key
	}
	p.setWant(n, c.Want)
	p.retarget(n)
}

// gone reports that the southbound has changed or lost the value already, or its base.
func (p *planner) gone(n *node) bool {
	return p.req.Lost[n.key] || p.req.Notified[n.key] || n.base != nil && n.have.FromSB && p.req.Notified[n.base.key]
}

// holdAll keeps what a pinned value stands on, and what it may come to stand on.
func (p *planner) holdAll(n *node) {
	if n.exists() {
		p.hold(n, n.have)
	}
	if v := p.req.Unfinished[n.key].Coming; v != nil {
		p.hold(n, v)
	}
}

// hold keeps what a value that cannot be removed stands on: its base and one
// existing provider of each dependency.
func (p *planner) hold(n *node, v *registry.Value) {
	if n.base != nil {
		p.keepFor(n, n.base)
	}
	for i := range v.Deps {
		if gn := p.lasting(&v.Deps[i]); gn != nil {
			p.keepFor(n, p.touchNode(gn))
		}
	}
}

// lasting returns an existing provider of a dependency, not one that may cease to
// exist, and preferably a desired one; nil if there is none.
func (p *planner) lasting(dep *api.Dependency) *graph.Node {
	var desired, other *graph.Node
	p.matches(dep, func(gn *graph.Node, w *node) bool {
		switch {
		case gn == nil || gn.Have == nil || w != nil && w.leaving:
		case w == nil || w.want != nil:
			desired = gn
		case other == nil:
			other = gn
		}
		return desired == nil
	})
	if desired == nil {
		return other
	}
	return desired
}

// keepFor keeps w, and what it stands on, because n needs it.
func (p *planner) keepFor(n, w *node) {
	if !w.exists() || w.pinned || p.gone(w) {
		return
	}
	p.seeds = append(p.seeds, w)
	if w.holder != "" { // adopted perhaps, and not looked at otherwise
		return
	}
	w.holder = n.key
	p.retarget(w)
	w.in = w.target != nil
	p.hold(w, w.have)
}

// assume sets the optimistic target of a touched value and of its derived
// values.
func (p *planner) assume(n *node) {
	if n.base != nil && !n.base.assumed {
		p.assume(n.base)
	}
	n.assumed = true
	n.in = p.mayExist(n)
	if n.in && n.exists() && n.holder != "" {
		if lacks := p.req.left[n.key]; lacks != "" || n.adopted() && !p.changesInPlace(n) {
			n.target = n.have
			p.noteUnmet(n, lacks)
		}
	}
	mayDerive := n.base == nil && !n.derived && !n.pinned
	if n.in && mayDerive && (n.target != n.have || n.appliedAgain()) {
		p.derive(n)
	}
}

// mayExist reports whether n exists in the target, provided that its dependencies are met.
func (p *planner) mayExist(n *node) bool {
	if n.target == nil || n.leaving || !p.reachable(n) {
		return false
	}
	return n.base == nil || n.base.in || n.pinned || n.holder != ""
}

// appliedAgain reports whether the derived values of a desired value are looked at
// although it does not change.
func (n *node) appliedAgain() bool {
	return n.want != nil && (n.changed || n.touched || n.failed)
}

// reachable: values in a southbound that is down, and lost ones, do not exist,
// whatever is wanted, and what may exist already is not created.
func (p *planner) reachable(n *node) bool {
	if p.req.Unread != nil && !n.exists() && n.base == nil && p.req.Unread.Base(n.key, n.desc) {
		return false
	}
	return !p.req.Closed[n.desc.Session()] && !p.req.Lost[n.key]
}

// derive brings the derived values in line with the target of their base.
func (p *planner) derive(n *node) {
	n.derived = true
	wanted := make(map[string]bool, len(n.target.Derived))
	for i := range n.target.Derived {
		dv := &n.target.Derived[i]
		d := p.child(n, i, dv.Key)
		if d == nil {
			d = p.create(dv.Key, dv.Desc, n)
		}
		if d.node == nil && d.base == nil && !d.changed { // named by the request only
			d.base, d.desc = n, dv.Desc
			n.children = append(n.children, d)
		}
		if d.base != n {
			continue // a base value has that key: the derived one is left out
		}
		wanted[dv.Key] = true
		p.setWant(d, dv.Value)
		p.assume(d)
	}
	if n.node == nil || n.leaf {
		return
	}
	for gn := range n.node.Derived {
		if !wanted[gn.Key] {
			d := p.touchNode(gn)
			p.setWant(d, nil)
			p.assume(d)
		}
	}
}

// child returns the planner's view of derived value i of a base, nil if the key
// is not known.
func (p *planner) child(base *node, i int, key string) *node {
	if base.node != nil {
		if gn := base.node.Child(i, key); gn != nil {
			return p.touchNode(gn)
		}
	}
	if n := p.newNodes[key]; n != nil {
		return n
	}
	if gn := p.pieces.Node(key); gn != nil {
		return p.touchNode(gn)
	}
	return nil
}

// expand adds the values that were waiting for what now comes up, and so on;
// all of them are assumed to come up too.
func (p *planner) expand() {
	// The list grows meanwhile, by derived values and by what was waiting.
	for i := 0; i < len(p.list); i++ {
		n := p.list[i]
		// An existing value that the request names may be news to those who wait
		// for it; other existing values are not.
		if !n.in || n.exists() && !n.touched && !n.restored() || p.req.All {
			continue
		}
		var found []*graph.Node
		p.dependentsOf(n, p.patterns.awake(n), func(gn *graph.Node) {
			if gn.Want != nil && (gn.Have == nil || createdWith(gn.Have, n.key)) && p.of(gn) == nil {
				found = append(found, gn)
			}
		})
		slices.SortFunc(found, byKey)
		for _, gn := range found {
			p.assume(p.touchNode(gn))
		}
	}
}

// createdWith reports whether a value needs the key for its creation only.
func createdWith(v *registry.Value, key string) bool {
	return slices.ContainsFunc(v.Deps, func(dep api.Dependency) bool { return dep.Creation && dep.Key == key })
}

func byKey(a, b *graph.Node) int { return strings.Compare(a.Key, b.Key) }

func byChangedKey(a, b Change) int { return strings.Compare(a.Key, b.Key) }

// prune takes back the assumptions that do not hold, until all do.
func (p *planner) prune() {
	p.work = make([]*node, 0, len(p.list))
	for _, n := range p.list {
		if !n.provides() {
			p.out(n)
		}
	}
	for _, n := range p.list {
		if n.in {
			p.push(n)
		}
	}
	for i := 0; i < len(p.work); i++ {
		n := p.work[i]
		n.queued = false
		if n.in && !p.stands(n) {
			n.in = false
			p.out(n)
		}
	}
}

func (p *planner) push(n *node) {
	if !n.queued {
		n.queued = true
		p.work = append(p.work, n)
	}
}

// out looks at those that stood on a value which does not exist in the target.
func (p *planner) out(n *node) {
	var found []*graph.Node
	p.dependents(n, func(gn *graph.Node, q *node) {
		switch {
		case q != nil:
			if q.in {
				p.push(q)
			}
		case gn.Have != nil:
			found = append(found, gn)
		case gn.Err != nil && gn.Want != nil:
			p.failed = append(p.failed, gn)
		}
	})
	if n.node != nil && n.base == nil && !n.leaf && !n.in {
		for gn := range n.node.Derived {
			if p.of(gn) == nil {
				found = append(found, gn)
			}
		}
	}
	slices.SortFunc(found, byKey)
	p.list, p.work = slices.Grow(p.list, len(found)), slices.Grow(p.work, len(found))
	for _, gn := range found {
		p.push(p.touchNode(gn))
	}
	p.outDerived(n)
}

// outDerived visits the derived values of a value that does not exist in the target.
func (p *planner) outDerived(n *node) {
	for _, d := range n.children {
		if d.in {
			p.push(d)
		}
		if !d.exists() {
			p.setWant(d, nil) // derived from nothing, or from what is not desired
		}
	}
}

// stands reports whether everything that the target value needs is in the
// target too.
func (p *planner) stands(n *node) bool {
	if n.pinned {
		return true
	}
	if n.holder != "" {
		p.standHeld(n)
		return true
	}
	if n.target == nil || !p.reachable(n) {
		return false
	}
	if n.base != nil && !n.base.in {
		return false
	}
	if n.exists() && (n.want == nil || n.base != nil && n.base.want == nil) {
		if n.target != n.have && p.unmet(n, n.target) != nil { // of a base that is held
			n.target = n.have
		}
		return !p.undermined(n)
	}
	return p.unmet(n, n.target) == nil || p.unsure(n)
}

// standHeld notes what a value lacks that exists in the target in any case, because
// another one holds it.
func (p *planner) standHeld(n *node) {
	if n.target != n.have {
		p.stay(n)
	}
	dep := p.unmet(n, n.have)
	if dep != nil && p.lackOf[n] == "" {
		p.noteUnmet(n, dep.Name())
	}
	n.unmetHeld = dep != nil || n.base != nil && !n.base.in || !p.reachable(n)
}

// await makes failed values wait for what they depend on, if that does not exist in the
// target: a retry could not succeed.
func (p *planner) await() {
	for _, n := range p.seeds {
		if n.changed && n.node != nil && n.oldWant != nil {
			p.awaitDerived(n)
		}
	}
	for _, gn := range p.failed {
		if p.of(gn) == nil && p.unmet(&node{key: gn.Key, node: gn}, gn.Want) != nil {
			p.late = append(p.late, gn.Key)
		}
	}
}

// awaitDerived visits failed values that depend on derived values of the earlier
// desired value of n that are not in the graph: nothing else leads to them.
func (p *planner) awaitDerived(n *node) {
	for i := range n.oldWant.Derived {
		key := n.oldWant.Derived[i].Key
		if n.node.Child(i, key) != nil || p.newNodes[key] != nil || p.g.Node(key) != nil {
			continue
		}
		p.dependents(&node{key: key}, func(gn *graph.Node, q *node) {
			if q == nil && gn.Have == nil && gn.Err != nil && gn.Want != nil {
				p.failed = append(p.failed, gn)
			}
		})
	}
}

// terminating: n exists in the target only because it, or its base, cannot be removed
// now; see graph.Node.Terminating.
func (n *node) terminating() bool {
	if n.want == nil && n.in && (n.pinned || n.holder != "" && n.holder != n.key) {
		return true
	}
	return n.base != nil && n.base.want == nil && n.base.terminating()
}

// provides reports whether something else may stand on n in the target.
func (n *node) provides() bool { return n.in && !n.terminating() }

// restored: n was terminating, and is wanted again.
func (n *node) restored() bool {
	return n.want != nil && n.node != nil && (n.base == nil || n.base.want != nil) && n.node.Terminating()
}

// undermined: something that an unwanted value stands on is about to go. What
// such a value lacked when it was found is no reason to remove it.
func (p *planner) undermined(n *node) (goes bool) {
	p.lacks(n, n.target, func(why graph.Reason, _ *api.Dependency) bool {
		goes = why == graph.Leaving
		return !goes
	})
	return goes
}

// Hold is why a value stays as it is.
type Hold struct {
	// By is the key of a value standing on it that cannot be removed; its own key if it
	// was adopted; Unsure.
	By string
	// Lacks is what its change needs, or the value itself, and does not have; it may be empty.
	Lacks string
}

// changesInPlace: what exists need not be removed to become the target.
func (p *planner) changesInPlace(n *node) bool {
	return n.target == n.have || n.desc.Equivalent(n.key, n.have.Msg, n.target.Msg) ||
		!n.desc.NeedsRecreate(n.key, n.have.Msg, n.target.Msg, n.node.Meta)
}

// stay makes a value that has to stay stay as it is if its target lacks something.
func (p *planner) stay(n *node) {
	dep := p.unmet(n, n.target)
	if dep == nil {
		return
	}
	n.target = n.have
	p.noteUnmet(n, dep.Name())
	if len(n.children) > 0 && n.holder == n.key {
		p.left = append(p.left, n)
	}
}

// noteUnmet notes what a held value lacks.
func (p *planner) noteUnmet(n *node, what string) {
	if p.lackOf == nil {
		p.lackOf = map[*node]string{}
	}
	p.lackOf[n] = what
}

// leaving returns the request with the held values that turned out to lack
// something for their change: their derived values stay as well, so that has to
// be planned for from the start.
func (p *planner) leaving(req Request) Request {
	req.left = maps.Clone(req.left)
	if req.left == nil {
		req.left = map[string]string{}
	}
	for _, n := range p.left {
		req.left[n.key] = p.lackOf[n]
	}
	return req
}

// held reports whether something is desired of an existing value that it cannot have,
// because another one holds it or it was adopted.
func (n *node) held() bool {
	return n.exists() && n.holder != "" && (n.aim() != n.have || n.unmetHeld)
}

// aim is what an existing value would be if nothing held it.
func (n *node) aim() *registry.Value {
	switch {
	case n.want == nil || n.want.Invalid == nil || n.want.Last == nil:
		return n.want
	case n.want.Last.FromSB && n.have.FromSB:
		return n.have
	}
	return n.want.Last
}
