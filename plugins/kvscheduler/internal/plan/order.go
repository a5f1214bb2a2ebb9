package plan

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/minheap"
)

// step is an operation while its order is sought.
type step struct {
	n        *node
	kind     Kind
	recreate bool

	preds, succs []*step
	fewPreds     [2]*step // the room of preds and succs as long as they are few
	fewSuccs     [1]*step
	waits        int // preds and needs that are not done yet
	needs        []*need
	done         bool
	index        int
	order        uint64 // place among the ready steps

	// For Tarjan's algorithm.
	num, low int
	onStack  bool
	comp     int
}

// need is a dependency of a step that something created in this plan will
// meet; the first candidate that is done meets it.
type need struct {
	of         *step
	candidates []*step
	met        bool
}

type sorter struct {
	p      *planner
	steps  []*step
	waits  map[*step][]*need
	ready  minheap.Heap[uint64]
	ranked []*step // by key
	out    []*step
	cut    map[edge]bool // edges given up to break cycles
	slab   slab[step]
}

type edge struct{ from, to *step }

// order sorts the operations so that everything comes up after what it needs
// and goes down before what it stands on. Ties are broken by key, removals
// first, so that equal input gives an equal plan.
func (p *planner) order() *Plan {
	for {
		s := newSorter(p)
		s.build()
		if s.sort() {
			return s.plan()
		}
		// An update would have to be made both before and after something else
		// goes down: the value goes down as well instead.
	}
}

func newSorter(p *planner) *sorter {
	return &sorter{
		p: p, steps: make([]*step, 0, len(p.list)), out: make([]*step, 0, len(p.list)),
		waits: map[*step][]*need{},
	}
}

func (s *sorter) add(n *node, kind Kind, recreate bool) *step {
	st := s.slab.next()
	st.n, st.kind, st.recreate = n, kind, recreate
	st.preds, st.succs = st.fewPreds[:0], st.fewSuccs[:0]
	s.steps = append(s.steps, st)
	if kind == Down {
		n.stepDown = st
	} else {
		n.stepUp = st
	}
	return st
}

func (s *sorter) build() {
	for _, n := range s.p.list {
		n.stepDown, n.stepUp = nil, nil
	}
	for _, n := range s.p.list {
		switch {
		case n.bounce:
			s.add(n, Down, n.recreate)
			s.add(n, Up, n.recreate)
		case n.kind != Note:
			s.add(n, n.kind, false)
		case n.noteworthy():
			s.add(n, Note, false)
		}
	}
	for _, st := range s.steps {
		s.link(st)
	}
}

// noteworthy: nothing is done to the value itself, but its wish or its state
// changes.
func (n *node) noteworthy() bool {
	if n.base != nil && !n.base.in && n.node == nil {
		return false // derived from a value that does not come up: not wanted
	}
	if n.changed || n.want != n.oldWant || n.holder != "" {
		return true
	}
	return !n.pinned && n.node != nil && (n.node.Err != nil || n.node.Missing && !n.in)
}

func before(a, b *step) {
	if a == nil || b == nil || a == b {
		return
	}
	a.succs = append(a.succs, b)
	b.preds = append(b.preds, a)
	b.waits++
}

func (s *sorter) link(st *step) {
	n := st.n
	if st.kind != Down {
		before(n.stepDown, st)
	}
	if n.base != nil {
		base := n.base
		switch {
		case st.kind == Down:
			before(st, base.stepDown)
			if base.stepDown == nil {
				before(st, base.stepUp)
			}
		default:
			before(base.stepUp, st)
		}
	}
	if st.kind == Down || st.kind == Update {
		s.leave(st)
	}
	if st.kind == Up || st.kind == Update {
		s.arrive(st)
	}
}

// leave orders st before the removal of everything that its existing value
// stands on.
func (s *sorter) leave(st *step) {
	if st.n.have.FromSB {
		return
	}
	for i := range st.n.have.Deps {
		dep := &st.n.have.Deps[i]
		if st.kind == Update && s.p.hasStaying(dep) {
			continue
		}
		s.p.matches(dep, func(_ *graph.Node, w *node) bool {
			if w != nil && w != st.n && w != st.n.base {
				before(st, w.stepDown)
			}
			return true
		})
	}
}

