package exec

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// DefaultLimit is how many callbacks of all descriptors may run at once.
const DefaultLimit = 1024

// walk executes the operations of one plan in the order of their dependencies.
// Callbacks of descriptors with Concurrency run in goroutines of their own, within
// the limits of the descriptor and of the executor. All others run inline, one after
// the other. Among the operations that are ready, the first one in the plan starts
// first, so that a limit of one executes the plan in its order.
//
// No value is created or updated before all removals that precede it in the plan
// are done. A value that is being removed may conflict with a new one without a
// dependency between them, such as an address that moves to another interface.
type walk struct {
	*run
	ops []plan.Op

	waits []int32 // number of predecessors that are not done, by operation
	first []int32 // succs[first[i]:first[i+1]] are the successors of operation i
	succs []int32
	bad   []bool // by operation, then by gate: it or a predecessor failed

	removals []int32 // removals that are not done, in the order of the plan
	closed   []bool  // done or skipped, by operation

	inline  dag.Heap[int32]
	here    *job // the inline operation that runs now
	pools   []*workerPool
	byDesc  map[*registry.Descriptor]*workerPool
	running int
	freed   int // see workerPool
	done    chan *job
	spare   []*job        // that have ended
	over    chan struct{} // closed at the end
	stopped bool          // after a failure, with revert

	causes causes
	watch  *watch // nil: callbacks have no time limit

	told    []int32 // the recorded operations, in the order of their records
	failed  []string
	unknown []int32 // failed operations whose callback returned
	expired []int32 // failed operations whose callback timed out
	left    []int32 // failed or skipped operations
}

func newWalk(r *run, pl *plan.Plan) *walk {
	n := len(pl.Ops) + len(pl.Gates)
	w := &walk{
		here: &job{inline: true}, over: make(chan struct{}), run: r, ops: pl.Ops,
		waits: make([]int32, n), first: make([]int32, n+1), bad: make([]bool, n), closed: make([]bool, n),
		causes: causes{of: make([]cause, n)}, told: make([]int32, 0, n), byDesc: map[*registry.Descriptor]*workerPool{},
	}
	down, base := 0, 0
	for i := range pl.Ops {
		w.count(i, pl.Before(pl.Ops[i].Preds))
		if pl.Ops[i].Kind == plan.Down {
			down++
		}
		if pl.Ops[i].Base == "" {
			base++
		}
	}
	w.removals, r.res.Changed = make([]int32, 0, down), slices.Grow(r.res.Changed, base)
	for i := range pl.Gates {
		w.count(len(pl.Ops)+i, pl.Before(pl.Gates[i].Preds))
	}
	for i := range n {
		w.first[i+1] += w.first[i]
	}
	w.succs = make([]int32, w.first[n])
	next := append([]int32(nil), w.first[:n]...)
	follow := func(i int, preds []int32) {
		for _, pred := range preds {
			w.succs[next[pred]] = int32(i)
			next[pred]++
		}
	}
	for i := range pl.Ops {
		follow(i, pl.Before(pl.Ops[i].Preds))
		if pl.Ops[i].Kind == plan.Down {
			w.removals = append(w.removals, int32(i))
		}
	}
	for i := range pl.Gates {
		follow(len(pl.Ops)+i, pl.Before(pl.Gates[i].Preds))
	}
	for i := range pl.Ops {
		if w.waits[i] == 0 {
			w.push(int32(i))
		}
	}
	return w
}

// count counts the predecessors of an operation or a gate.
func (w *walk) count(i int, preds []int32) {
	w.waits[i] = int32(len(preds))
	for _, pred := range preds {
		w.first[pred+1]++
	}
}

