package api

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/models"
)

// Describe sets the fields of a descriptor that follow from the model, unless they are set:
// NBKeyPrefix, ValueTypeName, KeySelector and KeyLabel.
func Describe[V proto.Message, M any](m models.Model[V], d Descriptor[V, M]) *Descriptor[V, M] {
	if d.NBKeyPrefix == "" {
		d.NBKeyPrefix = m.KeyPrefix()
	}
	if d.ValueTypeName == "" {
		d.ValueTypeName = string(m.ProtoName())
	}
	if d.KeySelector == nil {
		d.KeySelector = func(key string) bool {
			if m.Matches(key) {
				return true
			}
			object, ok := ForeignTo(key) // of the only value of a model
			return ok && m.Matches(object)
		}
	}
	if d.KeyLabel == nil {
		d.KeyLabel = m.Label
	}
	d.keyOf = func(value V) (string, bool) {
		key := m.Key(value)
		return key, m.Matches(key)
	}
	if m.HasSpellings() {
		d.canonicalKey = m.CanonicalKey
	}
	return &d
}

// Adapt converts a typed descriptor for the scheduler. A value or metadata of a wrong type
// does not reach the typed callbacks: the operation fails with an ErrInvalidValueType or an
// ErrInvalidMetadataType. A value is INVALID if a field of it, or of a message in it, violates its
// annotation (ligato_options), or is required and not set: Validate of the descriptor is not called, and
// no other callback gets the value. Values without a NBKeyPrefix, which are derived, need not be complete.
func Adapt[V proto.Message, M any](d *Descriptor[V, M]) *KVDescriptor {
	a := adapter[V, M]{d, &annotations{partial: d.Partial || d.NBKeyPrefix == ""}}
	k := &KVDescriptor{
		Name:                 d.Name,
		NBKeyPrefix:          d.NBKeyPrefix,
		ValueTypeName:        d.ValueTypeName,
		KeySelector:          d.KeySelector,
		KeyLabel:             d.KeyLabel,
		WithMetadata:         d.WithMetadata,
		Unrecorded:           d.Unrecorded,
		SessionOnly:          d.SessionOnly,
		KeepsShared:          d.KeepsShared,
		ForeignParts:         d.ForeignParts,
		MetadataMapFactory:   d.MetadataMapFactory,
		IsRetriableFailure:   d.IsRetriableFailure,
		Absent:               d.Absent,
		RetrieveDependencies: d.RetrieveDependencies,
		ConcurrentRetrieve:   d.ConcurrentRetrieve,
		Concurrency:          d.Concurrency,
		Timeout:              d.Timeout,
		Southbound:           d.Southbound,
		CreateBatch:          a.adaptBatch(d.CreateBatch),
		UpdateBatch:          a.adaptBatch(d.UpdateBatch),
		DeleteBatch:          a.adaptBatch(d.DeleteBatch),
		newMap:               idxmap.New[M],
	}
	if k.ValueTypeName == "" {
		k.ValueTypeName = typeName[V]()
	}
	a.adaptContexts(k)
	a.adaptPlain(k)
	a.adaptPureCallbacks(k)
	return k
}

// KeyOf returns the key of a value of the descriptor; false if the descriptor
// was not made with Describe, or the value is none of its model.
func KeyOf(d *KVDescriptor, value proto.Message) (string, bool) {
	if d.keyOf == nil {
		return "", false
	}
	return d.keyOf(value)
}

// CanonicalKey returns the key that a value would have if the addresses in its key were written in the
// canonical form; empty if they are, or if keys of the descriptor contain none.
func CanonicalKey(d *KVDescriptor, value proto.Message) string {
	if d.canonicalKey == nil || value == nil {
		return ""
	}
	return d.canonicalKey(value)
}

// NewMetadataMap makes the metadata map of a descriptor.
func NewMetadataMap(d *KVDescriptor) *idxmap.Store {
	switch {
	case d.MetadataMapFactory != nil:
		return d.MetadataMapFactory()
	case d.newMap != nil:
		return d.newMap(d.Name)
	default:
		return idxmap.New[Metadata](d.Name)
	}
}

