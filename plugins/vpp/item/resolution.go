package item

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Resolution is what follows from a function that resolves values. It is for descriptors that
// are of no type of this package, too.
type Resolution[V, E any] struct {
	// Interfaces may be nil if values name none.
	Interfaces Interfaces
	// Resolve translates a value into what VPP has of it, as in Entry.
	Resolve func(r *Resolver, v V) E

	last atomic.Pointer[resolved] // by Validate
	// unnamed has, by key, what refers to interfaces without a name, as it was read last.
	unnamed sync.Map
}

// resolved is a value and what it waits for.
type resolved struct {
	value any
	deps  []kvs.Dependency
}

// Validate returns why a value is invalid. It keeps what the value waits for, because the
// scheduler asks for that next.
func (t *Resolution[V, E]) Validate(_ string, v V) error {
	r := &Resolver{waits: true}
	t.Resolve(r, v)
	t.last.Store(&resolved{v, r.deps})
	return r.Err()
}

// Dependencies returns what a value waits for.
func (t *Resolution[V, E]) Dependencies(_ string, v V) []kvs.Dependency {
	if last := t.last.Swap(nil); last != nil && last.value == any(v) {
		return last.deps
	}
	r := &Resolver{waits: true}
	t.Resolve(r, v)
	return r.deps
}

// Both resolves two values without VPP: equal names have equal numbers. It reports whether both
// are valid.
func (t *Resolution[V, E]) Both(a, b V) (x, y E, ok bool) {
	r := &Resolver{}
	x, y = t.Resolve(r, a), t.Resolve(r, b)
	return x, y, len(r.errs) == 0
}

// Live resolves a value with the numbers of VPP.
func (t *Resolution[V, E]) Live(v V) (E, error) {
	r := &Resolver{vpp: true, ifs: t.Interfaces}
	e := t.Resolve(r, v)
	return e, r.Err()
}

// found returns what VPP has of the value with a key, which may refer to an interface without a name.
func (t *Resolution[V, E]) found(key string, v proto.Message, resolve func() (E, error)) (E, error) {
	if e, ok := t.unnamed.Load(key); ok && len(kvs.Unmodeled(v)) > 0 {
		return e.(E), nil
	}
	return resolve()
}

// Was resolves a value that VPP has, with the numbers of VPP. That the value is invalid is no
// error: VPP may have what no value may say.
func (t *Resolution[V, E]) Was(v V) (E, error) {
	r := &Resolver{vpp: true, ifs: t.Interfaces}
	e := t.Resolve(r, v)
	r.errs = slices.DeleteFunc(r.errs, func(err error) bool { return errors.As(err, new(*kvs.InvalidValueError)) })
	return e, r.Err()
}
