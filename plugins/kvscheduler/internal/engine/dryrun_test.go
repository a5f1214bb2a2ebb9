package engine_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// A plan changes nothing: neither what is known to be wrong with a value, nor, with the policy observe,
// what was read.
func TestPlanChangesNothing(t *testing.T) {
	t.Parallel()
	d := api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/",
		Create: func(string, *model.Item) (any, error) { return nil, nil },
		Update: func(string, *model.Item, *model.Item, any) (any, error) { return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
		DerivedValues: func(key string, v *model.Item) (derived []api.KeyValuePair) {
			if v.GetNote() == "bad" {
				twice := api.KeyValuePair{Key: key + "/derived", Value: &model.Item{}}
				derived = append(derived, twice, twice)
			}
			return derived
		},
	})
	problems := func(c *engine.Engine, key string) string {
		return strings.Join(c.GetValueStatus(key).GetValue().GetDetails(), ", ")
	}
	inBubbleWith(t, engine.Options{}, []*api.KVDescriptor{d}, func(t *testing.T, c *engine.Engine) {
		set(t, c, "a/1", &model.Item{Note: "good"}, "a/2", &model.Item{Note: "bad"})
		good, bad, counts := problems(c, "a/1"), problems(c, "a/2"), c.CountViolations()["a"]
		if !strings.Contains(bad, "twice") || strings.Contains(good, "twice") {
			t.Fatalf("a/1: %q, a/2: %q", good, bad)
		}
		txn := c.StartNBTransaction().SetValue("a/1", &model.Item{Note: "bad"}).SetValue("a/2", &model.Item{Note: "good"})
		if _, err := txn.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := problems(c, "a/1"); got != good {
			t.Errorf("the plan of a bad value: %q", got)
		}
		if got := problems(c, "a/2"); got != bad {
			t.Errorf("the plan of a good value: %q, expected %q", got, bad)
		}
		if got := c.CountViolations()["a"]; got != counts {
			t.Errorf("%d violations, expected %d", got, counts)
		}
		set(t, c, "a/1", &model.Item{Note: "bad"}, "a/2", &model.Item{Note: "good"})
		if good, bad := problems(c, "a/2"), problems(c, "a/1"); !strings.Contains(bad, "twice") || strings.Contains(good, "twice") {
			t.Errorf("after the commit: a/1: %q, a/2: %q", bad, good)
		}
	})

	reads := 0
	watched := api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/",
		Create: func(string, *model.Item) (any, error) { return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
		Retrieve: func([]api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
			reads++
			return nil, nil
		},
	})
	policies := func(*api.KVDescriptor, string) registry.Policy { return registry.Observe }
	inBubbleWith(t, engine.Options{Policies: policies}, []*api.KVDescriptor{watched}, func(t *testing.T, c *engine.Engine) {
		if _, err := c.StartNBTransaction().SetValue("a/1", &model.Item{}).Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := c.RetriesPending(); reads != 0 || n > 0 {
			t.Errorf("a plan reads %d times and leaves %d timers", reads, n)
		}
	})
}