func typeName[V proto.Message]() string {
	t := reflect.TypeFor[V]()
	if t.Kind() != reflect.Pointer {
		return ""
	}
	var zero V
	return string(zero.ProtoReflect().Descriptor().FullName())
}

type adapter[V proto.Message, M any] struct {
	d           *Descriptor[V, M]
	annotations *annotations
}

func (a adapter[V, M]) value(key string, m proto.Message) (V, error) {
	v, ok := m.(V)
	if !ok {
		return v, ErrInvalidValueType(key, m)
	}
	return v, nil
}

// metadata converts; nil metadata (a value whose state is not known) becomes
// the zero value.
func (a adapter[V, M]) metadata(key string, m Metadata) (M, error) {
	typed, ok := m.(M)
	if !ok && m != nil {
		return typed, ErrInvalidMetadataType(key)
	}
	return typed, nil
}

// adaptContexts adapts the callbacks that take a context.
func (a adapter[V, M]) adaptContexts(k *KVDescriptor) {
	d := a.d
	if d.CreateContext != nil {
		k.CreateContext = func(ctx context.Context, key string, value proto.Message) (Metadata, error) {
			v, err := a.value(key, value)
			if err != nil {
				return nil, err
			}
			return d.CreateContext(ctx, key, v)
		}
	}
	if d.UpdateContext != nil {
		k.UpdateContext = func(ctx context.Context, key string, oldValue, newValue proto.Message, meta Metadata) (Metadata, error) {
			ov, nv, m, err := a.change(key, oldValue, newValue, meta)
			if err != nil {
				return nil, err
			}
			return d.UpdateContext(ctx, key, ov, nv, m)
		}
	}
	if d.DeleteContext != nil {
		k.DeleteContext = func(ctx context.Context, key string, value proto.Message, meta Metadata) error {
			v, m, err := a.existing(key, value, meta)
			if err != nil {
				return err
			}
			return d.DeleteContext(ctx, key, v, m)
		}
	}
	a.adaptRetrieve(k)
}

// existing converts a value that exists.
func (a adapter[V, M]) existing(key string, value proto.Message, meta Metadata) (V, M, error) {
	v, err1 := a.value(key, value)
	m, err2 := a.metadata(key, meta)
	return v, m, cmp.Or(err1, err2)
}

func (a adapter[V, M]) change(key string, oldValue, newValue proto.Message, meta Metadata) (V, V, M, error) {
	ov, m, err1 := a.existing(key, oldValue, meta)
	nv, err2 := a.value(key, newValue)
	return ov, nv, m, cmp.Or(err1, err2)
}

func (a adapter[V, M]) adaptRetrieve(k *KVDescriptor) {
	d := a.d
	if d.RetrieveContext != nil {
		k.RetrieveContext = func(ctx context.Context, correlate []KVWithMetadata) ([]KVWithMetadata, error) {
			typed := make([]KV[V, M], 0, len(correlate))
			for _, kv := range correlate {
				if v, m, err := a.existing(kv.Key, kv.Value, kv.Metadata); err == nil && a.annotations.check(v) == nil {
					typed = append(typed, KV[V, M]{kv.Key, v, m, kv.Origin, kv.Unconfirmed, kv.DerivedUnconfirmed})
				}
			}
			found, err := d.RetrieveContext(ctx, typed)
			out := make([]KVWithMetadata, len(found))
			for i, kv := range found {
				out[i] = KVWithMetadata{Key: kv.Key, Value: present(kv.Value), Metadata: kv.Metadata, Origin: kv.Origin}
			}
			return out, err
		}
	}
	if d.RetrieveValueContext != nil {
		k.RetrieveValueContext = func(ctx context.Context, key string, last proto.Message, meta Metadata) (proto.Message, Metadata, bool, error) {
			v, m, err := a.existing(key, last, meta)
			if err != nil {
				return nil, nil, false, err
			}
			return d.RetrieveValueContext(ctx, key, v, m)
		}
	}
}