// arrive makes st wait for what its target value needs and what does not exist
// all the time.
func (s *sorter) arrive(st *step) {
	if st.n.target.FromSB {
		return
	}
	for i := range st.n.target.Deps {
		dep := &st.n.target.Deps[i]
		if w := s.p.exactTarget(st.n, i); w != nil {
			if !w.stays() && w != st.n && w.stepUp != nil && w.stepUp.kind == Up {
				before(w.stepUp, st)
			}
			continue
		}
		if dep.Key != "" || s.p.hasStaying(dep) {
			continue // an exact one was not touched, so it stays
		}
		nd := &need{of: st}
		s.p.matches(dep, func(_ *graph.Node, w *node) bool {
			if w != nil && w != st.n && w.stepUp != nil && w.stepUp.kind == Up {
				nd.candidates = append(nd.candidates, w.stepUp)
			}
			return true
		})
		s.await(st, nd)
	}
}

func (s *sorter) await(st *step, nd *need) {
	if len(nd.candidates) == 0 {
		return
	}
	if len(nd.candidates) == 1 {
		before(nd.candidates[0], st)
		return
	}
	st.needs = append(st.needs, nd)
	st.waits++
	for _, c := range nd.candidates {
		s.waits[c] = append(s.waits[c], nd)
	}
}

// sort is Kahn's algorithm. It reports false if it had to turn an update into
// a re-creation, so that the order must be sought again.
func (s *sorter) sort() bool {
	s.rank()
	for _, st := range s.steps {
		if st.waits == 0 {
			s.ready = append(s.ready, st.order)
		}
	}
	slices.Sort(s.ready) // a sorted list is a heap
	for len(s.out) < len(s.steps) {
		if len(s.ready) == 0 && !s.breakCycles() {
			return false
		}
		s.emit(s.ranked[s.ready.Pop()&rankMask])
	}
	return true
}

func (s *sorter) emit(st *step) {
	st.done = true
	st.index = len(s.out)
	s.out = append(s.out, st)
	for _, nd := range s.waits[st] {
		if !nd.met {
			nd.met = true
			nd.of.preds = append(nd.of.preds, st)
			s.release(nd.of)
		}
	}
	for _, next := range st.succs {
		if len(s.cut) == 0 || !s.cut[edge{st, next}] {
			s.release(next)
		}
	}
}

func (s *sorter) release(st *step) {
	if st.waits--; st.waits == 0 && !st.done {
		s.ready.Push(st.order)
	}
}

// rank gives every step its place among those that are ready: removals first,
// then by key.
func (s *sorter) rank() {
	s.ranked = slices.Clone(s.steps)
	slices.SortFunc(s.ranked, func(a, b *step) int { return strings.Compare(a.n.key, b.n.key) })
	for i, st := range s.ranked {
		st.order = uint64(i)
		if st.kind != Down {
			st.order |= notDown
		}
	}
	s.ready = make(minheap.Heap[uint64], 0, len(s.steps))
}

const (
	rankMask = 1<<32 - 1
	notDown  = 1 << 32
)

// plan turns the sorted steps into operations.
func (s *sorter) plan() *Plan {
	pl := &Plan{Ops: make([]Op, len(s.out))}
	edges := 0
	for _, st := range s.out {
		edges += len(st.preds)
	}
	preds := make([]int, 0, edges)
	for i, st := range s.out {
		op := &pl.Ops[i]
		n := st.n
		n.self.Node = n.node
		*op = Op{
			Key: n.key, Self: &n.self, Kind: st.kind, Desc: n.desc, Recreate: st.recreate, Changed: n.changed, Notified: s.p.req.Notified[n.key],
			Want: n.want, SetWant: n.want != n.oldWant, Have: n.have, Target: n.target,
		}
		if n.base != nil {
			op.Base, op.BaseSelf = n.base.key, &n.base.self
			n.base.self.Node = n.base.node
			// A derived value is wanted only while its base exists.
			switch {
			case !n.base.in || st.kind == Down && n.bounce && n.base.bounce:
				op.Want, op.SetWant = nil, true
			case n.base.bounce:
				op.SetWant = true
			}
		}
		first := len(preds)
		for _, pred := range st.preds {
			if s.cut[edge{pred, st}] {
				continue
			}
			preds = append(preds, pred.index)
		}
		op.Preds = preds[first:len(preds):len(preds)]
		s.states(op, st)
	}
	return pl
}

// states predicts the states before and after an operation.
func (s *sorter) states(op *Op, st *step) {
	n := st.n
	op.Before = State(n.node)
	if st.kind != Down && n.bounce {
		op.Before = s.afterDown(st.n)
		op.Have = nil
	}
	switch st.kind {
	case Down:
		op.Target = nil
		op.After = s.afterDown(n)
	case Note:
		op.After = noteState(n)
		if n.exists() && n.holder != "" && (n.want != n.have || n.stranded) {
			op.Held = n.holder
		}
		op.Target = n.have
	default:
		op.After = api.ValueState(existing(n))
	}
}
