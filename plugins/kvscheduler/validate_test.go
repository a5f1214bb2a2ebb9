package kvscheduler_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// Validation on demand sees the keys that the values will have, so that a
// descriptor may compare the two; a descriptor without a model sees its prefix.
func TestValidationSeesKeys(t *testing.T) {
	t.Parallel()
	tap := models.New(models.Spec{Module: "test", Version: "v1", Type: "tap"}, (*model.Item).GetNote)
	seen := map[string]string{} // by descriptor
	describe := func(name string, only func(key string) bool) *api.KVDescriptor {
		return api.Adapt(api.Describe(tap, api.Descriptor[*model.Item, any]{
			Name: name, KeySelector: only,
			Validate: func(key string, _ *model.Item) error {
				seen[name] = key
				return errors.New(name + " refuses " + key)
			},
		}))
	}
	odd := func(key string) bool { return tap.Matches(key) && strings.HasSuffix(key, "odd") }
	even := func(key string) bool { return tap.Matches(key) && !odd(key) }
	noModel := api.Adapt(&api.Descriptor[*wrapperspb.StringValue, any]{
		Name: "text", NBKeyPrefix: "text/", KeySelector: func(key string) bool { return strings.HasPrefix(key, "text/") },
		Validate: func(key string, _ *wrapperspb.StringValue) error { seen["text"] = key; return nil },
		Create:   func(string, *wrapperspb.StringValue) (any, error) { return nil, nil },
		Delete:   func(string, *wrapperspb.StringValue, any) error { return nil },
	})
	s, _ := kvstest.NewScheduler(t, nil)
	oddOnes := describe("odd", odd)
	oddOnes.NBKeyPrefix += "odd" // every descriptor needs its own
	if err := s.RegisterKVDescriptor(oddOnes, describe("even", even), noModel); err != nil {
		t.Fatal(err)
	}
	for note, want := range map[string]string{"1odd": "odd", "2": "even"} {
		clear(seen)
		err := s.ValidateSemantically([]proto.Message{&model.Item{Note: note}})
		key := "config/test/v1/tap/" + note
		if err == nil || !strings.Contains(err.Error(), want+" refuses "+key) || len(seen) != 1 || seen[want] != key {
			t.Errorf("%s: the descriptors saw %v, error %v", note, seen, err)
		}
	}
	// An item without a name has no key of its own; it is not passed over.
	clear(seen)
	if err := s.ValidateSemantically([]proto.Message{&model.Item{}}); err == nil || seen["even"] != tap.KeyPrefix() {
		t.Errorf("without a name: the descriptors saw %v, error %v", seen, err)
	}
	if err := s.ValidateSemantically([]proto.Message{wrapperspb.String("x")}); err != nil || seen["text"] != "text/" {
		t.Errorf("without a model: the descriptors saw %v, error %v", seen, err)
	}
	if key, ok := api.KeyOf(oddOnes, wrapperspb.String("x")); ok {
		t.Errorf("a message of another type has the key %s", key)
	}
}
