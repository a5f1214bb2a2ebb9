package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// The southbound goes down while a value is removed, and then the process is killed. The
// next one knows that the value is not desired before the southbound is up. The value is
// removed when its trial comes.
func TestSuspectOfAnEarlierRunIsNotDesired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal, exists, dies := kvstest.NewJournal(), false, false
		run := func() *engine.Engine {
			c := engine.New(engine.Options{QuarantineAfter: 3, Journal: journal})
			runWith(t, c, api.Adapt(&api.Descriptor[*model.Item, any]{
				Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s",
				Create: func(string, *model.Item) (any, error) {
					exists = true
					return nil, nil
				},
				Delete: func(string, *model.Item, any) error {
					if dies {
						c.SouthboundDown("s", errConnection)
						return errConnection
					}
					exists = false
					return nil
				},
				Retrieve: func([]api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
					if exists {
						found = append(found, api.KV[*model.Item, any]{Key: "a/1", Value: &model.Item{}, Origin: api.FromNB})
					}
					return found, nil
				},
			}))
			return c
		}
		c := run()
		c.SouthboundUp("s", 1)
		_, _ = c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context())
		dies = true
		_, _ = c.StartNBTransaction().SetValue("a/1", nil).Commit(t.Context())
		c.TransactionBarrier()
		if !exists || len(c.Suspects()) != 1 {
			t.Fatalf("exists %v, suspects %v", exists, c.Suspects())
		}

		dies = false
		c = run()
		if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.FullResync, false)); err != nil {
			t.Fatal(err)
		}
		c.SouthboundUp("s", 1)
		time.Sleep(time.Minute) // of the fake clock
		c.TransactionBarrier()
		if exists || len(c.Suspects()) != 0 {
			t.Errorf("exists %v, suspects %v", exists, c.Suspects())
		}
	})
}

// A southbound that may have lost its state, without having been down, did not crash: what failed
// meanwhile, since it was gone, is neither suspected nor pinned. An operator deletes a network
// namespace, for example.
func TestLostStateIsNoCrash(t *testing.T) {
	t.Parallel()
	c, exists, lost := engine.New(engine.Options{QuarantineAfter: 1}), map[string]bool{}, true
	runWith(t, c, api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s",
		Create: func(key string, _ *model.Item) (any, error) {
			if lost {
				lost = false
				c.SouthboundUp("s", 2)
				return nil, errConnection
			}
			exists[key] = true
			return nil, nil
		},
		Delete: func(key string, _ *model.Item, _ any) error {
			delete(exists, key)
			return nil
		},
		Retrieve: func([]api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
			for key := range exists {
				found = append(found, api.KV[*model.Item, any]{Key: key, Value: &model.Item{}, Origin: api.FromNB})
			}
			return found, nil
		},
	}))
	c.SouthboundUp("s", 1)
	_, _ = c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context())
	c.TransactionBarrier()
	if !exists["a/1"] || len(c.Suspects()) != 0 {
		t.Errorf("exists %v, suspects %v; expected a/1 and none", exists, c.Suspects())
	}
	if _, err := c.StartNBTransaction().SetValue("a/1", nil).Commit(t.Context()); err != nil || exists["a/1"] {
		t.Errorf("delete: %v, exists %v", err, exists)
	}
}
