package engine_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// TestRestartWritesNothing: what is right after a restart is not written to the journal
// again, also where the southbound returns it with details filled in.
func TestRestartWritesNothing(t *testing.T) {
	t.Parallel()
	journal, made := kvstest.NewJournal(), 0
	descriptor := func() *api.KVDescriptor {
		return api.Adapt(&api.Descriptor[*model.Item, any]{
			Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/",
			ValueComparator: func(_ string, a, b *model.Item) bool { return a.GetValue() == b.GetValue() },
			Create:          func(string, *model.Item) (any, error) { made++; return nil, nil },
			Delete:          func(string, *model.Item, any) error { return nil },
			Retrieve: func([]api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
				if made > 0 {
					found = append(found, api.KV[*model.Item, any]{Key: "a/1", Value: &model.Item{Value: 1, Note: "filled in"}})
				}
				return found, nil
			},
		})
	}
	for run, expected := range []int{2, 0, 0} { // before and after the Create of the first run
		before := journal.Writes()
		inBubbleWith(t, engine.Options{Journal: journal}, []*api.KVDescriptor{descriptor()}, func(t *testing.T, c *engine.Engine) {
			// The southbound is read before the northbound says what it wants.
			if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
				t.Fatal(err)
			}
			txn := c.StartNBTransaction().SetValue("a/1", &model.Item{Value: 1})
			if _, err := txn.Commit(t.Context(), api.WithResync(api.FullResync, false)); err != nil {
				t.Fatal(err)
			}
		})
		if writes := journal.Writes() - before; writes != expected {
			t.Errorf("run %d wrote %d times, expected %d", run, writes, expected)
		}
	}
	if made != 1 {
		t.Errorf("Create was called %d times, expected once", made)
	}
}
