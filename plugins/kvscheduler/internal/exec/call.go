// Package exec executes plans. It runs the callbacks of descriptors and records
// their effects in the graph. It reads back failed values and plans the remaining
// work again without them, until no work is left.
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

// exited handles a callback that ends its goroutine with runtime.Goexit. It makes the
// operation fail. If the operation ran inline, it starts another driver.
func (w *walk) exited(j *job) {
	op := &w.ops[j.index]
	err := &PanicError{op.Desc.Name, callback(op), nil, registry.Origin(), debug.Stack()}
	end := w.Now()
	if j.guard != nil && !j.guard.end() {
		w.Overdue.back(j.guard, nil, err)
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

// call runs the callback of an operation. With CheckContracts it also verifies that
// the callback does not modify its arguments.
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

// call runs the callback of an operation; old is the metadata of the value. It
// returns the new metadata.
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
