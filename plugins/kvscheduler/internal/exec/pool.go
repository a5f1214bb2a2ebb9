package exec

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

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
