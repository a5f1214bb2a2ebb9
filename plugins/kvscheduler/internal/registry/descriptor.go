// Package registry holds the registered descriptors and turns messages into
// Values: a message together with everything its descriptor says about it.
package registry

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Descriptor is a registered descriptor. It never changes.
type Descriptor struct {
	*api.KVDescriptor // with pure functions that do not panic
	raw               *api.KVDescriptor

	// The callbacks that do the work, in one form each; nil if the descriptor has none.
	// They hide the callbacks of KVDescriptor, which have several forms.
	Create, Update, Delete Operation

	Retrieve      func(ctx context.Context, correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error)
	RetrieveValue func(ctx context.Context, key string, last proto.Message, meta api.Metadata) (proto.Message, api.Metadata, bool, error)

	// Metadata is the metadata map; nil without metadata.
	Metadata *idxmap.Store
}

// Operation is Create, Update or Delete of the values of a batch. It appends their results
// to results. Without Batches, a batch has one value.
type Operation func(ctx context.Context, values []api.KVBatchValue, results []api.KVBatchResult) []api.KVBatchResult

// newDescriptor makes a descriptor from a registered one.
func (r *Registry) newDescriptor(kd *api.KVDescriptor) *Descriptor {
	c := kd.WithContexts()
	d := &Descriptor{KVDescriptor: r.guard(kd), raw: kd, Retrieve: c.RetrieveContext, RetrieveValue: c.RetrieveValueContext}
	if f := c.CreateContext; f != nil {
		d.Create = operation(kd.CreateBatch, func(ctx context.Context, v *api.KVBatchValue) (api.Metadata, error) {
			return f(ctx, v.Key, v.New)
		})
	}
	if f := c.UpdateContext; f != nil {
		d.Update = operation(kd.UpdateBatch, func(ctx context.Context, v *api.KVBatchValue) (api.Metadata, error) {
			return f(ctx, v.Key, v.Old, v.New, v.Metadata)
		})
	}
	if f := c.DeleteContext; f != nil {
		d.Delete = operation(kd.DeleteBatch, func(ctx context.Context, v *api.KVBatchValue) (api.Metadata, error) {
			return nil, f(ctx, v.Key, v.Old, v.Metadata)
		})
	}
	return d
}

// operation makes an operation of a callback for batches or, if that is nil, of one for
// single values.
func operation(batch api.KVBatchFunc, single func(context.Context, *api.KVBatchValue) (api.Metadata, error)) Operation {
	return func(ctx context.Context, values []api.KVBatchValue, results []api.KVBatchResult) []api.KVBatchResult {
		if batch != nil {
			return append(results, batch(ctx, values)...)
		}
		meta, err := single(ctx, &values[0])
		return append(results, api.KVBatchResult{Metadata: meta, Err: err})
	}
}

// NameOf returns the name; empty if there is no descriptor.
func (d *Descriptor) NameOf() string {
	if d == nil {
		return ""
	}
	return d.Name
}

// Label is the short name of a key; the key itself if there is no descriptor.
func (d *Descriptor) Label(key string) string {
	if d == nil || d.KeyLabel == nil {
		return key
	}
	return d.KeyLabel(key)
}

// WhyAbsent says why the southbound does not have a value.
func (d *Descriptor) WhyAbsent(key string) (why string) {
	if d.Absent != nil {
		panicOf("Absent", func() { why = d.Absent(key) }) // after a panic, the explanation is without it
	}
	return cmp.Or(why, "the southbound does not have it")
}

// IsProperty reports whether the values exist without any operation: their
// descriptor has no Create, or they have no descriptor at all.
func (d *Descriptor) IsProperty() bool { return d == nil || d.Create == nil }

// Equivalent reports whether going from one value to the other needs no
// operation.
func (d *Descriptor) Equivalent(key string, a, b proto.Message) bool {
	if !sameUnmodeled(a, b) {
		return false
	}
	if d != nil && d.ValueComparator != nil {
		return d.ValueComparator(key, a, b)
	}
	return proto.Equal(a, b)
}

func sameUnmodeled(a, b proto.Message) bool {
	return slices.Equal(api.Unmodeled(a), api.Unmodeled(b))
}

// Compare is Equivalent with a panic as an error, for callers that can stop at
// an answer.
func (d *Descriptor) Compare(key string, a, b proto.Message) (equal bool, err error) {
	if !sameUnmodeled(a, b) {
		return false, nil
	}
	if d == nil || d.ValueComparator == nil {
		return proto.Equal(a, b), nil
	}
	err = try(d.Name, "ValueComparator", func() { equal = d.raw.ValueComparator(key, a, b) })
	return equal, err
}

// Lacking reports whether what was found is a value of the descriptor while some of its
// derived values, named by their keys, wait for something.
func (d *Descriptor) Lacking(key string, found, value proto.Message, waiting []string) bool {
	if d == nil || d.Without == nil || len(waiting) == 0 {
		return false
	}
	return d.Equivalent(key, found, d.Without(key, value, waiting))
}

