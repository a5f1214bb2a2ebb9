package kvstest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// lenient is a descriptor as it should be: what is gone is deleted with success.
func lenient(sb *MockSB, name, prefix string, opts ...DescriptorOption) *api.KVDescriptor {
	d := sb.Descriptor(name, prefix, opts...)
	if batch := d.DeleteBatch; batch != nil {
		d.DeleteBatch = func(ctx context.Context, values []api.KVBatchValue) []api.KVBatchResult {
			results := batch(ctx, values)
			for i, v := range values {
				if sb.Get(v.Key) == nil {
					results[i].Err = nil
				}
			}
			return results
		}
		return d
	}
	strict := d.Delete
	d.Delete = func(key string, v proto.Message, m api.Metadata) error {
		if sb.Get(key) == nil {
			return nil
		}
		return strict(key, v, m)
	}
	return d
}

func items() []Sample {
	return []Sample{
		{"item/a", &model.Item{Value: 1, Deps: []string{"base/x"}}},
		{"item/a", &model.Item{Value: 2, Deps: []string{"base/x"}}},
		{"item/a", &model.Item{Value: 3, Recreate: true, Deps: []string{"base/x"}}},
		{"item/b", &model.Item{Value: 1, Deps: []string{"item/a"}, Derived: []*model.Derived{{Key: "piece/b"}}}},
	}
}

// unrelated are values that are ready together.
func unrelated() []Sample {
	return []Sample{{"item/c", &model.Item{Value: 4}}, {"item/d", &model.Item{Value: 5}}, {"item/d", &model.Item{Value: 6}}}
}

func TestConform(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]DescriptorOption{
		"metadata":       {WithMetadata()},
		"plain":          nil,
		"without-update": {WithoutUpdate()},
		"batches":        {WithMetadata(), WithBatches(8)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sb := NewMockSB()
			sb.Put("item/foreign", &model.Item{Value: 9})
			Conform(t, lenient(sb, "item", "item/", opts...), append(items(), unrelated()...),
				Alongside([]Sample{{"base/x", &model.Item{}}}, lenient(sb, "base", "base/"), lenient(sb, "piece", "piece/", Derived())))
			if got := sb.String(); got != "item/foreign { value:9 } foreign\n" {
				t.Errorf("left in the southbound: %s", got)
			}
		})
	}
}