// present is nil for a message that is a nil pointer.
func present(m proto.Message) proto.Message {
	if m == nil || !m.ProtoReflect().IsValid() {
		return nil
	}
	return m
}

func (a adapter[V, M]) adaptPureCallbacks(k *KVDescriptor) {
	d := a.d
	if d.keyOf != nil {
		k.keyOf = func(value proto.Message) (string, bool) {
			v, ok := value.(V)
			if !ok {
				return "", false
			}
			return d.keyOf(v)
		}
	}
	if d.canonicalKey != nil {
		k.canonicalKey = func(value proto.Message) string {
			v, ok := value.(V)
			if !ok {
				return ""
			}
			return d.canonicalKey(v)
		}
	}
	if d.ValueComparator != nil {
		k.ValueComparator = func(key string, oldValue, newValue proto.Message) bool {
			ov, err1 := a.value(key, oldValue)
			nv, err2 := a.value(key, newValue)
			return err1 == nil && err2 == nil && d.ValueComparator(key, ov, nv)
		}
	}
	// A value of the wrong type, or that its annotations exclude, is invalid even if the descriptor
	// validates nothing.
	k.Validate = func(key string, value proto.Message) error {
		v, err := a.value(key, value)
		if err == nil {
			err = a.annotations.check(v)
		}
		if err != nil || d.Validate == nil {
			return err
		}
		return d.Validate(key, v)
	}
	if d.UpdateWithRecreate != nil {
		k.UpdateWithRecreate = func(key string, oldValue, newValue proto.Message, meta Metadata) bool {
			ov, nv, m, err := a.change(key, oldValue, newValue, meta)
			return err != nil || d.UpdateWithRecreate(key, ov, nv, m)
		}
	}
	a.adaptRelations(k)
}

// adaptRelations adapts the functions that report how a value stands to others.
func (a adapter[V, M]) adaptRelations(k *KVDescriptor) {
	d := a.d
	if d.DerivedValues != nil {
		k.DerivedValues = func(key string, value proto.Message) []KeyValuePair {
			v, err := a.value(key, value)
			if err != nil {
				return nil
			}
			return d.DerivedValues(key, v)
		}
	}
	if d.Without != nil {
		k.Without = func(key string, value proto.Message, derived []string) proto.Message {
			v, err := a.value(key, value)
			if err != nil {
				return value
			}
			return d.Without(key, v, derived)
		}
	}
	if d.Identities != nil {
		k.Identities = func(key string, value proto.Message) []string {
			v, err := a.value(key, value)
			if err != nil {
				return nil
			}
			return d.Identities(key, v)
		}
	}
	if d.Vacate != nil {
		k.Vacate = func(key string, value proto.Message) proto.Message {
			v, err := a.value(key, value)
			if err != nil {
				return value
			}
			return d.Vacate(key, v)
		}
	}
	if d.Dependencies != nil {
		k.Dependencies = func(key string, value proto.Message) []Dependency {
			v, err := a.value(key, value)
			if err != nil {
				return nil
			}
			return d.Dependencies(key, v)
		}
	}
}

// WithContexts returns the descriptor with its callbacks in the form that takes a
// context. A callback that has no such form ignores the context; one that takes batches
// gets a batch of one value. d is not changed.
func (d *Descriptor[V, M]) WithContexts() *Descriptor[V, M] {
	c := *d
	c.Create, c.Update, c.Delete, c.Retrieve, c.RetrieveValue = nil, nil, nil, nil, nil
	c.batchesOfOne(d)
	if f := d.Create; f != nil && d.CreateContext == nil {
		c.CreateContext = func(_ context.Context, key string, v V) (M, error) { return f(key, v) }
	}
	if f := d.Update; f != nil && d.UpdateContext == nil {
		c.UpdateContext = func(_ context.Context, key string, from, to V, m M) (M, error) { return f(key, from, to, m) }
	}
	if f := d.Delete; f != nil && d.DeleteContext == nil {
		c.DeleteContext = func(_ context.Context, key string, v V, m M) error { return f(key, v, m) }
	}
	if f := d.Retrieve; f != nil && d.RetrieveContext == nil {
		c.RetrieveContext = func(_ context.Context, correlate []KV[V, M]) ([]KV[V, M], error) { return f(correlate) }
	}
	if f := d.RetrieveValue; f != nil && d.RetrieveValueContext == nil {
		c.RetrieveValueContext = func(_ context.Context, key string, last V, m M) (V, M, bool, error) { return f(key, last, m) }
	}
	return &c
}