// execute runs all operations that can run. It returns false if it was abandoned
// because a callback exceeded its time limit; another driver executes the rest.
func (w *walk) execute() bool {
	var wake chan struct{}
	if w.watch != nil {
		wake = w.watch.wake
	}
	for {
		if w.watch != nil && w.watch.look.Swap(false) {
			w.giveUpTracked()
		}
		w.startPools()
		if w.inline.Len() > 0 && w.mayStart(w.inline.Min()) {
			j := w.here
			j.reset()
			w.add(j, w.inline.Pop())
			w.causes.startInline(j.steps[0].index, w.ops)
			w.admit(j)
			if w.watch != nil && j.called {
				w.beginCall(j, w.watch.here)
			}
			if !w.call(j) {
				return false
			}
			w.complete(j)
			w.drain()
			continue
		}
		if w.running == 0 {
			return true
		}
		select {
		case j := <-w.done:
			w.finished(j)
		case <-wake:
		}
	}
}

// drain completes the concurrent operations that have finished, without waiting.
func (w *walk) drain() {
	w.causes.held = true
	defer func() { w.causes.held = false }()
	for {
		select {
		case j := <-w.done:
			w.finished(j)
		default:
			return
		}
	}
}

// mayStart reports whether a ready operation may start now.
func (w *walk) mayStart(i int32) bool {
	if w.stopped {
		return false
	}
	if w.ops[i].Kind == plan.Down {
		return true
	}
	for len(w.removals) > 0 && w.closed[w.removals[0]] {
		w.removals = w.removals[1:]
	}
	return len(w.removals) == 0 || w.removals[0] > i
}

// complete records the outcomes of the operations of a job in the graph and releases the
// operations that waited for them.
func (w *walk) complete(j *job) {
	for i := range j.steps {
		w.completeStep(j, &j.steps[i])
	}
}

func (w *walk) completeStep(j *job, s *step) {
	op := &w.ops[s.index]
	w.finish(op, s)
	if rec, ok := w.record(op, j, s); ok {
		w.told = append(w.told, s.index)
		w.res.Executed = append(w.res.Executed, rec)
	}
	if j.called {
		w.Crashes.ended(op, j, s.err)
	}
	if s.err != nil {
		w.failed = append(w.failed, op.Key)
		switch {
		case !j.called:
		case hangs(s.err):
			w.expired = append(w.expired, s.index)
		default:
			w.unknown = append(w.unknown, s.index)
			w.unsent.ended(op, j, s.err)
		}
		w.bad[s.index] = true
		w.stopped = w.stopped || w.txn.Revert && !w.reverted
	}
	if p, ok := s.err.(*PanicError); ok && w.Panicked != nil {
		w.Panicked(op.Key, p)
	}
	w.causes.ended(s.index, op.Kind == plan.Down, j)
	w.close(s.index)
}

// close marks an operation as done and releases its successors. If the operation
// failed, it skips all of its successors.
func (w *walk) close(i int32) {
	stack := []int32{i}
	for len(stack) > 0 {
		i = stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		w.closed[i] = true
		if w.bad[i] && int(i) < len(w.ops) {
			w.left = append(w.left, i)
			if w.ops[i].Kind == plan.Down { // the operations that waited for it may start
				w.causes.removal = w.causes.last
			}
		}
		for _, next := range w.succs[w.first[i]:w.first[i+1]] {
			w.bad[next] = w.bad[next] || w.bad[i]
			if w.waits[next]--; w.waits[next] > 0 {
				continue
			}
			if w.bad[next] || int(next) >= len(w.ops) {
				stack = append(stack, next)
			} else {
				w.causes.of[next] = w.causes.released()
				w.push(next)
			}
		}
	}
}

// sortRecords sorts the records of this pass, which start at index from, into the
// order of the plan.
func (w *walk) sortRecords(from int) {
	if slices.IsSorted(w.told) {
		return
	}
	at := make([]int32, len(w.told)) // at[i] is where the record is that belongs to place i
	for i := range at {
		at[i] = int32(i)
	}
	slices.SortFunc(at, func(a, b int32) int { return int(w.told[a] - w.told[b]) })
	records := w.res.Executed[from:]
	for i := range at { // along each cycle, because a copy of all records would be large
		first, free := records[i], int32(i)
		for next := at[free]; next != int32(i); next = at[free] {
			records[free], at[free] = records[next], free
			free = next
		}
		records[free], at[free] = first, free
	}
	slices.Sort(w.told)
}

