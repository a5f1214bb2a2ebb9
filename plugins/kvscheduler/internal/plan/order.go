package plan

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// step is an operation while its order is sought. There are many at a time,
// so it is small, and steps and links know each other by number.
type step struct {
	n        *node
	kind     Kind
	recreate bool
	done     bool
	any      bool  // done as soon as one of its preds is; see alternatives
	waits    int32 // preds that are not done yet
	index    int32 // place by key, and in the plan when it is done
	preds    int32 // the last link to one that goes before, and
	succs    int32 // to one that goes after; 0: none
}

// link orders two steps. It is in the lists of both.
type link struct {
	pred, succ         int32
	nextPred, nextSucc int32 // in the lists of succ and pred; 0: none
	cut                bool  // given up to break a cycle
	identity           bool  // succ gets an identity that pred gives up
}

// none is the step of a node that has none.
const none = 0

type sorter struct {
	p     *planner
	steps []step // without the first one, which is none
	links []link // the same
	alternatives
	cycles *cycles // nil: nothing was ever found to be in one
	ready  dag.Heap[uint64]
	// ranked are the steps by key.
	ranked []int32
	out    []int32
	passed []int32 // gates, as out
}

// order sorts the operations so that everything comes up after what it needs
// and goes down before what it stands on. Ties are broken by key, removals
// first, so that equal input gives an equal plan.
func (p *planner) order() *Plan {
	for ; ; p.attempts++ {
		s := &sorter{p: p}
		s.build()
		if s.sort() {
			return s.plan()
		}
		if len(p.left) > 0 {
			return nil // plan for them from the start
		}
		// An update would have to be made both before and after something else
		// goes down: the value goes down as well instead.
	}
}

func (s *sorter) add(n *node, kind Kind, recreate bool) {
	id := int32(len(s.steps))
	s.steps = append(s.steps, step{n: n, kind: kind, recreate: recreate})
	switch {
	case kind == Down:
		n.stepDown = id
	case n.away != nil && n.stepAway == none:
		n.stepAway = id
	default:
		n.stepUp = id
	}
}

func (s *sorter) build() {
	count := 1
	for _, n := range s.p.list {
		n.stepDown, n.stepUp, n.stepAway = none, none, none
		if n.bounce || n.away != nil {
			count++
		}
		if n.bounce || n.kind != Note || n.noteworthy() {
			count++
		}
	}
	s.steps = make([]step, 1, count)
	for _, n := range s.p.list {
		switch {
		case n.bounce:
			s.add(n, Down, n.recreate)
			s.add(n, Up, n.recreate)
		case n.away != nil:
			s.add(n, Update, false)
			s.add(n, Update, false)
		case n.kind != Note:
			s.add(n, n.kind, false)
		case n.noteworthy():
			s.add(n, Note, false)
		}
	}
	s.links = make([]link, 1, count+count/2) // a guess
	for id := 1; id < count; id++ {          // gates follow
		s.link(int32(id))
	}
	s.handOver()
	s.p.spelled.follow(s)
	s.out = make([]int32, 0, count-1)
}

// noteworthy: nothing is done to the value itself, but its wish or its state
// changes.
func (n *node) noteworthy() bool {
	if n.base != nil && !n.base.in && n.node == nil {
		return false // derived from a value that does not come up: not wanted
	}
	if n.wasLeft && n.held() && n.want == n.oldWant {
		return false // it is left again
	}
	if n.changed || n.want != n.oldWant || n.holder != "" {
		return true
	}
	return !n.pinned && n.node != nil && (n.failed || !n.in && n.node.Missing)
}

func (s *sorter) before(pred, succ int32) {
	if pred == none || succ == none || pred == succ {
		return
	}
	s.connect(pred, succ)
	s.steps[succ].waits++
}

func (s *sorter) connect(pred, succ int32) {
	id := int32(len(s.links))
	a, b := &s.steps[pred], &s.steps[succ]
	s.links = append(s.links, link{pred: pred, succ: succ, nextPred: b.preds, nextSucc: a.succs})
	a.succs, b.preds = id, id
}