// batchesOfOne sets the callbacks that d only has in the form for batches.
func (c *Descriptor[V, M]) batchesOfOne(d *Descriptor[V, M]) {
	c.CreateBatch, c.UpdateBatch, c.DeleteBatch = nil, nil, nil
	one := func(ctx context.Context, callback string, f BatchFunc[V, M], value BatchValue[V, M]) (meta M, err error) {
		results := f(ctx, []BatchValue[V, M]{value})
		if len(results) != 1 {
			return meta, fmt.Errorf("descriptor %q: %s returned %d results for 1 value", d.Name, callback, len(results))
		}
		return results[0].Metadata, results[0].Err
	}
	if f := d.CreateBatch; f != nil && d.CreateContext == nil {
		c.CreateContext = func(ctx context.Context, key string, v V) (M, error) {
			return one(ctx, "CreateBatch", f, BatchValue[V, M]{Key: key, New: v})
		}
	}
	if f := d.UpdateBatch; f != nil && d.UpdateContext == nil {
		c.UpdateContext = func(ctx context.Context, key string, from, to V, m M) (M, error) {
			return one(ctx, "UpdateBatch", f, BatchValue[V, M]{Key: key, Old: from, Metadata: m, New: to})
		}
	}
	if f := d.DeleteBatch; f != nil && d.DeleteContext == nil {
		c.DeleteContext = func(ctx context.Context, key string, v V, m M) error {
			_, err := one(ctx, "DeleteBatch", f, BatchValue[V, M]{Key: key, Old: v, Metadata: m})
			return err
		}
	}
}

// Retrieves reports whether the values can be read from the southbound.
func (d *Descriptor[V, M]) Retrieves() bool { return d.Retrieve != nil || d.RetrieveContext != nil }

// GivenTwice lists the forms of each callback that is given in several, as in "Create
// and CreateContext". Such a descriptor is refused.
func (d *Descriptor[V, M]) GivenTwice() (callbacks []string) {
	for _, c := range []struct {
		name  string
		given [3]bool
	}{
		{"Create", [3]bool{d.Create != nil, d.CreateContext != nil, d.CreateBatch != nil}},
		{"Update", [3]bool{d.Update != nil, d.UpdateContext != nil, d.UpdateBatch != nil}},
		{"Delete", [3]bool{d.Delete != nil, d.DeleteContext != nil, d.DeleteBatch != nil}},
		{"Retrieve", [3]bool{d.Retrieve != nil, d.RetrieveContext != nil}},
		{"RetrieveValue", [3]bool{d.RetrieveValue != nil, d.RetrieveValueContext != nil}},
	} {
		var forms []string
		for i, suffix := range []string{"", "Context", "Batch"} {
			if c.given[i] {
				forms = append(forms, c.name+suffix)
			}
		}
		if len(forms) > 1 {
			callbacks = append(callbacks, strings.Join(forms, " and "))
		}
	}
	return callbacks
}

