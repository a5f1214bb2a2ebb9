package registry

import (
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// stray remembers of a descriptor that a pure function of it did not return: it
// panicked, or it called runtime.Goexit, which ends the goroutine of its caller, and
// nothing can keep it from that. From then on its pure functions are called in
// goroutines of their own, where runtime.Goexit is made a panic of it.
type stray struct{ did atomic.Bool }

// exited is the panic of a function that called runtime.Goexit.
type exited struct{}

// thrown is a panic that comes from another goroutine, with the line of code.
type thrown struct {
	value  any
	origin string
}

// leave is for deferred functions around a call.
func (s *stray) leave(returned *bool) {
	if !*returned {
		s.did.Store(true)
	}
}

// apart calls f in a goroutine of its own.
func apart[T any](f func() T) (out T) {
	failed := any(exited{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				failed = thrown{p, Origin()}
			}
		}()
		out = f()
		failed = nil
	}()
	if <-done; failed != nil {
		panic(failed) /* ok: that of the function, which the caller recovers from */
	}
	return out
}

// contained returns the descriptor with pure functions that end the goroutine of
// their caller once at most.
func contained(kd *api.KVDescriptor) *api.KVDescriptor {
	d, s := *kd, &stray{}
	if f := kd.KeySelector; f != nil {
		d.KeySelector = func(key string) (yes bool) {
			if s.did.Load() {
				return apart(func() bool { return f(key) })
			}
			returned := false
			defer s.leave(&returned)
			yes = f(key)
			returned = true
			return yes
		}
	}
	if f := kd.KeyLabel; f != nil {
		d.KeyLabel = func(key string) (label string) {
			if s.did.Load() {
				return apart(func() string { return f(key) })
			}
			returned := false
			defer s.leave(&returned)
			label = f(key)
			returned = true
			return label
		}
	}
	if f := kd.IsRetriableFailure; f != nil { // seldom, and while operations are executed
		d.IsRetriableFailure = func(err error) bool { return apart(func() bool { return f(err) }) }
	}
	s.describing(&d)
	s.comparing(&d)
	return &d
}

// describing contains what tells about a value.
func (s *stray) describing(d *api.KVDescriptor) {
	if f := d.Validate; f != nil {
		d.Validate = func(key string, v proto.Message) (err error) {
			if s.did.Load() {
				return apart(func() error { return f(key, v) })
			}
			returned := false
			defer s.leave(&returned)
			err = f(key, v)
			returned = true
			return err
		}
	}
	if f := d.Dependencies; f != nil {
		d.Dependencies = func(key string, v proto.Message) (deps []api.Dependency) {
			if s.did.Load() {
				return apart(func() []api.Dependency { return f(key, v) })
			}
			returned := false
			defer s.leave(&returned)
			deps = f(key, v)
			returned = true
			return deps
		}
	}
	if f := d.DerivedValues; f != nil {
		d.DerivedValues = func(key string, v proto.Message) (derived []api.KeyValuePair) {
			if s.did.Load() {
				return apart(func() []api.KeyValuePair { return f(key, v) })
			}
			returned := false
			defer s.leave(&returned)
			derived = f(key, v)
			returned = true
			return derived
		}
	}
}

// comparing contains what compares values.
func (s *stray) comparing(d *api.KVDescriptor) {
	if f := d.ValueComparator; f != nil {
		d.ValueComparator = func(key string, a, b proto.Message) (equal bool) {
			if s.did.Load() {
				return apart(func() bool { return f(key, a, b) })
			}
			returned := false
			defer s.leave(&returned)
			equal = f(key, a, b)
			returned = true
			return equal
		}
	}
	if f := d.UpdateWithRecreate; f != nil {
		d.UpdateWithRecreate = func(key string, from, to proto.Message, meta api.Metadata) (recreate bool) {
			if s.did.Load() {
				return apart(func() bool { return f(key, from, to, meta) })
			}
			returned := false
			defer s.leave(&returned)
			recreate = f(key, from, to, meta)
			returned = true
			return recreate
		}
	}
}