// Every promise has a descriptor that breaks it, and a step that shows it.
func TestConformFinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step, want string
		spoil      func(sb *MockSB, d *api.KVDescriptor)
	}{
		"update without effect": {"life", "after change 1 of item/a: Retrieve of item/a differs from the configured value", func(_ *MockSB, d *api.KVDescriptor) {
			d.Update = func(_ string, _, _ proto.Message, m api.Metadata) (api.Metadata, error) { return m, nil }
		}},
		"delete without effect": {"life", "change 2 of item/a: create item/a: item/a exists already", func(_ *MockSB, d *api.KVDescriptor) {
			d.Delete = func(string, proto.Message, api.Metadata) error { return nil }
		}},
		"strict delete": {"idempotent", "delete of item/b, which is gone already", func(sb *MockSB, d *api.KVDescriptor) {
			d.Delete = sb.Descriptor("item", "item/").Delete
		}},
		"retrieve makes things up": {"idempotent", "if both mean the same, ValueComparator must say so", func(sb *MockSB, d *api.KVDescriptor) {
			d.ValueComparator = func(_ string, a, b proto.Message) bool { return false }
			retrieve := d.Retrieve
			d.Retrieve = func(correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error) { return retrieve(nil) }
		}},
		"retrieve by memory": {"restart", "after a restart the scheduler has to: ", func(sb *MockSB, d *api.KVDescriptor) {
			retrieve := d.Retrieve
			d.Retrieve = func(correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error) {
				found, err := retrieve(correlate)
				return slices.DeleteFunc(found, func(api.KVWithMetadata) bool { return len(correlate) == 0 || correlate[0].Metadata == nil }), err
			}
		}},
		"create is not atomic": {"faults", "item/a", func(sb *MockSB, d *api.KVDescriptor) {
			retrieve := d.Retrieve
			d.Retrieve = func(correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error) {
				found, err := retrieve(correlate) // sees only what it knows already
				return slices.DeleteFunc(found, func(kv api.KVWithMetadata) bool {
					return !slices.ContainsFunc(correlate, func(e api.KVWithMetadata) bool { return e.Key == kv.Key && e.Metadata != nil })
				}), err
			}
		}},
		"results of other values": {"together", "item/", func(_ *MockSB, d *api.KVDescriptor) {
			one := d.WithContexts().CreateContext
			d.Concurrency, d.Create, d.CreateBatch = 2, nil, func(ctx context.Context, values []api.KVBatchValue) []api.KVBatchResult {
				results := make([]api.KVBatchResult, len(values))
				for i, v := range values {
					results[len(values)-1-i].Metadata, results[i].Err = one(ctx, v.Key, v.New)
				}
				return results
			}
		}},
		"too few results": {"together", `descriptor "item": DeleteBatch returned 1 results for 2 values`, func(_ *MockSB, d *api.KVDescriptor) {
			one := d.WithContexts().DeleteContext
			d.Concurrency, d.Delete, d.DeleteBatch = 2, nil, func(ctx context.Context, values []api.KVBatchValue) []api.KVBatchResult {
				for _, v := range values {
					_ = one(ctx, v.Key, v.Old, v.Metadata)
				}
				return make([]api.KVBatchResult, 1)
			}
		}},
		"a dependency is missing": {"life", "item/a is PENDING, it waits for base/y: give that with Alongside", func(_ *MockSB, d *api.KVDescriptor) {
			d.Dependencies = func(string, proto.Message) []api.Dependency {
				return []api.Dependency{{Label: "base/y", Key: "base/y"}}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sb := NewMockSB()
			d := lenient(sb, "item", "item/", WithMetadata())
			c.spoil(sb, d)
			others := Alongside([]Sample{{"base/x", &model.Item{}}}, lenient(sb, "base", "base/"), lenient(sb, "piece", "piece/", Derived()))
			samples := items()
			if c.step == "together" {
				samples = append(samples, unrelated()...)
			}
			conf := newConformance(d, samples, []ConformOption{others})
			i := slices.IndexFunc(conformSteps, func(s conformStep) bool { return s.name == c.step })
			if err := conf.run(t, conformSteps[i].run); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got: %v", c.want, err)
			}
		})
	}
}

func TestFaulty(t *testing.T) {
	t.Parallel()
	sb := NewMockSB()
	var faults Faults
	d := Faulty(sb.Descriptor("item", "item/", WithoutUpdate()), &faults)
	if d.UpdateContext != nil || d.RetrieveValueContext != nil {
		t.Error("callbacks from nowhere")
	}
	one := &model.Item{Value: 1}
	faults.Inject(Fault{Op: pb.TxnOperation_CREATE, Key: "item/*", Times: 1})
	faults.Inject(Fault{Op: pb.TxnOperation_CREATE, Key: "item/*", Times: 1, After: true})
	faults.Inject(Fault{Op: Retrieve, Key: "item"})
	for i, exists := range []bool{false, true} {
		if _, err := d.CreateContext(t.Context(), "item/a", one); err == nil || sb.Get("item/a") != nil != exists {
			t.Errorf("create %d: %v, %s", i, err, sb)
		}
	}
	if _, err := d.RetrieveContext(t.Context(), nil); err == nil {
		t.Error("retrieve")
	}
	faults.Heal()
	if found, err := d.RetrieveContext(t.Context(), nil); err != nil || len(found) != 1 {
		t.Errorf("retrieve: %v, %v", found, err)
	}
	want := []string{"create item/a", "create item/a", "retrieve item", "retrieve item"}
	if got := faults.TakeCalls(); !slices.Equal(got, want) {
		t.Errorf("calls %q", got)
	}
}

func TestGuide(t *testing.T) {
	t.Parallel()
	RunScripts(t, "testdata/guide.txtar", MockWorld)
}