// workerPool holds the operations of one descriptor that may run concurrently.
type workerPool struct {
	ready   [plan.Update + 1]dag.Heap[int32] // by plan.Kind
	running int                              // operations
	limit   int
	freed   int // operations that ended since the last startPools
	last    ending
	ahead   cause // of the previous operation that the same startPools started
}

// first returns the ready operations of one kind, those with the first operation of all
// in the plan; nil if none is ready.
func (l *workerPool) first() (ready *dag.Heap[int32]) {
	for kind := range l.ready {
		if q := &l.ready[kind]; q.Len() > 0 && (ready == nil || q.Min() < ready.Min()) {
			ready = q
		}
	}
	return ready
}

// push adds a ready operation to its pool, or to the inline operations.
func (w *walk) push(i int32) {
	op := &w.ops[i]
	if op.Desc == nil || op.Desc.Concurrency < 1 || w.limit() == 1 || !w.calls(op) {
		w.inline.Push(i)
		return
	}
	l := w.byDesc[op.Desc]
	if l == nil {
		if w.done == nil {
			w.done = make(chan *job, w.limit())
		}
		l = &workerPool{limit: op.Desc.Concurrency}
		w.byDesc[op.Desc] = l
		w.pools = append(w.pools, l)
	}
	l.ready[op.Kind].Push(i)
}

// startPools starts ready operations, as far as the limits allow it.
func (w *walk) startPools() {
	for _, l := range w.pools {
		l.ahead = cause{}
		for j := w.next(l); j != nil; j = w.next(l) {
			w.admit(j)
			if w.watch != nil && j.called {
				w.beginCall(j, &j.own)
				w.track(j)
			}
			go func() {
				if w.call(j) {
					w.done <- j
				}
			}()
		}
		l.freed = 0
	}
	w.freed = 0
}

// next takes the next job of a pool: the first ready operation and, if its callback takes
// batches, as many others of its kind as may start now. It returns nil if none may start.
func (w *walk) next(l *workerPool) *job {
	ready := l.first()
	if ready == nil || !w.mayJoin(l, ready) {
		return nil
	}
	j := w.spareJob()
	first, most := &w.ops[ready.Min()], 1
	if batches(first) {
		most = api.MaxBatch
	}
	for len(j.steps) < most && ready.Len() > 0 && w.mayJoin(l, ready) && southbound(&w.ops[ready.Min()]) == southbound(first) {
		i := ready.Pop()
		w.add(j, i)
		w.causes.startPooled(i, w.ops, l, w.running+w.freed >= w.limit())
		l.running++
		w.running++
	}
	return j
}

// mayJoin reports whether the first of the ready operations may start now.
func (w *walk) mayJoin(l *workerPool, ready *dag.Heap[int32]) bool {
	return l.running < l.limit && w.running < w.limit() && w.mayStart(ready.Min())
}

// batches reports whether the callback of an operation takes batches.
func batches(op *plan.Op) bool {
	switch op.Kind {
	case plan.Up:
		return op.Desc.CreateBatch != nil
	case plan.Down:
		return op.Desc.DeleteBatch != nil
	}
	return op.Desc.UpdateBatch != nil
}

// spareJob returns a job without operations.
func (w *walk) spareJob() *job {
	last := len(w.spare) - 1
	if last < 0 {
		return &job{}
	}
	j := w.spare[last]
	w.spare = w.spare[:last]
	j.reset()
	return j
}

// finished completes a job of a pool.
func (w *walk) finished(j *job) {
	l := w.byDesc[w.ops[j.steps[0].index].Desc]
	n := len(j.steps)
	w.running -= n
	l.running -= n
	w.freed += n
	l.freed += n
	if j.guard != nil {
		w.untrack(j)
	}
	w.complete(j)
	l.last = w.causes.last
	if !j.own.givenUp() {
		w.spare = append(w.spare, j)
	}
}