func (s *sorter) link(id int32) {
	st := &s.steps[id]
	n := st.n
	if id == n.stepAway {
		s.before(id, n.stepUp)
		return
	}
	if st.kind != Down {
		s.before(n.stepDown, id)
	}
	if base := n.base; base != nil {
		switch {
		case st.kind == Down && base.stepDown != none:
			s.before(id, base.stepDown)
		case st.kind == Down:
			s.before(id, base.stepUp)
		default:
			s.before(base.stepUp, id)
		}
	}
	if st.kind == Down || st.kind == Update {
		s.leave(id, st)
	}
	if st.kind == Up || st.kind == Update {
		s.arrive(id, st)
	}
}

// leave orders st before the removal of everything that its existing value
// stands on.
func (s *sorter) leave(id int32, st *step) {
	n := st.n
	if n.have.FromSB {
		return
	}
	for i := range n.have.Deps {
		dep := &n.have.Deps[i]
		if dep.Key != "" {
			if _, w := s.p.named(n, n.have, i); w != nil && w != n && w != n.base {
				s.before(id, w.stepDown) // what stays has none
				if st.kind == Down && w.recreates(dep) {
					s.before(id, w.firstUpdate())
				}
			}
			continue
		}
		if st.kind == Down || !s.p.hasStaying(n, n.have, i) {
			s.leaveAny(id, n, dep)
		}
	}
}

// firstUpdate is the first step of the update of n.
func (n *node) firstUpdate() int32 {
	if n.stepAway != none {
		return n.stepAway
	}
	return n.stepUp
}

// arrive makes st wait for what its target value needs and what does not exist
// all the time.
func (s *sorter) arrive(id int32, st *step) {
	n := st.n
	if n.target.FromSB {
		return
	}
	comes := func(w *node) bool {
		return w != nil && w != n && w.stepUp != none && s.steps[w.stepUp].kind == Up
	}
	for i := range n.target.Deps {
		dep := &n.target.Deps[i]
		if dep.Key != "" { // what was not touched stays
			if _, w := s.p.named(n, n.target, i); comes(w) && !w.stays() || w != nil && st.kind == Up && w.recreates(dep) {
				s.before(w.stepUp, id)
			}
			continue
		}
		if !s.p.hasStaying(n, n.target, i) {
			s.arriveAny(id, n, dep)
		}
	}
}

// sort is Kahn's algorithm. It reports false if it had to turn an update into
// a re-creation, so that the order must be sought again.
func (s *sorter) sort() bool {
	s.rank()
	for len(s.out) < cap(s.out) {
		if s.ready.Len() == 0 && !s.breakCycles() {
			return false
		}
		s.emit(s.ranked[s.ready.Pop()&rankMask])
	}
	return true
}

func (s *sorter) emit(id int32) {
	st := &s.steps[id]
	st.done = true
	if s.isGate(id) {
		st.index = int32(cap(s.out) + len(s.passed))
		s.passed = append(s.passed, id)
	} else {
		st.index = int32(len(s.out))
		s.out = append(s.out, id)
	}
	for at := st.succs; at != 0; at = s.links[at].nextSucc {
		switch l := &s.links[at]; {
		case l.cut:
		case s.steps[l.succ].any:
			s.meet(l.succ, id)
		default:
			s.release(id, l.succ)
		}
	}
}

// release is called when id no longer waits for pred.
func (s *sorter) release(pred, id int32) {
	if s.cycles != nil {
		s.cycles.passed(pred, id)
	}
	st := &s.steps[id]
	if st.waits--; st.waits == 0 && !st.done {
		s.ready.Push(s.place(id))
	}
}

