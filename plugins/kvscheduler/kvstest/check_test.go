package kvstest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

func good() *api.KVDescriptor { return NewMockSB().Descriptor("item", "item/", WithMetadata()) }

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	sb := NewMockSB()
	samples := []Sample{
		{"item/a", &model.Item{Value: 1}},
		{"item/b", &model.Item{Value: 1, Note: "equivalent", Deps: []string{"item/a"}, AnyOf: []string{"item/"}}},
		{"item/c", &model.Item{Value: 2, Invalid: true, Derived: []*model.Derived{{Key: "piece/1"}}}},
	}
	CheckSamples(t, samples, sb.Descriptor("item", "item/"), sb.Descriptor("piece", "piece/", Derived()))
}

// Every promise has a descriptor that breaks it.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	a := Sample{"item/a", &model.Item{Value: 1}}
	b := Sample{"item/b", &model.Item{Value: 2}}
	c := Sample{"item/c", &model.Item{Value: 3}}
	count := 0
	for want, spoil := range map[string]func(d *api.KVDescriptor){
		"foreign key":           func(d *api.KVDescriptor) { d.KeySelector = func(k string) bool { return strings.Contains(k, "item/") } },
		"Create without Delete": func(d *api.KVDescriptor) { d.Delete = nil },
		"panic for key": func(d *api.KVDescriptor) {
			d.Dependencies = func(string, proto.Message) []api.Dependency { panic("x") }
		},
		"not pure": func(d *api.KVDescriptor) {
			d.KeyLabel = func(k string) string { count++; return fmt.Sprint(k, count) }
		},
		"Validate is not pure": func(d *api.KVDescriptor) {
			d.Validate = func(string, proto.Message) error { count++; return fmt.Errorf("%d", count) }
		},
		"same label":       func(d *api.KVDescriptor) { d.KeyLabel = func(string) string { return "one" } },
		"given twice":      dependsOn(api.Dependency{Label: "x", Key: "a"}, api.Dependency{Label: "x", Key: "b"}),
		"no Label":         dependsOn(api.Dependency{Key: "a"}),
		"neither Key nor":  dependsOn(api.Dependency{Label: "x"}),
		"both Key and":     dependsOn(api.Dependency{Label: "x", Key: "a", AnyOf: api.AnyOfDependency{KeyPrefixes: []string{"b"}}}),
		"the value itself": dependsOn(api.Dependency{Label: "x", Key: "item/a"}),
		"is nil":           derives(api.KeyValuePair{Key: "p"}),
		"has no key":       derives(api.KeyValuePair{Value: &model.Item{}}),
		"taken twice":      derives(api.KeyValuePair{Key: "p", Value: &model.Item{}}, api.KeyValuePair{Key: "p", Value: &model.Item{}}),
		"changed the value": func(d *api.KVDescriptor) {
			d.Validate = func(_ string, m proto.Message) error { m.(*model.Item).Value++; return nil }
		},
		"not equal itself":   compares(func(x, y int64) bool { return false }),
		"makes a difference": compares(func(x, y int64) bool { return x <= y }),
		"not transitive":     compares(func(x, y int64) bool { return x-y < 2 && y-x < 2 }),
		"ValueTypeName":      func(d *api.KVDescriptor) { d.ValueTypeName = "no.such.Type" },
	} {
		d := good()
		spoil(d)
		problems := append(check([]*api.KVDescriptor{d}), checkSamples([]Sample{a, b, c}, []*api.KVDescriptor{d})...)
		if err := errors.Join(problems...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got: %v", want, err)
		}
	}
	if err := errors.Join(checkSamples([]Sample{{"other/a", a.Value}}, []*api.KVDescriptor{good()})...); err == nil {
		t.Error("a sample without a descriptor is accepted")
	}
}

func dependsOn(deps ...api.Dependency) func(*api.KVDescriptor) {
	return func(d *api.KVDescriptor) {
		d.Dependencies = func(string, proto.Message) []api.Dependency { return deps }
	}
}

func derives(kvs ...api.KeyValuePair) func(*api.KVDescriptor) {
	return func(d *api.KVDescriptor) {
		d.DerivedValues = func(string, proto.Message) []api.KeyValuePair { return kvs }
	}
}

func compares(equal func(x, y int64) bool) func(*api.KVDescriptor) {
	return func(d *api.KVDescriptor) {
		d.ValueComparator = func(_ string, x, y proto.Message) bool {
			return equal(x.(*model.Item).Value, y.(*model.Item).Value)
		}
	}
}

func TestExercise(t *testing.T) {
	t.Parallel()
	lenient := func() *api.KVDescriptor { // deletes what is gone
		d := good()
		strict := d.Delete
		d.Delete = func(key string, v proto.Message, m api.Metadata) error {
			if err := strict(key, v, m); err != nil && !strings.Contains(err.Error(), "does not exist") {
				return err
			}
			return nil
		}
		return d
	}
	one, two := &model.Item{Value: 1}, &model.Item{Value: 2}
	Exercise(t, lenient(), "item/a", one, two)
	if err := exercise(t.Context(), good(), "item/a", one, two); err == nil || !strings.Contains(err.Error(), "delete of what is gone") {
		t.Errorf("strict delete: %v", err)
	}
	forgetful := lenient()
	forgetful.Update = func(string, proto.Message, proto.Message, api.Metadata) (api.Metadata, error) { return nil, nil }
	if err := exercise(t.Context(), forgetful, "item/a", one, two); err == nil || !strings.Contains(err.Error(), "after update: retrieve differs") {
		t.Errorf("update without effect: %v", err)
	}
	blind := lenient()
	blind.Retrieve = func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) { return nil, nil }
	if err := exercise(t.Context(), blind, "item/a", one, nil); err == nil || !strings.Contains(err.Error(), "does not find") {
		t.Errorf("retrieve of nothing: %v", err)
	}
}
