package plan

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// handover is from values that go to one that comes, any of which is enough for
// some that stay meanwhile: it comes up before the others go down.
type handover struct {
	dep  *api.Dependency
	stay []*node
}

// handOver tells whether q can stay while n goes, because something else comes
// that meets the dependency as well.
func (p *planner) handOver(q, n *node, dep *api.Dependency) bool {
	if !dep.AnyOf.SideBySide || p.req.RemoveFirst || p.req.Notified[n.key] || !p.choosing(dep, p.moves) {
		return false
	}
	what := alternativeOf(dep)
	h := p.handovers[what]
	switch {
	case h == nil:
		if p.handovers == nil {
			p.handovers = map[alternative]*handover{}
		}
		h = &handover{dep: dep}
		p.handovers[what] = h
		p.handedOver = append(p.handedOver, h)
	case h.stay == nil:
		return false // it was tried
	}
	h.stay = append(h.stay, q)
	return true
}

// wanted tells whether anything stays on account of the handover.
func (h *handover) wanted() bool { return slices.ContainsFunc(h.stay, (*node).stays) }

// linkHandovers orders the first of those that come before all that go.
func (s *sorter) linkHandovers() {
	for _, h := range s.p.handedOver {
		if !h.wanted() {
			continue
		}
		comes := s.afterAny(h.dep)
		s.before(comes, s.beforeAny(h.dep))
		if s.handovers == nil {
			s.handovers = map[int32][]*handover{}
		}
		s.handovers[comes] = append(s.handovers[comes], h)
		s.hurry(comes)
	}
}

// hurry lets a step and all that go before it go before others.
func (s *sorter) hurry(id int32) {
	todo := []int32{id}
	for len(todo) > 0 {
		st := &s.steps[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if st.soon {
			continue
		}
		st.soon = true
		for at := st.preds; at != 0; at = s.links[at].nextPred {
			todo = append(todo, s.links[at].pred)
		}
	}
}

// handoversAmong returns the handovers within a component: what comes waits for
// something that goes.
func (c *cycles) handoversAmong(k int32) (found []*handover) {
	s := c.s
	if len(s.handovers) == 0 {
		return nil
	}
	for _, id := range c.of(k) {
		for _, h := range s.handovers[id] {
			if h.wanted() && c.isIn(s.beforeAny(h.dep), k) {
				found = append(found, h)
			}
		}
	}
	return found
}

// giveUpHandovers lets those go down that were to stay.
func (p *planner) giveUpHandovers(list []*handover) {
	var falling []*node
	for _, h := range list {
		for _, q := range h.stay {
			if q.stays() {
				q.bounce = true
				falling = append(falling, q)
			}
		}
		h.stay = nil
	}
	p.spread(falling)
}
