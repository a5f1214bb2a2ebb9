package plan

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"

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
	loose      bool  // a member does not wait for others any more: it may have fallen apart
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
// does not any more is counted by passed and met.
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

// passed is called when succ does not wait for pred any more.
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
