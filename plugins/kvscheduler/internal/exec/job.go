// Package exec executes plans. It runs the callbacks of descriptors and records
// their effects in the graph. It reads back failed values and plans the remaining
// work again without them, until no work is left.
package exec

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// job is one call of a callback, with its operations: one, or a batch. An
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
	found  bool  // Create found the object
	left   error // why Delete left the object; nil: it did not
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
	s := step{index: i, err: w.ops[i].Refused}
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
		s := &j.steps[i]
		s.meta = r.Metadata
		op := &w.ops[s.index]
		s.found, s.err = foundBy(op, r.Err)
		s.left, s.err = leftBy(op, s.err)
	}
	return true
}

// leftBy returns why a callback left the object in the southbound, if its error says that Delete
// did. The failure is then nil.
func leftBy(op *plan.Op, err error) (why, failure error) {
	if op.Kind == plan.Down && errors.Is(err, api.ErrLeft) {
		return err, nil
	}
	return nil, err
}

// foundBy reports whether the error of a callback says that Create found the object. It returns
// nil for it.
func foundBy(op *plan.Op, err error) (found bool, failure error) {
	if err == api.ErrFound && op.Kind == plan.Up { //nolint:errorlint // a failure may wrap it
		return true, nil
	}
	return false, err
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

// PanicError is the failure of an operation whose callback panicked or called
// runtime.Goexit.
type PanicError struct {
	Descriptor, Callback string
	Value                any    // of the panic; nil: runtime.Goexit, as called by FailNow of a test
	Place                string // the source line, if known
	Stack                []byte
}

// Error names the descriptor.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("descriptor %q: %s called runtime.Goexit", e.Descriptor, e.Callback)
	}
	return fmt.Sprintf("descriptor %q panicked: %v", e.Descriptor, e.Value)
}

// Is makes a panic a permanent failure: a retry would panic again.
func (e *PanicError) Is(target error) bool { return target == api.ErrPermanent }

// invoke runs the callback of a job, unless the deadline of the transaction has passed.
// Afterwards j.results has one result per operation.
func (w *walk) invoke(j *job) (called bool) {
	if w.late() {
		j.answer(api.ErrTxnDeadline)
		return false
	}
	for i := range j.steps {
		s := &j.steps[i]
		j.values = append(j.values, argument(&w.ops[s.index], s.meta))
	}
	var before []proto.Message
	if w.CheckContracts {
		before = copies(j.values)
	}
	op := &w.ops[j.steps[0].index]
	if err := call(j, op); err != nil {
		j.answer(err)
	} else if n := len(j.results); n != len(j.steps) {
		err := fmt.Errorf("descriptor %q: %sBatch returned %d results for %d values: expected one for each, in their order",
			op.Desc.Name, callback(op), n, len(j.steps))
		if n > len(j.steps) { // which of them belong to the values is unknown
			j.results = j.results[:0]
		}
		for range len(j.steps) - len(j.results) {
			j.results = append(j.results, api.KVBatchResult{Err: err})
		}
	}
	if w.CheckContracts {
		j.compare(op, before)
	}
	return true
}

// argument returns the argument of the callback of an operation; meta is the metadata of
// the value.
func argument(op *plan.Op, meta api.Metadata) api.KVBatchValue {
	switch op.Kind {
	case plan.Up:
		return api.KVBatchValue{Key: op.Key, New: op.Target.Msg}
	case plan.Down:
		return api.KVBatchValue{Key: op.Key, Old: op.Have.Msg, Metadata: meta}
	default:
		return api.KVBatchValue{Key: op.Key, Old: op.Have.Msg, New: op.Target.Msg, Metadata: meta}
	}
}

// call runs the callback of a job; op is its first operation. The error is a panic.
func call(j *job, op *plan.Op) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{op.Desc.Name, callback(op), r, registry.Origin(), debug.Stack()}
		}
	}()
	f := op.Desc.Update
	switch op.Kind {
	case plan.Up:
		f = op.Desc.Create
	case plan.Down:
		f = op.Desc.Delete
	}
	j.results = f(j.ctx.Context, j.values, j.results)
	return nil
}

// copies clones the messages of the arguments.
func copies(values []api.KVBatchValue) (msgs []proto.Message) {
	for _, v := range values {
		msgs = append(msgs, proto.Clone(v.Old), proto.Clone(v.New))
	}
	return msgs
}

// compare makes operations fail whose callback modified its arguments; before has the
// copies of them.
func (j *job) compare(op *plan.Op, before []proto.Message) {
	for i, v := range j.values {
		if !proto.Equal(v.Old, before[2*i]) || !proto.Equal(v.New, before[2*i+1]) {
			problem := fmt.Errorf("descriptor %q: %s changed the value that it was handed: messages are shared, clone them", op.Desc.Name, callback(op))
			j.results[i].Err = api.Permanent(errors.Join(problem, j.results[i].Err))
		}
	}
}
