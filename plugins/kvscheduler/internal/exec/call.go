// Package exec executes plans: it runs the callbacks of descriptors, keeps the
// graph in step with what they did, refreshes what failed, and has the rest
// planned again around it, until nothing is left to do.
package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// PanicError is the failure of an operation whose callback panicked, or ended its
// goroutine.
type PanicError struct {
	Descriptor, Callback string
	Value                any    // nil: it called runtime.Goexit, as FailNow of a test does
	Place                string // in the code, if known
	Stack                []byte
}

// Error names the descriptor.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("descriptor %q: %s called runtime.Goexit", e.Descriptor, e.Callback)
	}
	return fmt.Sprintf("descriptor %q panicked: %v", e.Descriptor, e.Value)
}

// Is makes a panic a permanent failure: repeating it would not help.
func (e *PanicError) Is(target error) bool { return target == api.ErrPermanent }

// exited is called by a goroutine that a callback ends. The operation has failed; if
// it was executed inline another goroutine goes on with the rest.
func (w *walk) exited(j *job) {
	op := &w.ops[j.index]
	err := &PanicError{op.Desc.Name, callback(op), nil, registry.Origin(), debug.Stack()}
	end := w.Now()
	if j.ticket != nil && !j.ticket.end() {
		w.Overdue.back(j.ticket, nil, err)
		return
	}
	w.Overdue.release(j.ctx)
	j.called, j.meta, j.err, j.end = true, nil, err, end
	if j.beside {
		w.done <- j
	} else {
		go w.driveOn(j)
	}
}

// call runs the callback for an operation and, if so asked, checks that it
// leaves alone what it is handed.
func (x *Executor) call(ctx context.Context, op *plan.Op, old api.Metadata) (api.Metadata, error) {
	if !x.CheckContracts {
		return call(ctx, op, old)
	}
	handed := []*registry.Value{op.Have, op.Target}
	before := make([]proto.Message, len(handed))
	for i, v := range handed {
		if v != nil {
			before[i] = proto.Clone(v.Msg)
		}
	}
	meta, err := call(ctx, op, old)
	for i, v := range handed {
		if v != nil && !proto.Equal(before[i], v.Msg) {
			problem := fmt.Errorf("descriptor %q: %s changed the value that it was handed: messages are shared, clone them", op.Desc.Name, callback(op))
			return meta, api.Permanent(errors.Join(problem, err))
		}
	}
	return meta, err
}

// call runs the callback for an operation on a value with the given metadata.
// It returns the new metadata.
func call(ctx context.Context, op *plan.Op, old api.Metadata) (meta api.Metadata, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{op.Desc.Name, callback(op), r, registry.Origin(), debug.Stack()}
		}
	}()
	switch op.Kind {
	case plan.Up:
		return op.Desc.Create(ctx, op.Key, op.Target.Msg)
	case plan.Down:
		return nil, op.Desc.Delete(ctx, op.Key, op.Have.Msg, old)
	default:
		return op.Desc.Update(ctx, op.Key, op.Have.Msg, op.Target.Msg, old)
	}
}