// rank gives every step its place among those that are ready: removals first,
// then by key.
func (s *sorter) rank() {
	s.ranked = make([]int32, len(s.steps)-1)
	for i := range s.ranked {
		s.ranked[i] = int32(i) + 1
	}
	slices.SortFunc(s.ranked, s.byKey)
	for i, id := range s.ranked {
		s.steps[id].index = int32(i)
	}
	s.ready.Grow(len(s.ranked))
	for _, down := range []bool{true, false} { // in order, so that pushing them is cheap
		for _, id := range s.ranked {
			if st := &s.steps[id]; st.waits == 0 && (st.kind == Down) == down {
				s.ready.Push(s.place(id))
			}
		}
	}
}

func (s *sorter) place(id int32) uint64 {
	at := uint64(s.steps[id].index)
	if s.steps[id].kind != Down {
		at |= notDown
	}
	return at
}

const (
	rankMask = 1<<32 - 1
	notDown  = 1 << 32
)

// plan turns the sorted steps into operations.
func (s *sorter) plan() *Plan {
	ops := make([]Op, len(s.out))
	pl := &Plan{Ops: ops, Gates: make([]Gate, len(s.passed)), preds: make([]int32, 0, len(s.links)-1)}
	for i, id := range s.passed {
		pl.Gates[i].Preds = s.preds(pl, id)
	}
	for i, id := range s.out {
		op, st := &pl.Ops[i], &s.steps[id]
		n := st.n
		*op = Op{
			Key: n.key, Self: s.handle(n), Kind: st.kind, Desc: n.desc, Recreate: st.recreate, Changed: n.changed, Notified: s.p.req.Notified[n.key],
			Lost: s.p.req.Lost[n.key] && st.kind == Down,
			Want: n.want, SetWant: n.want != n.oldWant, Have: n.have, Target: n.target,
		}
		if n.bounce && n.cause != nil && n.cause != n.root() {
			op.Cause = n.cause.key
		}
		if n.base != nil {
			op.Base, op.BaseSelf = n.base.key, s.handle(n.base)
			// A derived value is wanted only while its base exists.
			switch {
			case !n.base.in || st.kind == Down && n.bounce && n.base.bounce:
				op.Want, op.SetWant = nil, true
			case n.base.bounce:
				op.SetWant = true
			}
		}
		op.Preds = s.preds(pl, id)
		s.states(op, st)
		if n.away != nil {
			s.detour(op, id)
		}
	}
	return pl
}

// detour makes an operation one of the two of a value that takes temporary identities.
func (s *sorter) detour(op *Op, id int32) {
	n := s.steps[id].n
	between := api.ValueState(existingAs(n.oldWant))
	if id == n.stepAway {
		op.Want, op.SetWant, op.Target, op.After = n.oldWant, false, n.away, between
	} else {
		op.Have, op.Before = n.away, between
	}
}

// preds adds what goes before a step to the plan.
func (s *sorter) preds(pl *Plan, id int32) Preds {
	first := len(pl.preds)
	for at := s.steps[id].preds; at != 0; at = s.links[at].nextPred {
		if l := &s.links[at]; !l.cut {
			pl.preds = append(pl.preds, s.steps[l.pred].index)
		}
	}
	slices.Reverse(pl.preds[first:]) // the order in which they were found
	return Preds{int32(first), int32(len(pl.preds))}
}

// handle returns the handle of a value. It is no part of the planner's view, so
// that a plan does not keep all of that.
func (s *sorter) handle(n *node) *Handle {
	if n.self == nil {
		n.self = &Handle{n.node}
	}
	return n.self
}

// states predicts the states before and after an operation.
func (s *sorter) states(op *Op, st *step) {
	n := st.n
	op.Before = n.before
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
		switch {
		case n.held():
			op.Held = &Hold{By: n.holder, Lacks: s.p.lackOf[n]}
		case n.unsure && n.want != n.have:
			op.Held = &Hold{By: Unsure}
		}
		op.Target = n.have
	default:
		op.After = api.ValueState(existing(n))
		if st.kind == Up || st.kind == Update {
			if op.Refused = s.p.refused(n); op.Refused != nil {
				op.After = kvscheduler.ValueState_INVALID
			}
		}
	}
}
