package plan

// breakCycles is called when nothing is ready: the rest contains values that
// depend on each other. In every component of the rest that waits for no other
// component, the value with the smallest key stops waiting for the members of
// its component, unless it is their base or derived from them. It reports false
// if an update was turned into a re-creation instead.
func (s *sorter) breakCycles() bool {
	t := &tarjan{s: s}
	for _, st := range s.steps {
		if !st.done && st.num == 0 {
			t.visit(st)
		}
	}
	ok := true
	for _, members := range t.components {
		if len(members) < 2 || s.waitsForOthers(members) {
			continue
		}
		if u := updateAmong(members); u != nil {
			u.n.bounce = true
			s.p.spread([]*node{u.n})
			ok = false
			continue
		}
		s.free(members)
	}
	for _, st := range s.steps {
		st.num, st.low, st.onStack, st.comp = 0, 0, false, 0
	}
	return ok
}

// updateAmong returns the update with the smallest key of a component that
// also removes something.
func updateAmong(members []*step) *step {
	var found *step
	removes := false
	for _, st := range members {
		removes = removes || st.kind == Down
		if st.kind == Update && (found == nil || st.n.key < found.n.key) {
			found = st
		}
	}
	if !removes {
		return nil
	}
	return found
}

func (s *sorter) waitsForOthers(members []*step) bool {
	for _, st := range members {
		for _, pred := range st.preds {
			if !pred.done && pred.comp != st.comp && !s.cut[edge{pred, st}] {
				return true
			}
		}
		for _, nd := range st.needs {
			if nd.met {
				continue
			}
			for _, c := range nd.candidates {
				if c.comp != st.comp {
					return true
				}
			}
		}
	}
	return false
}

// free lets the member with the smallest key go first.
func (s *sorter) free(members []*step) {
	var first *step
	for _, st := range members {
		if s.mayGoFirst(st) && (first == nil || st.n.key < first.n.key) {
			first = st
		}
	}
	for _, pred := range first.preds {
		e := edge{pred, first}
		if pred.done || pred.comp != first.comp || hard(pred, first) {
			continue
		}
		if s.cut == nil {
			s.cut = map[edge]bool{}
		}
		s.cut[e] = true
		first.waits--
	}
	for _, nd := range first.needs {
		if !nd.met {
			nd.met = true
			first.waits--
		}
	}
	if first.waits == 0 {
		s.ready.Push(first.order)
	}
}

// mayGoFirst: a step that waits for its own removal or its base within the
// cycle cannot be the first.
func (s *sorter) mayGoFirst(st *step) bool {
	for _, pred := range st.preds {
		if !pred.done && pred.comp == st.comp && hard(pred, st) && !s.cut[edge{pred, st}] {
			return false
		}
	}
	return true
}

// hard: an edge that no cycle of dependencies can put in question, because it
// lies within one value or between a base and what is derived from it.
func hard(pred, st *step) bool {
	return pred.n == st.n ||
		st.kind != Down && st.n.base == pred.n ||
		pred.kind == Down && pred.n.base == st.n
}

// tarjan finds strongly connected components of the steps that are not done,
// along the edges to what a step waits for.
type tarjan struct {
	s          *sorter
	counter    int
	stack      []*step
	components [][]*step
}

type frame struct {
	st   *step
	next int
	adj  []*step
}

func (s *sorter) waitsFor(st *step) []*step {
	var out []*step
	for _, pred := range st.preds {
		if !pred.done && !s.cut[edge{pred, st}] {
			out = append(out, pred)
		}
	}
	for _, nd := range st.needs {
		if !nd.met {
			out = append(out, nd.candidates...)
		}
	}
	return out
}

func (t *tarjan) open(st *step) frame {
	t.counter++
	st.num, st.low, st.onStack = t.counter, t.counter, true
	t.stack = append(t.stack, st)
	return frame{st: st, adj: t.s.waitsFor(st)}
}

// visit is iterative, so that long chains do not exhaust the stack.
func (t *tarjan) visit(root *step) {
	frames := []frame{t.open(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.next < len(f.adj) {
			w := f.adj[f.next]
			f.next++
			if w.num == 0 {
				frames = append(frames, t.open(w))
			} else if w.onStack {
				f.st.low = min(f.st.low, w.num)
			}
			continue
		}
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := frames[len(frames)-1].st
			parent.low = min(parent.low, f.st.low)
		}
		if f.st.low == f.st.num {
			t.close(f.st)
		}
	}
}

func (t *tarjan) close(root *step) {
	var members []*step
	for {
		st := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		st.onStack = false
		st.comp = len(t.components) + 1
		members = append(members, st)
		if st == root {
			break
		}
	}
	t.components = append(t.components, members)
}
