package api

import (
	"cmp"
	"context"
	"reflect"

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
		d.KeySelector = m.Matches
	}
	if d.KeyLabel == nil {
		d.KeyLabel = m.Label
	}
	d.keyOf = func(value V) (string, bool) {
		key := m.Key(value)
		return key, m.Matches(key)
	}
	return &d
}

// Adapt converts a typed descriptor for the scheduler. A value or metadata of a wrong type
// does not reach the typed callbacks: the operation fails with an ErrInvalidValueType or an
// ErrInvalidMetadataType.
func Adapt[V proto.Message, M any](d *Descriptor[V, M]) *KVDescriptor {
	a := adapter[V, M]{d}
	k := &KVDescriptor{
		Name:                 d.Name,
		NBKeyPrefix:          d.NBKeyPrefix,
		ValueTypeName:        d.ValueTypeName,
		KeySelector:          d.KeySelector,
		KeyLabel:             d.KeyLabel,
		WithMetadata:         d.WithMetadata,
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

type adapter[V proto.Message, M any] struct{ d *Descriptor[V, M] }

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
				if v, m, err := a.existing(kv.Key, kv.Value, kv.Metadata); err == nil {
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
	if d.ValueComparator != nil {
		k.ValueComparator = func(key string, oldValue, newValue proto.Message) bool {
			ov, err1 := a.value(key, oldValue)
			nv, err2 := a.value(key, newValue)
			return err1 == nil && err2 == nil && d.ValueComparator(key, ov, nv)
		}
	}
	// A value of the wrong type is invalid even if the descriptor validates nothing.
	k.Validate = func(key string, value proto.Message) error {
		v, err := a.value(key, value)
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

// adaptRelations adapts what tells how a value stands to others.
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
