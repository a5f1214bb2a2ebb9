package plan

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
)

// cycles finds the strongly connected components of the steps that are not
// done, along the links to what a step waits for. What a component waits for is
// counted, so that it is not looked at again before it waits for no other,
// however many there are in a row.
type cycles struct {
	s       *sorter
	scc     dag.SCC
	found   []visited // by step
	members []int32   // of all components
	comps   []component
	open    []int32 // components that wait for no other
}

// visited is what is known of a step.
type visited struct {
	comp    int32
	outside bool  // waits for another component; of needs only
	walk    uint8 // see cutter
}

// component is a set of steps that all waited for each other when it was
// found.
type component struct {
	first, end int32 // its members are cycles.members[first:end]
	outside    int32 // how often a member waits for what is not done in other components
	loose      bool  // a member no longer waits for others: it may have fallen apart
}

// takeOpen returns the components that wait for no other, and were not returned
// before.
func (c *cycles) takeOpen() (open []int32) {
	last := c.open
	c.open = nil
	for _, k := range last {
		if c.comps[k].loose {
			c.find(c.of(k))
		} else {
			open = append(open, k)
		}
	}
	open = append(open, c.open...)
	c.open = nil
	return open
}

// of returns the members of a component.
func (c *cycles) of(k int32) []int32 { return c.members[c.comps[k].first:c.comps[k].end] }

func newCycles(s *sorter) *cycles {
	c := &cycles{s: s, found: make([]visited, len(s.steps))}
	c.scc = dag.SCC{
		Next: func(out []int32, id int32) []int32 {
			c.waitsFor(id, func(pred int32) { out = append(out, pred) })
			return out
		},
		Found: c.component,
	}
	steps := make([]int32, len(s.steps)-1)
	for i := range steps {
		steps[i] = int32(i) + 1
	}
	c.find(steps)
	return c
}

// find finds the components among some steps, which wait for no others.
func (c *cycles) find(steps []int32) {
	first := len(c.comps)
	for _, id := range steps {
		c.found[id] = visited{}
		c.scc.Forget(id)
	}
	for _, id := range steps {
		if !c.s.steps[id].done {
			c.scc.Visit(id)
		}
	}
	for k := int32(first); k < int32(len(c.comps)); k++ {
		comp := &c.comps[k]
		for _, id := range c.of(k) {
			comp.outside += c.waitsOutside(id)
		}
		if comp.outside == 0 {
			c.open = append(c.open, k)
		}
	}
}

// waitsOutside counts how often a step waits for other components. That it
// no longer waits is counted by passed and met.
func (c *cycles) waitsOutside(id int32) (count int32) {
	comp := c.found[id].comp
	c.waitsFor(id, func(pred int32) {
		if c.found[pred].comp != comp {
			count++
		}
	})
	if c.s.steps[id].any { // the first of them is enough
		count = min(count, 1)
		c.found[id].outside = count > 0
	}
	return count
}

// passed is called when succ no longer waits for pred.
func (c *cycles) passed(pred, succ int32) {
	if k := c.found[succ].comp; k != c.found[pred].comp {
		c.leave(k)
	}
}

// met is called when one of those that a need waits for is done.
func (c *cycles) met(need int32) {
	if c.found[need].outside {
		c.comps[c.found[need].comp].loose = true
		c.leave(c.found[need].comp)
	}
}

func (c *cycles) leave(k int32) {
	comp := &c.comps[k]
	if comp.outside--; comp.outside == 0 {
		c.open = append(c.open, k)
	}
}

// waitsFor iterates over what a step waits for.
func (c *cycles) waitsFor(id int32, yield func(int32)) {
	s := c.s
	for at := s.steps[id].preds; at != 0; at = s.links[at].nextPred {
		if l := &s.links[at]; !s.steps[l.pred].done && !l.cut {
			yield(l.pred)
		}
	}
}

// component notes the members of a component.
func (c *cycles) component(steps []int32, _ bool) {
	first := len(c.members)
	c.members = append(c.members, steps...)
	for _, id := range steps {
		c.found[id].comp = int32(len(c.comps))
	}
	c.comps = append(c.comps, component{first: int32(first), end: int32(len(c.members))})
}

