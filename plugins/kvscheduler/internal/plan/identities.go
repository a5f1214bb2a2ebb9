package plan

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// A value that gives up an identity precedes the value that gets it; see
// api.Descriptor.Identities. That may close a cycle:
//
//   - with the update of a value that depends on both: the value goes down and comes up again;
//   - of values that exchange their identities in place: one of them takes a temporary
//     identity first, if its descriptor has Vacate, or goes down and comes up again.

// identities looks at the identities of the values in a plan.
type identities struct{ *planner }

// gains are the identities that n gets. Its southbound must not have them elsewhere then.
func (p identities) gains(n *node) []registry.Claim {
	if n.kind != Up && n.kind != Update || !p.claims(n) {
		return nil
	}
	return without(n.desc.Claims(n.key, n.target), n.desc.Claims(n.key, n.have))
}

// losses are the identities that n gives up.
func (p identities) losses(n *node) []registry.Claim {
	if n.kind != Down && n.kind != Update || !p.claims(n) {
		return nil
	}
	had := n.desc.Claims(n.key, n.have)
	if n.kind == Down {
		return had
	}
	return without(had, n.desc.Claims(n.key, n.target))
}

// claims reports whether an operation on n may change who has an identity.
func (p identities) claims(n *node) bool {
	return n.desc != nil && n.desc.Identities != nil && !p.req.Notified[n.key] && !p.req.Lost[n.key]
}

// without returns the identities that are not among others. There may be thousands of both.
func without(all, others []registry.Claim) []registry.Claim {
	if len(all) == 0 || len(others) == 0 {
		return all
	}
	known := make(map[registry.Claim]bool, len(others))
	for _, c := range others {
		known[c] = true
	}
	return slices.DeleteFunc(all, func(c registry.Claim) bool { return known[c] })
}

// contend looks at the values that have an identity which another one is to get: they may
// have to give it up, and wait for a retry.
func (p identities) contend() {
	var found []*graph.Node
	for _, n := range p.list {
		for _, c := range p.gains(n) {
			for _, gn := range p.g.Claimants(c) {
				if gn != n.node && p.of(gn) == nil {
					found = append(found, gn)
				}
			}
		}
	}
	p.touchAll(found)
}

// handOver orders what gives up an identity before what gets it.
func (s *sorter) handOver() {
	ids, givers := identities{s.p}, map[registry.Claim][]int32{}
	for _, n := range s.p.list {
		for _, c := range ids.losses(n) {
			givers[c] = append(givers[c], n.gives())
		}
	}
	if len(givers) == 0 {
		return
	}
	gates := map[registry.Claim]int32{}
	for _, n := range s.p.list {
		for _, c := range ids.gains(n) {
			if len(givers[c]) == 0 {
				continue
			}
			gate, known := gates[c]
			if !known {
				gate = s.gateOf(givers[c], func(gate, giver int32) { s.handTo(giver, gate) })
				gates[c] = gate
			}
			s.handTo(gate, n.stepUp)
		}
	}
}

// gives is the step that gives up the identities of n.
func (n *node) gives() int32 {
	switch {
	case n.stepDown != none:
		return n.stepDown
	case n.stepAway != none:
		return n.stepAway
	}
	return n.stepUp
}

func (s *sorter) handTo(pred, succ int32) {
	if pred != none && succ != none && pred != succ {
		s.before(pred, succ)
		s.links[len(s.links)-1].identity = true
	}
}

// exchanges returns the updates of a component that hand over an identity, and the ones among
// them that can give it up for a temporary one.
func (c *cycles) exchanges(members []int32) (handsOver bool, vacatable []*node) {
	x := &cutter{cycles: c, comp: c.found[members[0]].comp}
	for _, id := range members {
		st := &c.s.steps[id]
		gives := false
		for at := st.succs; at != 0; at = c.s.links[at].nextSucc {
			l := &c.s.links[at]
			gives = gives || l.identity && !l.cut && x.in(l.succ)
		}
		handsOver = handsOver || gives
		if n := st.n; gives && st.kind == Update && n.away == nil && n.desc.Vacate != nil {
			vacatable = append(vacatable, n)
		}
	}
	return handsOver, vacatable
}

// vacate lets some of the values take temporary identities, as many as giveUp lets go.
func vacate(list []*node, attempts int) {
	for _, n := range first(list, attempts) {
		n.away = n.desc.Vacated(n.key, n.have)
	}
}

// first returns the values with the smallest keys: one, four times as many with each
// attempt, and in the end all.
func first(list []*node, attempts int) []*node {
	slices.SortFunc(list, func(a, b *node) int { return strings.Compare(a.key, b.key) })
	if attempts < 4 {
		list = list[:min(len(list), 1<<(2*attempts))]
	}
	return list
}
