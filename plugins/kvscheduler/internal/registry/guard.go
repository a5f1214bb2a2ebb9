package registry

import (
	"errors"
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
	g.KeySelector = func(key string) bool {
		selects, err := selects(kd, key)
		if err != nil {
			r.complain(kd.Name, key, err.Error())
		}
		return selects
	}
	if f := kd.KeyLabel; f != nil {
		g.KeyLabel = func(key string) (label string) {
			label = key
			r.guarded(kd, "KeyLabel", key, func() { label = f(key) })
			return label
		}
	}
	if f := kd.ValueComparator; f != nil {
		g.ValueComparator = func(key string, a, b proto.Message) (equal bool) {
			if !r.guarded(kd, "ValueComparator", key, func() { equal = f(key, a, b) }) {
				return proto.Equal(a, b)
			}
			return equal
		}
	}
	if f := kd.UpdateWithRecreate; f != nil {
		g.UpdateWithRecreate = func(key string, from, to proto.Message, meta api.Metadata) (recreate bool) {
			recreate = true
			r.guarded(kd, "UpdateWithRecreate", key, func() { recreate = f(key, from, to, meta) })
			return recreate
		}
	}
	if f := kd.IsRetriableFailure; f != nil {
		g.IsRetriableFailure = func(err error) (retriable bool) {
			retriable = true
			r.guarded(kd, "IsRetriableFailure", "", func() { retriable = f(err) })
			return retriable
		}
	}
	if f := kd.Without; f != nil {
		g.Without = func(key string, v proto.Message, derived []string) (left proto.Message) {
			left = v
			r.guarded(kd, "Without", key, func() { left = f(key, v, derived) })
			return left
		}
	}
	r.guardIdentities(kd, &g)
	return &g
}

// guardIdentities is guard for the functions on identities: after a panic a value has none.
func (r *Registry) guardIdentities(kd, g *api.KVDescriptor) {
	if f := kd.Identities; f != nil {
		g.Identities = func(key string, v proto.Message) (identities []string) {
			r.guarded(kd, "Identities", key, func() { identities = f(key, v) })
			return identities
		}
	}
	if f := kd.Vacate; f != nil {
		g.Vacate = func(key string, v proto.Message) (vacated proto.Message) {
			if !r.guarded(kd, "Vacate", key, func() { vacated = f(key, v) }) {
				return v
			}
			return vacated
		}
	}
}

// guarded runs a callback. It returns false after a panic, which it reports.
func (r *Registry) guarded(kd *api.KVDescriptor, callback, key string, f func()) bool {
	problem := panicOf(callback, f)
	if problem != "" {
		r.complain(kd.Name, key, problem)
	}
	return problem == ""
}

// panicOf runs a callback and describes its panic; empty if there is none.
func panicOf(callback string, f func()) (problem string) {
	defer func() {
		if p := recover(); p != nil {
			problem = Panicked(callback, p)
		}
	}()
	f()
	return ""
}

// try runs a callback; a panic is an error that names the descriptor.
func try(descriptor, callback string, f func()) error {
	if problem := panicOf(callback, f); problem != "" {
		return fmt.Errorf("descriptor %q: %s", descriptor, problem)
	}
	return nil
}

// selects asks the selector of a descriptor; a panic is an error.
func selects(kd *api.KVDescriptor, key string) (yes bool, err error) {
	defer func() { // not by panicOf, since it is called for many keys
		if p := recover(); p != nil {
			yes, err = false, errors.New(Panicked("KeySelector", p))
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