// breakCycles is called when nothing is ready: the rest contains values that
// depend on each other. Every component of the rest that waits for no other
// component is made free of cycles, at once. It reports false if updates were
// turned into re-creations instead, or are left out; see leaveOut.
func (s *sorter) breakCycles() bool {
	c := s.cycles
	if c == nil {
		c = newCycles(s)
		s.cycles = c
	}
	ok := true
	for open := c.takeOpen(); ok && s.ready.Len() == 0 && len(open) > 0; open = c.takeOpen() {
		for _, k := range open {
			members := c.of(k)
			if len(members) == 1 {
				continue
			}
			handsOver, vacatable := c.exchanges(members)
			if len(vacatable) > 0 {
				vacate(vacatable, s.p.attempts)
				ok = false
			} else if updates := c.updatesAmong(members, handsOver); len(updates) > 0 {
				s.p.giveUp(updates)
				ok = false
			} else if handsOver && c.leaveOut(c.heldAmong(members)) {
				ok = false
			} else if c.loosen(k) {
				c.find(members)
			} else {
				c.cut(k)
			}
		}
	}
	return ok
}

// loosen lets what a value stands on that has to stay go before the value is changed,
// which may not be before something else comes up. A component has no other link
// from what comes up to what goes down; the opposite ones are of identities.
func (c *cycles) loosen(k int32) (cut bool) {
	x := &cutter{cycles: c, comp: k}
	for _, id := range c.of(k) {
		if c.s.steps[id].kind != Update {
			continue
		}
		for at := c.s.steps[id].succs; at != 0; at = c.s.links[at].nextSucc {
			if l := &c.s.links[at]; !l.cut && x.in(l.succ) && c.s.steps[l.succ].kind == Down {
				l.cut, cut = true, true
				x.free(at)
			}
		}
	}
	return cut
}

// updatesAmong returns the updates of a component that also removes something or hands
// over an identity, except for values that have to stay.
func (c *cycles) updatesAmong(members []int32, removes bool) (updates []*node) {
	for _, id := range members {
		st := &c.s.steps[id]
		removes = removes || st.kind == Down
		if st.kind == Update && st.n.holder == "" {
			updates = append(updates, st.n)
		}
	}
	if !removes {
		return nil
	}
	return updates
}

// heldAmong returns the updates of a component whose values have to stay. One that gives up an identity for a value that
// it needs cannot be made: it would be first without what it needs.
func (c *cycles) heldAmong(members []int32) (held []*node) {
	for _, id := range members {
		if st := &c.s.steps[id]; st.kind == Update && st.n.holder != "" {
			held = append(held, st.n)
		}
	}
	return held
}

// leaveOut makes held values stay as they are in the next attempt to plan. It reports whether one of them was not to stay in
// this one.
func (c *cycles) leaveOut(held []*node) (added bool) {
	p := c.s.p
	for _, n := range held {
		if p.req.left[n.key] == "" {
			p.noteUnmet(n, n.holder)
			p.left, added = append(p.left, n), true
		}
	}
	return added
}

// giveUp lets some of the updates go down instead, those with the smallest keys:
// first one, which may be enough, then four times as many each time that it was
// not, and in the end all.
func (p *planner) giveUp(updates []*node) {
	updates = first(updates, p.attempts)
	for _, n := range updates {
		p.bounce(n, nil)
	}
	p.spread(updates)
}

// cutter makes a component free of cycles: it walks along the links, depth
// first, and cuts links that lead back to where it came from. It never cuts
// links in a value, or between a base and its derived values; see hard. No link
// is cut without need: with any of them back in place there is a cycle.
//
// It walks creations from the value with the smallest key on, which is created
// first, and removals backwards, from a value that is removed last. No component
// has both; see updatesAmong and loosen.
type cutter struct {
	*cycles
	comp   int32
	down   bool
	cuts   []int32         // links
	passed map[int32]int32 // see passedGate
}

// What the walk knows of a step: nothing, that it is on the way, or that it was
// left.
const (
	unseen = iota
	onTheWay
	left
)

func (c *cycles) cut(k int32) {
	x := &cutter{cycles: c, comp: k}
	root := x.first()
	if x.down = c.s.steps[root].kind == Down; x.down {
		root = x.before(root)
	}
	x.walk(root)
	for _, at := range x.cuts {
		x.free(at)
	}
}

// in reports whether a step is part of the component. Those that were added to
// the plan later are done.
func (x *cutter) in(id int32) bool {
	return id != none && !x.s.steps[id].done && x.found[id].comp == x.comp
}

// first is the step with the smallest key among those that can be the first:
// not one that waits for its base.
func (x *cutter) first() int32 {
	s := x.s
	first := int32(none)
	for _, id := range x.of(x.comp) {
		if !s.isGate(id) && (first == none || s.steps[id].n.key < s.steps[first].n.key) && x.mayGoFirst(id) {
			first = id
		}
	}
	return first
}

