package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

func (w *world) retrieve(prefix string) ([]api.KV[*model.Item, any], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retrieveErr != nil {
		return nil, w.retrieveErr
	}
	var out []api.KV[*model.Item, any]
	for _, key := range slices.Sorted(maps.Keys(w.exists)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		it := proto.Clone(w.exists[key]).(*model.Item)
		it.Derived = slices.DeleteFunc(it.Derived, func(d *model.Derived) bool {
			return strings.HasPrefix(d.Key, "d/") && w.exists[d.Key] == nil
		})
		// Derived values that are there although their base no longer has them.
		for _, dk := range slices.Sorted(maps.Keys(w.exists)) {
			if strings.HasPrefix(dk, "d/"+key+"/") && !slices.ContainsFunc(it.Derived, func(d *model.Derived) bool { return d.Key == dk }) {
				it.Derived = append(it.Derived, &model.Derived{Key: dk, Item: w.exists[dk]})
			}
		}
		for _, d := range it.Derived {
			if have := w.exists[d.Key]; have != nil {
				d.Item = have
			}
		}
		out = append(out, api.KV[*model.Item, any]{Key: key, Value: it, Metadata: w.meta[key], Origin: w.origin()})
	}
	return w.dump(out)
}

func (w *world) retrieveNotified(string) ([]api.KV[*model.Item, any], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []api.KV[*model.Item, any]
	for _, key := range slices.Sorted(maps.Keys(w.notified)) {
		out = append(out, api.KV[*model.Item, any]{Key: key, Value: w.notified[key], Origin: api.FromSB})
	}
	return out, nil
}

// descriptors describe "a/", "b/", "c/" (base values), "d/" (derived) and "n/"
// (from the southbound).
func (w *world) descriptors() []*api.KVDescriptor {
	derived := w.derivedDescriptor()
	w.inBatches(derived)
	out := []*api.KVDescriptor{
		api.Adapt(derived),
		api.Adapt(&api.Descriptor[*model.Item, any]{
			Name: "n", KeySelector: hasPrefix("n/"),
			Retrieve: func([]api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
				return w.answer("n", w.retrieveNotified)
			},
		}),
	}
	for _, name := range []string{"a", "b", "c"} {
		out = append(out, api.Adapt(w.baseDescriptor(name)))
	}
	return out
}

func hasPrefix(prefix string) api.KeySelector {
	return func(key string) bool { return strings.HasPrefix(key, prefix) }
}

func itemDeps(_ string, it *model.Item) []api.Dependency {
	var deps []api.Dependency
	for _, key := range it.Deps {
		deps = append(deps, api.DependsOn(key))
	}
	if len(it.AnyOf) > 0 {
		deps = append(deps, api.Dependency{Label: "any", AnyOf: anyOf(it.AnyOf)})
	}
	return deps
}

// anyOf is met by what has one of the prefixes. Some of them are expressed by a
// selector, one for all or one for each.
func anyOf(prefixes []string) api.AnyOfDependency {
	switch prefixes[0] {
	case "d/a/":
		return api.AnyOfDependency{KeySelector: derivedFromA}
	case "n/":
		return api.AnyOfDependency{KeyPrefixes: prefixes, KeySelector: hasPrefix("n/")}
	case selectedPrefix:
		return api.AnyOfDependency{KeyPrefixes: []string{"config/interface/"}, KeySelector: isSelected}
	}
	return api.AnyOfDependency{KeyPrefixes: prefixes}
}

const selectedPrefix = "config/interface/selected"

func derivedFromA(key string) bool { return strings.HasPrefix(key, "d/a/") }
func isSelected(key string) bool   { return strings.HasPrefix(key, selectedPrefix) }

func itemDerived(_ string, it *model.Item) []api.KeyValuePair {
	var out []api.KeyValuePair
	for _, d := range it.Derived {
		out = append(out, api.KeyValuePair{Key: d.Key, Value: d.Item})
	}
	return out
}

// sameItem ignores the note and the derived values.
func sameItem(_ string, a, b *model.Item) bool {
	x, y := proto.Clone(a).(*model.Item), proto.Clone(b).(*model.Item)
	x.Note, y.Note, x.Derived, y.Derived = "", "", nil, nil
	return proto.Equal(x, y)
}

func validItem(_ string, it *model.Item) error {
	if it.Invalid {
		return api.NewInvalidValueError(errors.New("is invalid"), "invalid")
	}
	return nil
}

func (w *world) baseDescriptor(name string) *api.Descriptor[*model.Item, any] {
	d := w.derivedDescriptor()
	d.Name, d.KeySelector, d.NBKeyPrefix = name, hasPrefix(name+"/"), name+"/"
	d.WithMetadata = true
	d.DerivedValues = itemDerived
	d.RetrieveContext = func(context.Context, []api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
		return w.answer(name, w.retrieve)
	}
	switch name {
	case "a":
		if w.batches == 0 {
			w.withoutContexts(d)
		}
	case "b":
		d.Vacate = vacate
		d.ConcurrentRetrieve = true
		d.Concurrency = min(1, w.concurrency)
		d.RetrieveDependencies = []string{"a"}
	case "c": // cannot change anything in place, and lives in a session
		d.UpdateContext, d.UpdateWithRecreate = nil, nil
		d.Southbound, d.ConcurrentRetrieve = "s", true
	}
	if name != "b" {
		w.inBatches(d)
	}
	return d
}

// withoutContexts makes a descriptor of callbacks that take no context.
func (w *world) withoutContexts(d *api.Descriptor[*model.Item, any]) {
	create, update, remove, retrieve := d.CreateContext, d.UpdateContext, d.DeleteContext, d.RetrieveContext
	ctx := context.Background()
	d.CreateContext, d.UpdateContext, d.DeleteContext, d.RetrieveContext = nil, nil, nil, nil
	d.Create = func(key string, it *model.Item) (any, error) { return create(ctx, key, it) }
	d.Update = func(key string, old, it *model.Item, meta any) (any, error) { return update(ctx, key, old, it, meta) }
	d.Delete = func(key string, it *model.Item, meta any) error { return remove(ctx, key, it, meta) }
	d.Retrieve = func(correlate []api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
		return retrieve(ctx, correlate)
	}
}

func (w *world) derivedDescriptor() *api.Descriptor[*model.Item, any] {
	return &api.Descriptor[*model.Item, any]{
		Name: "d", KeySelector: hasPrefix("d/"),
		ValueComparator: sameItem, Validate: validItem, Dependencies: itemDeps,
		CreateContext: w.create, UpdateContext: w.update, DeleteContext: w.delete, Concurrency: w.concurrency,
		Identities:         func(_ string, it *model.Item) []string { return it.GetIdentities() },
		UpdateWithRecreate: func(_ string, a, b *model.Item, _ any) bool { return a.Recreate || b.Recreate },
	}
}
