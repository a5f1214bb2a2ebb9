package plan

// cycles finds the strongly connected components of the steps that are not
// done, along the links to what a step waits for. What a component waits for is
// counted, so that it is not looked at again before it waits for no other,
// however many there are in a row.
type cycles struct {
	s       *sorter
	found   []visited // by step
	counter int32
	stack   []int32
	adj     []int32 // of all open frames
	members []int32 // of all components
	comps   []component
	open    []int32 // components that wait for no other
}

// visited is what is known of a step.
type visited struct {
	num, low int32 // see visit
	comp     int32
	onStack  bool
	outside  bool  // waits for another component; of needs only
	walk     uint8 // see cutter
}

// component is a set of steps of which each waited for each, when it was
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
	}
	for _, id := range steps {
		if !c.s.steps[id].done && c.found[id].num == 0 {
			c.visit(id)
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

// frame is a step that is being visited. What it waits for is in cycles.adj,
// from first on.
type frame struct {
	id          int32
	first, next int
}

func (c *cycles) enter(id int32) frame {
	c.counter++
	c.found[id] = visited{num: c.counter, low: c.counter, onStack: true}
	c.stack = append(c.stack, id)
	f := frame{id, len(c.adj), len(c.adj)}
	c.waitsFor(id, func(pred int32) { c.adj = append(c.adj, pred) })
	return f
}

// visit is Tarjan's algorithm; it does not recur, so that long chains do not
// exhaust the stack.
func (c *cycles) visit(root int32) {
	frames := []frame{c.enter(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		at := &c.found[f.id]
		if f.next < len(c.adj) {
			next := c.adj[f.next]
			f.next++
			if w := &c.found[next]; w.num == 0 {
				frames = append(frames, c.enter(next))
			} else if w.onStack {
				at.low = min(at.low, w.num)
			}
			continue
		}
		id := f.id
		c.adj = c.adj[:f.first]
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := &c.found[frames[len(frames)-1].id]
			parent.low = min(parent.low, at.low)
		}
		if at.low == at.num {
			c.close(id)
		}
	}
}

func (c *cycles) close(root int32) {
	at := len(c.stack) - 1
	for c.stack[at] != root {
		at--
	}
	first := len(c.members)
	c.members = append(c.members, c.stack[at:]...)
	c.stack = c.stack[:at]
	for _, id := range c.members[first:] {
		c.found[id].onStack = false
		c.found[id].comp = int32(len(c.comps))
	}
	c.comps = append(c.comps, component{first: int32(first), end: int32(len(c.members))})
}
