package registry

import (
	"sync/atomic"

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
	d.KeySelector = contain1(s, kd.KeySelector)
	d.KeyLabel = contain1(s, kd.KeyLabel)
	d.Validate = contain2(s, kd.Validate)
	d.Dependencies = contain2(s, kd.Dependencies)
	d.DerivedValues = contain2(s, kd.DerivedValues)
	d.ValueComparator = contain3(s, kd.ValueComparator)
	d.UpdateWithRecreate = contain4(s, kd.UpdateWithRecreate)
	if f := kd.IsRetriableFailure; f != nil { // seldom, and while operations are executed
		d.IsRetriableFailure = func(err error) bool { return apart(func() bool { return f(err) }) }
	}
	return &d
}

func contain1[A, T any](s *stray, f func(A) T) func(A) T {
	if f == nil {
		return nil
	}
	g := contain4(s, func(a A, _, _, _ struct{}) T { return f(a) })
	return func(a A) T { return g(a, struct{}{}, struct{}{}, struct{}{}) }
}

func contain2[A, B, T any](s *stray, f func(A, B) T) func(A, B) T {
	if f == nil {
		return nil
	}
	g := contain4(s, func(a A, b B, _, _ struct{}) T { return f(a, b) })
	return func(a A, b B) T { return g(a, b, struct{}{}, struct{}{}) }
}

func contain3[A, B, C, T any](s *stray, f func(A, B, C) T) func(A, B, C) T {
	if f == nil {
		return nil
	}
	g := contain4(s, func(a A, b B, c C, _ struct{}) T { return f(a, b, c) })
	return func(a A, b B, c C) T { return g(a, b, c, struct{}{}) }
}

// contain4 takes the arguments one by one: a closure around them, for any number,
// would be allocated with each call.
func contain4[A, B, C, D, T any](s *stray, f func(A, B, C, D) T) func(A, B, C, D) T {
	if f == nil {
		return nil
	}
	return func(a A, b B, c C, d D) (out T) {
		if s.did.Load() {
			return apart(func() T { return f(a, b, c, d) })
		}
		returned := false
		defer s.leave(&returned)
		out = f(a, b, c, d)
		returned = true
		return out
	}
}
