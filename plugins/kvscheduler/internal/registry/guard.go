package registry

import (
	"fmt"
	"runtime"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// guard returns the descriptor with pure functions that recover from panics. After a
// panic they return the default of a descriptor without the function; an update becomes
// a re-creation. Validate, Dependencies and DerivedValues are not guarded: their results
// have no substitute, so their panic makes the value fail.
func (r *Registry) guard(kd *api.KVDescriptor) *api.KVDescriptor {
	g := *kd
	told := func(callback, key string, p any) { r.complain(kd.Name, key, Panicked(callback, p)) }
	g.KeySelector = func(key string) bool {
		selects, err := selects(kd, key)
		if err != nil {
			r.complain(kd.Name, key, err.Error())
		}
		return selects
	}
	if kd.KeyLabel != nil {
		g.KeyLabel = func(key string) (label string) {
			defer func() {
				if p := recover(); p != nil {
					told("KeyLabel", key, p)
					label = key
				}
			}()
			return kd.KeyLabel(key)
		}
	}
	if kd.ValueComparator != nil {
		g.ValueComparator = func(key string, a, b proto.Message) (equal bool) {
			defer func() {
				if p := recover(); p != nil {
					told("ValueComparator", key, p)
					equal = proto.Equal(a, b)
				}
			}()
			return kd.ValueComparator(key, a, b)
		}
	}
	if kd.UpdateWithRecreate != nil {
		g.UpdateWithRecreate = func(key string, from, to proto.Message, meta api.Metadata) (recreate bool) {
			defer func() {
				if p := recover(); p != nil {
					told("UpdateWithRecreate", key, p)
					recreate = true
				}
			}()
			return kd.UpdateWithRecreate(key, from, to, meta)
		}
	}
	if kd.IsRetriableFailure != nil {
		g.IsRetriableFailure = func(err error) (retriable bool) {
			defer func() {
				if p := recover(); p != nil {
					told("IsRetriableFailure", "", p)
					retriable = true
				}
			}()
			return kd.IsRetriableFailure(err)
		}
	}
	r.guardWithout(&g)
	return &g
}

// selects asks the selector of a descriptor; a panic is an error.
func selects(kd *api.KVDescriptor, key string) (yes bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			yes, err = false, fmt.Errorf("%s", Panicked("KeySelector", p))
		}
	}()
	return kd.KeySelector(key), nil
}

// Panicked says where a callback panicked. It is for deferred functions.
func Panicked(callback string, p any) string {
	return fmt.Sprintf("%s panicked%s: %v", callback, Origin(), p)
}

// Origin is the line of code that panicked (" at file.go:12"), or nothing if that
// cannot be found out. It is for deferred functions.
func Origin() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for inPanic := false; ; {
		frame, more := frames.Next()
		switch runtimes := strings.HasPrefix(frame.Function, "runtime."); {
		case runtimes:
			inPanic = true
		case inPanic:
			return fmt.Sprintf(" at %s:%d", frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		if !more {
			return ""
		}
	}
}
