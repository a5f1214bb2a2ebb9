// Package exec executes plans. It runs the callbacks of descriptors and records
// their effects in the graph. It reads back failed values and plans the remaining
// work again without them, until no work is left.
package exec

import (
	"errors"
	"fmt"
	"runtime/debug"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

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