// Claim is an identity in its southbound; see api.Descriptor.Identities.
type Claim struct{ Southbound, Identity string }

// Claims returns the identities of a value of the descriptor.
func (d *Descriptor) Claims(key string, v *Value) (claims []Claim) {
	if d.IsProperty() || d.Identities == nil || v == nil || v.FromSB || v.Msg == nil {
		return nil
	}
	for _, id := range d.Identities(key, v.Msg) {
		if id != "" {
			claims = append(claims, Claim{d.Southbound, id})
		}
	}
	return claims
}

// Spelling returns the key that a desired value would have in the canonical spelling of the addresses in
// its key; empty if its key is canonical.
func (d *Descriptor) Spelling(v *Value) string {
	if d == nil || v == nil || v.FromSB || v.Msg == nil {
		return ""
	}
	return api.CanonicalKey(d.raw, v.Msg)
}

// Vacated returns v with temporary identities, or nil if the descriptor has no Vacate.
func (d *Descriptor) Vacated(key string, v *Value) *Value {
	if d.Vacate == nil {
		return nil
	}
	away := *v
	away.Msg = d.Vacate(key, v.Msg)
	return &away
}

// NeedsRecreate reports whether a change cannot be made in place.
func (d *Descriptor) NeedsRecreate(key string, from, to proto.Message, meta api.Metadata) bool {
	if d.IsProperty() {
		return false
	}
	if d.Update == nil || !sameUnmodeled(from, to) {
		return true
	}
	return d.UpdateWithRecreate != nil && d.UpdateWithRecreate(key, from, to, meta)
}

// Forces is NeedsRecreate for one of the changes, which may be no valid value: with a panic
// as an error.
func (d *Descriptor) Forces(key string, from, to proto.Message, meta api.Metadata) (forces bool, err error) {
	if d == nil || d.IsProperty() {
		return false, nil
	}
	if d.Update == nil || d.UpdateWithRecreate == nil {
		return d.Update == nil, nil
	}
	err = try(d.Name, "UpdateWithRecreate", func() { forces = d.raw.UpdateWithRecreate(key, from, to, meta) })
	return forces, err
}

// Retriable reports whether repeating the operation may help.
func (d *Descriptor) Retriable(err error) bool {
	if errors.Is(err, api.ErrPermanent) {
		return false
	}
	return d == nil || d.IsRetriableFailure == nil || d.IsRetriableFailure(err)
}

// Session is the name of the southbound; empty if it is always there.
func (d *Descriptor) Session() string {
	if d == nil {
		return ""
	}
	return d.Southbound
}

// Value is a message with what its descriptor says about it. It is immutable.
type Value struct {
	Msg proto.Message
	// Deps are the dependencies of a value that is not FromSB.
	Deps []api.Dependency
	// Derived are the derived values, sorted by key.
	Derived []Derived
	// Invalid is the error of Validate; an invalid value is never applied.
	Invalid error
	// Last is the valid value before an invalid one; it stays in force. Nil if
	// there was none.
	Last *Value
	// FromSB: the value belongs to the southbound; it has no dependencies and
	// is not validated.
	FromSB bool
	// Assembled reports that Derived are the values that exist, which may not be those
	// that DerivedValues returns for Msg: the change of a derived value can have failed.
	Assembled bool
	// Unwanted: the value is not desired, it is only to be kept for now, as it
	// was found.
	Unwanted bool
	// Observed: the value is wanted as whatever there is under its key; it is
	// neither made nor removed.
	Observed bool
	// Assumed: the southbound, which cannot be read, may have been restarted since the value was
	// created. If it stays desired, it is deleted and created again, changed or not.
	Assumed bool
}

// Instead returns v, an invalid value, with the wish that it replaces, which
// stays in force.
func (v *Value) Instead(of *Value) *Value {
	if of != nil && of.Invalid != nil {
		of = of.Last
	}
	if v.Invalid == nil || of == nil || of.Unwanted {
		return v
	}
	held := *v
	held.Last, held.Deps, held.Derived = of, of.Deps, of.Derived
	return &held
}

// InForce returns v or, of an invalid value, the last valid one, which stays in force;
// nil if there is none.
func (v *Value) InForce() *Value {
	if v == nil || v.Invalid == nil {
		return v
	}
	return v.Last
}

// KeepsFound reports whether v is invalid, and what others made stays in force.
func (v *Value) KeepsFound() bool { return v != nil && v.Last != nil && v.Last.FromSB }

// Alone returns v, an invalid value, without anything that stays in force.
func (v *Value) Alone() *Value { return &Value{Msg: v.Msg, Invalid: v.Invalid} }

// Derived is one derived value.
type Derived struct {
	Key   string
	Desc  *Descriptor
	Value *Value
}
