package kvstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// DescriptorOption changes what Descriptor returns.
type DescriptorOption func(*build)

// build is a descriptor in the making.
type build struct {
	sb      *MockSB
	d       *api.Descriptor[*model.Item, *Meta]
	origin  api.ValueOrigin
	derived bool
	batches bool

	expectedOnly bool
}

// WithMetadata makes the descriptor keep the handles of the southbound, which
// then insists on them.
func WithMetadata() DescriptorOption { return func(b *build) { b.d.WithMetadata = true } }

// Derived is for values that are only derived: they are not read back on their
// own, but as a part of the value they are derived from.
func Derived() DescriptorOption {
	return func(b *build) { b.derived, b.d.NBKeyPrefix, b.d.Retrieve = true, "", nil }
}

// ComparesDerived is for values that are equal only if they have the same derived values.
func ComparesDerived() DescriptorOption {
	return func(b *build) {
		same := b.d.ValueComparator
		b.d.ValueComparator = func(key string, x, y *model.Item) bool {
			return same(key, x, y) && slices.EqualFunc(x.GetDerived(), y.GetDerived(), func(c, d *model.Derived) bool { return c.GetKey() == d.GetKey() })
		}
		b.d.Without = func(_ string, v *model.Item, derived []string) *model.Item {
			v = proto.Clone(v).(*model.Item)
			v.Derived = slices.DeleteFunc(v.Derived, func(d *model.Derived) bool { return slices.Contains(derived, d.GetKey()) })
			return v
		}
	}
}

// DerivedRead is for values that are only derived and are also read back on their own.
func DerivedRead() DescriptorOption {
	return func(b *build) { b.derived, b.d.NBKeyPrefix = true, "" }
}

// Property is for values that are derived and need no operation: no Create,
// Update and Delete.
func Property() DescriptorOption {
	return func(b *build) {
		Derived()(b)
		b.derived = false // the southbound holds no such values
		b.d.Create, b.d.Update, b.d.Delete, b.d.UpdateWithRecreate = nil, nil, nil, nil
	}
}

// Unrecorded is for values whose operations are not recorded.
func Unrecorded() DescriptorOption { return func(b *build) { b.d.Unrecorded = true } }

// Obtained is for values that come from the southbound: they can be read back
// and notified, and there is nothing to do for them.
func Obtained() DescriptorOption {
	return func(b *build) {
		b.d.NBKeyPrefix, b.origin = "", api.FromSB
		b.d.Create, b.d.Update, b.d.Delete, b.d.UpdateWithRecreate = nil, nil, nil, nil
	}
}

// WithoutUpdate makes every change a re-creation.
func WithoutUpdate() DescriptorOption {
	return func(b *build) { b.d.Update, b.d.UpdateWithRecreate = nil, nil }
}

// WithVacate lets values that exchange their identities take temporary ones.
func WithVacate() DescriptorOption {
	return func(b *build) {
		b.d.Vacate = func(key string, v *model.Item) *model.Item {
			away := proto.Clone(v).(*model.Item)
			for i := range away.Identities {
				away.Identities[i] = fmt.Sprintf("temporary/%s/%d", key, i)
			}
			return away
		}
	}
}

// WithoutRetrieve makes the southbound unreadable.
func WithoutRetrieve() DescriptorOption { return func(b *build) { b.d.Retrieve = nil } }

// ExpectedOnly is for a southbound that also makes such values by itself, without a mark: Retrieve returns a
// value only if it is equal to an expected one.
func ExpectedOnly() DescriptorOption { return func(b *build) { b.expectedOnly = true } }

// TakesOver makes Create take over what is there, and report it with api.ErrFound.
func TakesOver() DescriptorOption {
	return func(b *build) {
		b.d.Create = func(key string, v *model.Item) (*Meta, error) { return b.sb.TakeOver(key, v) }
	}
}

// ForeignParts has plans read what others added to the values.
func ForeignParts() DescriptorOption { return func(b *build) { b.d.ForeignParts = true } }

// KeepsShared makes Delete leave what values that others made depend on.
func KeepsShared() DescriptorOption {
	return func(b *build) {
		b.d.KeepsShared = true
		b.d.Delete = func(key string, _ *model.Item, m *Meta) error {
			if users := b.sb.foreignUsers(key); len(users) > 0 {
				return api.Left("used by " + strings.Join(users, ", "))
			}
			return b.sb.Delete(key, m)
		}
	}
}

