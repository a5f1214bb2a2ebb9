package plan

// breakCycles is called when nothing is ready: the rest contains values that
// depend on each other. In every component of the rest that waits for no other
// component, the value with the smallest key stops waiting for the members of
// its component, unless it is their base or derived from them. It reports false
// if an update was turned into a re-creation instead.
func (s *sorter) breakCycles() bool {
	t := &tarjan{s: s, found: make([]visited, len(s.steps))}
	for id := 1; id < len(s.steps); id++ {
		if !s.steps[id].done && t.found[id].num == 0 {
			t.visit(int32(id))
		}
	}
	ok := true
	for _, members := range t.components {
		if len(members) < 2 || t.waitsForOthers(members) {
			continue
		}
		if u := s.updateAmong(members); u != none {
			n := s.steps[u].n
			n.bounce = true
			s.p.spread([]*node{n})
			ok = false
			continue
		}
		t.free(members)
	}
	return ok
}

// updateAmong returns the update with the smallest key of a component that
// also removes something.
func (s *sorter) updateAmong(members []int32) int32 {
	found := int32(none)
	removes := false
	for _, id := range members {
		st := &s.steps[id]
		removes = removes || st.kind == Down
		if st.kind == Update && (found == none || st.n.key < s.steps[found].n.key) {
			found = id
		}
	}
	if !removes {
		return none
	}
	return found
}

// tarjan finds strongly connected components of the steps that are not done,
// along the links to what a step waits for.
type tarjan struct {
	s          *sorter
	found      []visited // by step
	counter    int
	stack      []int32
	components [][]int32
}

// visited is what the algorithm knows of a step.
type visited struct {
	num, low int
	onStack  bool
	comp     int
}

func (t *tarjan) waitsForOthers(members []int32) bool {
	s := t.s
	for _, id := range members {
		comp := t.found[id].comp
		for at := s.steps[id].preds; at != 0; at = s.links[at].nextPred {
			l := &s.links[at]
			if !s.steps[l.pred].done && t.found[l.pred].comp != comp && !l.cut {
				return true
			}
		}
		for _, nd := range s.needs[id] {
			if nd.met {
				continue
			}
			for _, c := range nd.candidates {
				if t.found[c].comp != comp {
					return true
				}
			}
		}
	}
	return false
}

// free lets the member with the smallest key go first.
func (t *tarjan) free(members []int32) {
	s := t.s
	first := int32(none)
	for _, id := range members {
		if t.mayGoFirst(id) && (first == none || s.steps[id].n.key < s.steps[first].n.key) {
			first = id
		}
	}
	st := &s.steps[first]
	for at := st.preds; at != 0; at = s.links[at].nextPred {
		l := &s.links[at]
		if s.steps[l.pred].done || t.found[l.pred].comp != t.found[first].comp || s.hard(l) || l.cut {
			continue
		}
		l.cut = true
		st.waits--
	}
	for _, nd := range s.needs[first] {
		if !nd.met {
			nd.met = true
			st.waits--
		}
	}
	if st.waits == 0 {
		s.ready.Push(s.place(first))
	}
}

// mayGoFirst: a step that waits for its own removal or its base within the
// cycle cannot be the first.
func (t *tarjan) mayGoFirst(id int32) bool {
	s := t.s
	for at := s.steps[id].preds; at != 0; at = s.links[at].nextPred {
		l := &s.links[at]
		if !s.steps[l.pred].done && t.found[l.pred].comp == t.found[id].comp && s.hard(l) && !l.cut {
			return false
		}
	}
	return true
}

// hard: a link that no cycle of dependencies can put in question, because it
// lies within one value or between a base and what is derived from it.
func (s *sorter) hard(l *link) bool {
	pred, st := &s.steps[l.pred], &s.steps[l.succ]
	return pred.n == st.n ||
		st.kind != Down && st.n.base == pred.n ||
		pred.kind == Down && pred.n.base == st.n
}

type frame struct {
	id   int32
	next int
	adj  []int32
}

func (s *sorter) waitsFor(id int32) []int32 {
	var out []int32
	for at := s.steps[id].preds; at != 0; at = s.links[at].nextPred {
		if l := &s.links[at]; !s.steps[l.pred].done && !l.cut {
			out = append(out, l.pred)
		}
	}
	for _, nd := range s.needs[id] {
		if !nd.met {
			out = append(out, nd.candidates...)
		}
	}
	return out
}

func (t *tarjan) open(id int32) frame {
	t.counter++
	t.found[id] = visited{num: t.counter, low: t.counter, onStack: true}
	t.stack = append(t.stack, id)
	return frame{id: id, adj: t.s.waitsFor(id)}
}

// visit is iterative, so that long chains do not exhaust the stack.
func (t *tarjan) visit(root int32) {
	frames := []frame{t.open(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		at := &t.found[f.id]
		if f.next < len(f.adj) {
			next := f.adj[f.next]
			f.next++
			if w := &t.found[next]; w.num == 0 {
				frames = append(frames, t.open(next))
			} else if w.onStack {
				at.low = min(at.low, w.num)
			}
			continue
		}
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := &t.found[frames[len(frames)-1].id]
			parent.low = min(parent.low, at.low)
		}
		if at.low == at.num {
			t.close(f.id)
		}
	}
}

func (t *tarjan) close(root int32) {
	var members []int32
	for {
		id := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.found[id].onStack = false
		t.found[id].comp = len(t.components) + 1
		members = append(members, id)
		if id == root {
			break
		}
	}
	t.components = append(t.components, members)
}
