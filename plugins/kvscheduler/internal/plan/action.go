package plan

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// act compares the target with what exists. A value that stands on something
// which goes down goes down with it, and up again if it is in the target.
func (p *planner) act() {
	var falling []*node
	for i := 0; i < len(p.list); i++ {
		n := p.list[i]
		p.actOn(n)
		if n.kind == Update && !n.bounce {
			n.touchRecreated(p)
		}
		if n.goesDown() {
			if falling == nil {
				falling = make([]*node, 0, len(p.list)-i)
			}
			falling = append(falling, n)
		}
	}
	p.spread(falling)
}

func (p *planner) actOn(n *node) {
	if n.acted {
		return
	}
	n.acted = true
	switch {
	case n.leaving:
	case n.exists() && !n.in:
		n.kind = Down
		p.letGo(n)
	case !n.exists() && n.in:
		n.kind = Up
	case n.exists() && n.target != n.have:
		n.kind, n.recreate = p.change(n)
		if n.recreate {
			p.bounce(n, nil)
		}
	}
	if n.exists() && n.stays() && !n.pinned && n.holder == "" {
		if provider := n.outlived(p); provider != nil {
			p.bounce(n, provider)
		}
	}
}

// bounce makes an existing value go down and come up again, because of another one; nil:
// because of itself. It looks again at the values that need n and could not be created.
func (p *planner) bounce(n, because *node) {
	n.bounce, n.away = true, nil
	if because != nil {
		n.cause = because.origin()
	}
	p.dependents(n, func(gn *graph.Node, q *node) {
		if q == nil && gn.Have == nil && gn.Want != nil && gn.Err != nil {
			p.late = append(p.late, gn.Key)
		}
	})
}

// origin returns the base value whose change makes the values follow that follow n.
func (n *node) origin() *node {
	if n.cause != nil {
		return n.cause
	}
	return n.root()
}

// root returns the base value of n, or n.
func (n *node) root() *node {
	if n.base != nil {
		return n.base
	}
	return n
}

// outlived returns the provider whose change requires that n is created again: it is another
// provider than n was created with, or its update changes a property that n was created with.
// Nil: there is none.
func (n *node) outlived(p *planner) *node {
	for i := range n.have.Deps {
		dep := &n.have.Deps[i]
		if !dep.Creation && dep.Recreates == nil {
			continue
		}
		if _, w := p.named(n, n.have, i); w != nil {
			if p.actOn(w); dep.Creation && w.kind == Up || w.recreates(dep) {
				return w
			}
		}
	}
	return nil
}

// touchRecreated touches the values that the update of n recreates.
func (n *node) touchRecreated(p *planner) {
	if n.node == nil || !n.node.Recreates {
		return
	}
	var found []*graph.Node
	p.g.NamingNode(n.node, func(gn *graph.Node) {
		if gn.Have != nil && !gn.Have.FromSB && slices.ContainsFunc(gn.Have.Deps, func(dep api.Dependency) bool {
			return dep.Key == n.key && n.recreates(&dep)
		}) {
			found = append(found, gn)
		}
	})
	p.touchAll(found)
}

// recreates reports whether an update of n recreates the values with the dependency on n.
func (n *node) recreates(dep *api.Dependency) bool {
	if dep.Recreates == nil || n.kind != Update || n.bounce {
		return false
	}
	return !n.have.FromSB && !n.target.FromSB && dep.Recreates(n.have.Msg, n.target.Msg)
}

// letGo looks again at what n may have held: values that it stands on and
// that were to change or to go. Those that were touched are looked at anyway,
// the bases of touched values among them.
func (p *planner) letGo(n *node) {
	for i := range n.have.Deps {
		if n.have.Deps[i].Key == "" {
			continue
		}
		gn, w := p.named(n, n.have, i)
		for ; gn != nil && w == nil; gn = gn.Base { // a derived value holds its base
			if gn.Held && p.of(gn) == nil {
				p.late = append(p.late, gn.Key)
			}
		}
	}
}

// change reports how an existing value becomes its target.
func (p *planner) change(n *node) (kind Kind, recreate bool) {
	if p.req.Notified[n.key] {
		return Update, false
	}
	switch {
	case n.have.Assumed:
	case n.desc.Equivalent(n.key, n.have.Msg, n.target.Msg):
		return Adopt, false
	case !n.desc.NeedsRecreate(n.key, n.have.Msg, n.target.Msg, n.node.Meta):
		return Update, false
	}
	if n.holder != "" {
		return Note, false // must not go down now
	}
	return Update, true
}

func (n *node) goesDown() bool { return n.kind == Down || n.bounce }

// stays reports whether n exists before, after and all the time in between.
func (n *node) stays() bool { return n.exists() && n.in && !n.bounce }

// spread makes dependents follow what goes down.
func (p *planner) spread(falling []*node) {
	for len(falling) > 0 {
		n := falling[0]
		falling = falling[1:]
		bounce := func(q *node) {
			p.actOn(q)
			if !q.stays() || q.pinned || q.holder != "" {
				return
			}
			p.bounce(q, n)
			falling = append(falling, q)
		}
		for _, q := range p.standingOn(n) {
			if p.loses(q, n) {
				bounce(q)
			}
		}
		if n.base == nil {
			for _, d := range p.derivedFrom(n) {
				bounce(d)
			}
		}
	}
}

// standingOn returns the existing values with a dependency that the key of n
// meets, some more than once.
func (p *planner) standingOn(n *node) []*node {
	var found []*graph.Node
	p.dependentsOf(n, p.patterns.steady, func(gn *graph.Node) {
		if gn.Have != nil && !gn.Have.FromSB {
			found = append(found, gn)
		}
	})
	return p.touchAll(found)
}

func (p *planner) derivedFrom(n *node) []*node {
	if n.node == nil || n.leaf {
		return nil
	}
	var found []*graph.Node
	for gn := range n.node.Derived {
		if gn.Have != nil {
			found = append(found, gn)
		}
	}
	return p.touchAll(found)
}

// touchAll touches nodes, in the order of keys if there are new ones among
// them: the plan must not depend on the order in which they were found.
func (p *planner) touchAll(found []*graph.Node) []*node {
	if slices.ContainsFunc(found, func(gn *graph.Node) bool { return p.of(gn) == nil }) {
		slices.SortFunc(found, byKey)
	}
	p.list = slices.Grow(p.list, len(found))
	out := make([]*node, len(found))
	for i, gn := range found {
		out[i] = p.touchNode(gn)
	}
	return out
}

// loses reports whether q cannot exist while n is down: a dependency has
// no other provider that stays, and q is not updated away from it in time.
func (p *planner) loses(q, n *node) bool {
	p.actOn(q)
	if !q.stays() || q.kind == Adopt && q.target.FromSB { // given back, whatever it stands on
		return false
	}
	for i := range q.have.Deps {
		if graph.Meets(&q.have.Deps[i], n.key) && !p.hasStaying(q, q.have, i) && (q.kind != Update || !p.movesAway(q)) {
			return true
		}
	}
	return false
}

// hasStaying reports whether something that stays meets dependency i of v; v is what n has
// or is to become.
func (p *planner) hasStaying(n *node, v *registry.Value, i int) bool {
	return graph.Met(staying{&target{p, n, v}}, i, &v.Deps[i])
}

// movesAway: every dependency of the new value is met by something that stays
// or that is new, so the update can be made before the old provider goes.
func (p *planner) movesAway(q *node) bool {
	moves := true
	graph.Lacks(staysOrComes{&target{p, q, q.target}}, q.target, func(int, *api.Dependency) bool {
		moves = false
		return false
	})
	return moves
}