// WithOrigin sets the origin that Retrieve returns; default: unknown.
func WithOrigin(o api.ValueOrigin) DescriptorOption { return func(b *build) { b.origin = o } }

// After names the descriptors that are retrieved before.
func After(names ...string) DescriptorOption {
	return func(b *build) { b.d.RetrieveDependencies = names }
}

// WithSouthbound names the session that the values live in.
func WithSouthbound(name string) DescriptorOption {
	return func(b *build) { b.d.Southbound = name }
}

// WithConcurrency lets n callbacks run at once.
func WithConcurrency(n int) DescriptorOption { return func(b *build) { b.d.Concurrency = n } }

// WithBatches makes Create, Update and Delete take batches, with n values at once. The
// southbound handles the values of a batch one after the other.
func WithBatches(n int) DescriptorOption {
	return func(b *build) { b.d.Concurrency, b.batches = n, true }
}

type (
	itemValue  = api.BatchValue[*model.Item, *Meta]
	itemResult = api.BatchResult[*Meta]
)

// takeBatches replaces the callbacks by those that take batches.
func takeBatches(d *api.Descriptor[*model.Item, *Meta]) {
	each := func(one func(v itemValue) (*Meta, error)) api.BatchFunc[*model.Item, *Meta] {
		return func(_ context.Context, values []itemValue) (results []itemResult) {
			for _, v := range values {
				meta, err := one(v)
				results = append(results, itemResult{Metadata: meta, Err: err})
			}
			return results
		}
	}
	if f := d.Create; f != nil {
		d.Create, d.CreateBatch = nil, each(func(v itemValue) (*Meta, error) { return f(v.Key, v.New) })
	}
	if f := d.Update; f != nil {
		d.Update, d.UpdateBatch = nil, each(func(v itemValue) (*Meta, error) { return f(v.Key, v.Old, v.New, v.Metadata) })
	}
	if f := d.Delete; f != nil {
		d.Delete, d.DeleteBatch = nil, each(func(v itemValue) (*Meta, error) { return nil, f(v.Key, v.Old, v.Metadata) })
	}
}

// Descriptor returns a descriptor of the items with the key prefix in the
// southbound. An item lists its own dependencies and derived values; see
// model.Item. Items that differ in nothing but relations and note are
// equivalent.
func (sb *MockSB) Descriptor(name, prefix string, opts ...DescriptorOption) *api.KVDescriptor {
	b := &build{sb: sb}
	b.d = &api.Descriptor[*model.Item, *Meta]{
		Name:          name,
		NBKeyPrefix:   prefix,
		KeySelector:   func(key string) bool { return strings.HasPrefix(key, prefix) },
		KeyLabel:      func(key string) string { return strings.TrimPrefix(key, prefix) },
		Validate:      validate,
		Dependencies:  dependencies,
		DerivedValues: derivedValues,
		ValueComparator: func(_ string, a, b *model.Item) bool {
			return a.GetValue() == b.GetValue() && slices.Equal(a.GetIdentities(), b.GetIdentities())
		},
		Identities:         func(_ string, v *model.Item) []string { return v.GetIdentities() },
		UpdateWithRecreate: func(_ string, from, to *model.Item, _ *Meta) bool { return from.GetRecreate() || to.GetRecreate() },
		Create:             func(key string, v *model.Item) (*Meta, error) { return sb.Create(key, v) },
		Update:             func(key string, _, v *model.Item, m *Meta) (*Meta, error) { return sb.Update(key, v, m) },
		Delete:             func(key string, _ *model.Item, m *Meta) error { return sb.Delete(key, m) },
	}
	b.d.Retrieve = b.retrieve
	for _, o := range opts {
		o(b)
	}
	if b.batches {
		takeBatches(b.d)
	}
	if b.derived {
		sb.mu.Lock()
		sb.pieces = append(sb.pieces, prefix)
		sb.mu.Unlock()
	}
	return api.Adapt(b.d)
}

func validate(_ string, v *model.Item) error {
	if v.GetInvalid() {
		return api.NewInvalidValueError(errors.New("item is invalid"), "invalid")
	}
	return nil
}