func (x *cutter) mayGoFirst(id int32) bool {
	s := x.s
	for at := s.steps[id].preds; at != 0; at = s.links[at].nextPred {
		if l := &s.links[at]; !s.steps[l.pred].done && s.hard(l) && !l.cut {
			return false
		}
	}
	return true
}

// before is a step that goes before another one, or its base.
func (x *cutter) before(id int32) int32 {
	s := x.s
	for at := s.steps[id].preds; at != 0; at = s.links[at].nextPred {
		if l := &s.links[at]; !l.cut && x.in(l.pred) {
			if base := x.base(l.pred); base != none {
				return base
			}
			return l.pred
		}
	}
	return none
}

// base is the step of the component that does to the base of a value what the
// given one does to the value.
func (x *cutter) base(id int32) int32 {
	base := x.s.steps[id].n.base
	if base == nil {
		return none
	}
	step := base.stepUp
	if x.down {
		step = base.stepDown
	}
	if !x.in(step) {
		return none
	}
	return step
}

// walkFrame is a step on the way, with the link that is looked at next.
type walkFrame struct{ id, at int32 }

func (x *cutter) walk(root int32) {
	s := x.s
	frames := []walkFrame{x.enter(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.at == 0 {
			x.found[f.id].walk = left
			frames = frames[:len(frames)-1]
			continue
		}
		at, l := f.at, &s.links[f.at]
		to, next := l.succ, l.nextSucc
		if x.down {
			to, next = l.pred, l.nextPred
		}
		enter := int32(none)
		if !l.cut && x.in(to) {
			switch x.found[to].walk {
			case onTheWay:
				l.cut = true
				x.cuts = append(x.cuts, at)
			case unseen:
				enter = to
			}
		}
		if enter != none {
			// By way of its base, so that the link between them does not lead back.
			if base := x.base(to); base != none && x.found[base].walk == unseen {
				enter, next = base, at
			}
		}
		f.at = next
		if enter != none {
			frames = append(frames, x.enter(enter))
		}
	}
}

func (x *cutter) enter(id int32) walkFrame {
	x.found[id].walk = onTheWay
	if x.down {
		return walkFrame{id, x.s.steps[id].preds}
	}
	return walkFrame{id, x.s.steps[id].succs}
}

// free makes a step not wait for another one, by a link that was cut.
func (x *cutter) free(at int32) {
	s := x.s
	pred, succ := s.links[at].pred, s.links[at].succ
	if s.steps[succ].any {
		return // there are others
	}
	if s.isGate(pred) && !s.steps[pred].any {
		if gone := x.passedGate(pred); gone != none {
			s.connect(gone, succ)
		}
	}
	st := &s.steps[succ]
	if st.waits--; st.waits > 0 {
		return
	}
	if s.isGate(succ) && x.passedGate(succ) == none {
		x.drop(succ)
	} else {
		s.ready.Push(s.place(succ))
	}
}

// drop removes a gate that has no predecessors left.
func (x *cutter) drop(gate int32) {
	x.s.steps[gate].done = true
	for at := x.s.steps[gate].succs; at != 0; at = x.s.links[at].nextSucc {
		if l := &x.s.links[at]; !l.cut {
			l.cut = true
			x.cycles.passed(gate, l.succ) // which another component may wait for
			x.free(at)
		}
	}
}

// passedGate is the step that precedes all steps which no longer wait for a gate,
// but still follow the steps that went before it.
func (x *cutter) passedGate(gate int32) int32 {
	id, known := x.passed[gate]
	if known {
		return id
	}
	s := x.s
	var done []int32
	for at := s.steps[gate].preds; at != 0; at = s.links[at].nextPred {
		if l := &s.links[at]; s.steps[l.pred].done && !l.cut {
			done = append(done, l.pred)
		}
	}
	id = s.gateOf(done, func(passed, pred int32) { s.connect(pred, passed) })
	if len(done) > 1 {
		s.emit(id)
	}
	if x.passed == nil {
		x.passed = map[int32]int32{}
	}
	x.passed[gate] = id
	return id
}

// hard: a link that no cycle of dependencies can put in question, because it lies
// within one value or between a base and a derived value.
func (s *sorter) hard(l *link) bool {
	pred, st := &s.steps[l.pred], &s.steps[l.succ]
	return pred.n == st.n ||
		st.kind != Down && st.n.base == pred.n ||
		pred.kind == Down && pred.n.base == st.n
}
