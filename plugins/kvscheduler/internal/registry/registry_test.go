package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

func descriptor(name, prefix string, change ...func(*api.KVDescriptor)) *api.KVDescriptor {
	d := &api.KVDescriptor{
		Name: name, NBKeyPrefix: prefix,
		KeySelector: func(key string) bool { return strings.HasPrefix(key, prefix) },
		Create:      func(string, proto.Message) (api.Metadata, error) { return nil, nil },
		Delete:      func(string, proto.Message, api.Metadata) error { return nil },
	}
	for _, f := range change {
		f(d)
	}
	return d
}

// nothing is a callback for batches without effect.
func nothing(_ context.Context, values []api.KVBatchValue) []api.KVBatchResult {
	return make([]api.KVBatchResult, len(values))
}

func TestBrokenDescriptorsAreRefused(t *testing.T) {
	t.Parallel()
	retrieves := func(names ...string) func(*api.KVDescriptor) {
		return func(d *api.KVDescriptor) { d.RetrieveDependencies = names }
	}
	for name, test := range map[string]struct {
		descriptors []*api.KVDescriptor
		want        string
	}{
		"nil":         {[]*api.KVDescriptor{nil}, "descriptor is nil"},
		"no name":     {[]*api.KVDescriptor{descriptor("", "a/")}, "without a Name"},
		"no selector": {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) { d.KeySelector = nil })}, `"a": KeySelector is nil`},
		"no delete":   {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) { d.Delete = nil })}, `"a": Create without Delete`},
		"no create":   {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) { d.Create = nil })}, `"a": Delete without Create`},
		"both forms": {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) {
			d.DeleteContext = func(context.Context, string, proto.Message, api.Metadata) error { return nil }
		})}, `"a": Delete and DeleteContext are given: keep one of them`},
		"both forms, typed": {[]*api.KVDescriptor{api.Adapt(&api.Descriptor[*emptypb.Empty, int]{
			Name: "a", KeySelector: func(string) bool { return true },
			Retrieve: func([]api.KV[*emptypb.Empty, int]) ([]api.KV[*emptypb.Empty, int], error) { return nil, nil },
			RetrieveContext: func(context.Context, []api.KV[*emptypb.Empty, int]) ([]api.KV[*emptypb.Empty, int], error) {
				return nil, nil
			},
		})}, `"a": Retrieve and RetrieveContext are given`},
		"no delete with a context": {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) {
			d.Create, d.Delete = nil, nil
			d.CreateContext = func(context.Context, string, proto.Message) (api.Metadata, error) { return nil, nil }
		})}, `"a": Create without Delete`},
		"single and batch": {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) {
			d.Concurrency, d.CreateBatch = 2, nothing
		})}, `"a": Create and CreateBatch are given: keep one of them`},
		"batches one at a time": {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) {
			d.Concurrency, d.UpdateBatch = 1, nothing
		})}, `"a": Concurrency is 1 and a callback takes batches: expected 2 or more, because each value of a batch counts`},
		"no delete beside a batch": {[]*api.KVDescriptor{descriptor("a", "a/", func(d *api.KVDescriptor) {
			d.Concurrency, d.Create, d.CreateBatch, d.Delete = 2, nil, nothing, nil
		})}, `"a": Create without Delete`},
		"same name":      {[]*api.KVDescriptor{descriptor("a", "a/"), descriptor("a", "b/")}, "already exists"},
		"same keys":      {[]*api.KVDescriptor{descriptor("a", "a/"), descriptor("b", "a/")}, `"b": KeySelector overlaps descriptor "a"`},
		"wider keys":     {[]*api.KVDescriptor{descriptor("a", "a/b/"), descriptor("b", "a/")}, `both select "a/b/x"`},
		"retrieve self":  {[]*api.KVDescriptor{descriptor("a", "a/", retrieves("a"))}, "name the descriptor itself"},
		"retrieve cycle": {[]*api.KVDescriptor{descriptor("a", "a/", retrieves("b")), descriptor("b", "b/", retrieves("a"))}, "cycle: a -> b -> a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := registry.New(nil).With(test.descriptors)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, expected %q", err, test.want)
			}
		})
	}
}

func TestUnknownRetrieveDependencyIsFoundWhenAllAreRegistered(t *testing.T) {
	t.Parallel()
	first := descriptor("a", "a/", func(d *api.KVDescriptor) { d.RetrieveDependencies = []string{"b"} })
	r, err := registry.New(nil).With([]*api.KVDescriptor{first})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), `name "b", which is not registered`) {
		t.Errorf("check: %v", err)
	}
	if r, err = r.With([]*api.KVDescriptor{descriptor("b", "b/")}); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Errorf("check: %v", err)
	}
	if order := r.RetrieveOrder; order[0].Name != "b" {
		t.Errorf("b must be retrieved first, not %s", order[0].Name)
	}
}

func TestKeyClaimedTwice(t *testing.T) {
	t.Parallel()
	odd := func(key string) bool { return strings.HasSuffix(key, "/odd") }
	r, err := registry.New(nil).With([]*api.KVDescriptor{
		{Name: "x", KeySelector: odd}, {Name: "y", KeySelector: odd},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lookup("some/odd"); err == nil || !strings.Contains(err.Error(), `"x" and "y"`) {
		t.Errorf("got %v", err)
	}
}

// A value of a wrong type is invalid before any callback sees it.
func TestWrongTypeIsInvalid(t *testing.T) {
	t.Parallel()
	typed := api.Adapt(&api.Descriptor[*api.ValueStatus, int]{
		Name: "a", KeySelector: func(string) bool { return true },
		Create: func(string, *api.ValueStatus) (int, error) { return 0, nil },
		Delete: func(string, *api.ValueStatus, int) error { return nil },
	})
	r, err := registry.New(nil).With([]*api.KVDescriptor{typed})
	if err != nil {
		t.Fatal(err)
	}
	d := r.ByName("a")
	if v := r.Wanted("k", d, &emptypb.Empty{}); v.Invalid == nil || !errors.Is(v.Invalid, api.ErrPermanent) {
		t.Errorf("got %v", v.Invalid)
	}
	if v := r.Wanted("k", d, &api.ValueStatus{}); v.Invalid != nil {
		t.Errorf("got %v", v.Invalid)
	}
}