func dependencies(_ string, v *model.Item) (deps []api.Dependency) {
	for _, key := range v.GetDeps() {
		deps = append(deps, api.DependsOn(key))
	}
	for _, key := range v.GetCreatedWith() {
		deps = append(deps, api.Dependency{Label: key, Key: key, Creation: true})
	}
	if prefixes := v.GetAnyOf(); len(prefixes) > 0 {
		deps = append(deps, api.Dependency{
			Label: "any of " + strings.Join(prefixes, " "), AnyOf: api.AnyOfDependency{KeyPrefixes: prefixes}})
	}
	return deps
}

func derivedValues(_ string, v *model.Item) (derived []api.KeyValuePair) {
	for _, d := range v.GetDerived() {
		item := d.GetItem()
		if item == nil {
			item = &model.Item{}
		}
		derived = append(derived, api.KeyValuePair{Key: d.GetKey(), Value: item})
	}
	return derived
}

// retrieve reads the items back the way real descriptors do: relations, which
// the southbound does not know, are taken from the expected value, except
// derived values that the southbound should hold and does not.
func (b *build) retrieve(correlate []api.KV[*model.Item, *Meta]) ([]api.KV[*model.Item, *Meta], error) {
	expected := map[string][]*model.Item{}
	for _, kv := range correlate {
		expected[kv.Key] = append(expected[kv.Key], kv.Value)
	}
	found, err := b.sb.Retrieve(b.d.Name, b.d.KeySelector)
	var out []api.KV[*model.Item, *Meta]
	for _, kv := range found {
		item, ok := kv.Value.(*model.Item)
		if !ok {
			if kv.Value == nil { // hollow
				out = append(out, api.KV[*model.Item, *Meta]{Key: kv.Key})
			}
			continue
		}
		at := slices.IndexFunc(expected[kv.Key], func(e *model.Item) bool {
			return e.GetValue() == item.GetValue() && slices.Equal(e.GetIdentities(), item.GetIdentities())
		})
		switch {
		case at >= 0:
			item = proto.Clone(expected[kv.Key][at]).(*model.Item)
		case b.expectedOnly:
			continue
		}
		item.Derived = b.sb.existing(kv.Key, item.Derived)
		meta, _ := kv.Metadata.(*Meta)
		if !b.d.WithMetadata {
			meta = nil
		}
		out = append(out, api.KV[*model.Item, *Meta]{Key: kv.Key, Value: item, Metadata: meta, Origin: b.origin})
	}
	return out, err
}

// existing returns the derived values of a base that exist: the values of the list
// that the southbound has, and values that the base named before and that could not be
// deleted.
func (sb *MockSB) existing(base string, list []*model.Derived) []*model.Derived {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	named := map[string]bool{}
	for _, d := range list {
		named[d.GetKey()] = true
		sb.bases[d.GetKey()] = base
	}
	list = slices.DeleteFunc(list, func(d *model.Derived) bool { return sb.values[d.GetKey()] == nil && sb.holds(d.GetKey()) })
	for _, key := range slices.Sorted(maps.Keys(sb.bases)) {
		if h := sb.values[key]; h != nil && sb.bases[key] == base && !named[key] && sb.holds(key) {
			item, _ := proto.Clone(h.value).(*model.Item)
			list = append(list, &model.Derived{Key: key, Item: item})
		}
	}
	return list
}

// holds reports whether derived values with such a key are stored on their own. The
// caller holds mu.
func (sb *MockSB) holds(key string) bool {
	return slices.ContainsFunc(sb.pieces, func(p string) bool { return strings.HasPrefix(key, p) })
}

// RequireDependencies makes the southbound refuse to create an item before
// what it depends on, and to delete what others depend on: at no moment may a
// value exist without its dependencies. elsewhere reports the keys that it does
// not insist on, such as the keys of properties, which it does not hold.
func (sb *MockSB) RequireDependencies(elsewhere api.KeySelector) {
	sb.Refuse(func(op api.TxnOperation, key string, value proto.Message, exists func(string) bool) error {
		switch op {
		case pb.TxnOperation_CREATE:
			item, _ := value.(*model.Item)
			for _, dep := range item.GetDeps() {
				if !elsewhere(dep) && !exists(dep) {
					return errors.New("southbound refuses: " + dep + " does not exist")
				}
			}
		case pb.TxnOperation_DELETE:
			if elsewhere(key) {
				return nil
			}
			for other, h := range sb.values {
				item, _ := h.value.(*model.Item)
				if other != key && !h.foreign && slices.Contains(item.GetDeps(), key) {
					return errors.New("southbound refuses: " + other + " depends on it")
				}
			}
		}
		return nil
	})
}
