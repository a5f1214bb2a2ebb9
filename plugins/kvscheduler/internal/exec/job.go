package exec

import (
	"runtime/debug"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// job is one call of a callback, with its operations: one, or those of a batch. An
// operation without a callback is a job as well.
type job struct {
	steps      []step
	inline     bool // run by the driver itself
	called     bool // the callback was called
	start, end time.Time
	guard      *callGuard   // nil: the callback has no time limit
	own        callGuard    // guard of a job that is not inline
	ctx        *callContext // of the callback
	slot       int          // in watch.tracked

	// The arguments and the results of the callback. They belong to the goroutine of the
	// callback, also after the driver gave it up.
	values  []api.KVBatchValue
	results []api.KVBatchResult
}

// step is one operation of a job.
type step struct {
	index  int32
	n      *graph.Node
	before previous
	meta   api.Metadata
	err    error
}

// reset prepares a job whose callback has returned for the next one.
func (j *job) reset() {
	j.steps, j.values, j.results = j.steps[:0], j.values[:0], j.results[:0]
	j.called, j.start, j.end, j.guard, j.ctx = false, time.Time{}, time.Time{}, nil, nil
}

// fail makes all operations of the job fail.
func (j *job) fail(err error) {
	for i := range j.steps {
		j.steps[i].err = err
	}
}

// add adds an operation that starts to a job.
func (w *walk) add(j *job, i int32) {
	s := step{index: i}
	s.n, s.before = w.begin(&w.ops[i])
	s.meta = s.n.Meta
	j.steps = append(j.steps, s)
}

// admit decides whether the callback of a job is called, when all its operations are known.
func (w *walk) admit(j *job) {
	op := &w.ops[j.steps[0].index]
	if !w.calls(op) {
		return
	}
	if err := w.refused(op); err != nil {
		j.fail(err)
		return
	}
	j.called = true
	j.ctx = w.Overdue.contexts.take(southbound(op))
}

// call runs the callback of a job, if it has one. It writes only to the job, since
// it may run concurrently. It returns false if the callback was given up.
func (w *walk) call(j *job) bool {
	returned := false
	defer func() {
		if !returned {
			w.exited(j)
		}
	}()
	mine := true
	if j.called {
		if j.guard == nil {
			j.start = w.Now()
		}
		called := w.invoke(j)
		mine = w.returned(j, called)
	} else if s := &j.steps[0]; s.err == nil {
		if op := &w.ops[s.index]; op.Kind == plan.Up || op.Kind == plan.Update {
			s.meta = w.txn.Notified[op.Key]
		}
	}
	returned = true
	return mine
}

// returned records the outcome of a callback in its job. It returns false if the callback
// was given up before; its outcome is then reported to Overdue.
func (w *walk) returned(j *job, called bool) bool {
	end := w.Now()
	if j.guard != nil && !j.guard.end() {
		w.Overdue.back(j.guard, j.results)
		return false
	}
	w.Overdue.contexts.give(j.ctx)
	j.called, j.end = called, end
	for i, r := range j.results {
		j.steps[i].meta, j.steps[i].err = r.Metadata, r.Err
	}
	return true
}

// exited handles a callback that ends its goroutine with runtime.Goexit. It makes the
// operations fail. If they ran inline, it starts another driver.
func (w *walk) exited(j *job) {
	op := &w.ops[j.steps[0].index]
	j.answer(&PanicError{op.Desc.Name, callback(op), nil, registry.Origin(), debug.Stack()})
	if !w.returned(j, true) {
		return
	}
	if j.inline {
		go w.driveOn(j)
	} else {
		w.done <- j
	}
}

// answer sets the result of all operations to an error.
func (j *job) answer(err error) {
	j.results = j.results[:0]
	for range j.steps {
		j.results = append(j.results, api.KVBatchResult{Err: err})
	}
}