// adaptPlain adapts the callbacks that take no context.
func (a adapter[V, M]) adaptPlain(k *KVDescriptor) {
	plain := *a.d
	plain.CreateContext, plain.UpdateContext, plain.DeleteContext = nil, nil, nil
	plain.CreateBatch, plain.UpdateBatch, plain.DeleteBatch = nil, nil, nil
	plain.RetrieveContext, plain.RetrieveValueContext = nil, nil
	var adapted KVDescriptor
	adapter[V, M]{plain.WithContexts(), a.annotations}.adaptContexts(&adapted)
	ctx := context.Background() // ignored
	if f := adapted.CreateContext; f != nil {
		k.Create = func(key string, v proto.Message) (Metadata, error) { return f(ctx, key, v) }
	}
	if f := adapted.UpdateContext; f != nil {
		k.Update = func(key string, from, to proto.Message, m Metadata) (Metadata, error) {
			return f(ctx, key, from, to, m)
		}
	}
	if f := adapted.DeleteContext; f != nil {
		k.Delete = func(key string, v proto.Message, m Metadata) error { return f(ctx, key, v, m) }
	}
	if f := adapted.RetrieveContext; f != nil {
		k.Retrieve = func(correlate []KVWithMetadata) ([]KVWithMetadata, error) { return f(ctx, correlate) }
	}
	if f := adapted.RetrieveValueContext; f != nil {
		k.RetrieveValue = func(key string, last proto.Message, m Metadata) (proto.Message, Metadata, bool, error) {
			return f(ctx, key, last, m)
		}
	}
}

// MaxBatch is the most values of a batch.
const MaxBatch = 64

// BatchFunc runs the same operation on several values. It returns one result per value, in
// the order of the values.
type BatchFunc[V proto.Message, M any] func(ctx context.Context, values []BatchValue[V, M]) []BatchResult[M]

// BatchValue is one value of a batch. A batch has no key twice.
type BatchValue[V proto.Message, M any] struct {
	Key string
	// Old is the actual value, and Metadata is its metadata; both are zero for CreateBatch.
	Old      V
	Metadata M
	// New is the desired value; zero for DeleteBatch.
	New V
}

// BatchResult is the outcome of the operation on one value of a batch.
type BatchResult[M any] struct {
	Metadata M // as Create and Update return it; zero for DeleteBatch
	Err      error
}

// KVBatchFunc is BatchFunc for any type of values.
type KVBatchFunc = BatchFunc[proto.Message, Metadata]

// KVBatchValue is BatchValue for any type of values.
type KVBatchValue = BatchValue[proto.Message, Metadata]

// KVBatchResult is BatchResult for any type of values.
type KVBatchResult = BatchResult[Metadata]

// Batches reports whether any callback of the descriptor takes batches.
func (d *Descriptor[V, M]) Batches() bool {
	return d.CreateBatch != nil || d.UpdateBatch != nil || d.DeleteBatch != nil
}

// adaptBatch adapts a callback that takes batches. Values of a wrong type get their error
// as result, and the callback receives the others.
func (a adapter[V, M]) adaptBatch(f BatchFunc[V, M]) KVBatchFunc {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, values []KVBatchValue) []KVBatchResult {
		typed := make([]BatchValue[V, M], 0, len(values))
		failed := map[int]error{} // by index
		for i := range values {
			v, err := a.batchValue(&values[i])
			if err != nil {
				failed[i] = err
				continue
			}
			typed = append(typed, v)
		}
		var found []BatchResult[M]
		if len(typed) > 0 {
			found = f(ctx, typed)
		}
		out := make([]KVBatchResult, 0, len(values))
		for i := range values {
			if err := failed[i]; err != nil {
				out = append(out, KVBatchResult{Err: err})
			} else if len(found) > 0 {
				out = append(out, KVBatchResult{found[0].Metadata, found[0].Err})
				found = found[1:]
			} else {
				break
			}
		}
		for _, more := range found { // more than there are values: the scheduler reports it
			out = append(out, KVBatchResult{more.Metadata, more.Err})
		}
		return out
	}
}

func (a adapter[V, M]) batchValue(from *KVBatchValue) (to BatchValue[V, M], err error) {
	to.Key = from.Key
	if from.Old != nil {
		if to.Old, err = a.value(from.Key, from.Old); err != nil {
			return to, err
		}
	}
	if from.New != nil {
		if to.New, err = a.value(from.Key, from.New); err != nil {
			return to, err
		}
	}
	to.Metadata, err = a.metadata(from.Key, from.Metadata)
	return to, err
}
