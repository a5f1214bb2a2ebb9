package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// A transaction sees the notifications that were pushed before its Commit, although
// transactions overtake notifications in the queue.
func TestNewsBeforeCommit(t *testing.T) {
	t.Parallel()
	came, gone := api.KVWithMetadata{Key: "n/1", Value: &model.Item{}}, api.KVWithMetadata{Key: "n/1"}
	for _, test := range []struct {
		name  string
		known []api.KVWithMetadata // before
		news  api.KVWithMetadata
		value *model.Item
		want  string // when Commit returns; empty: the news come later
	}{
		{"came", nil, came, &model.Item{Deps: []string{"n/1"}}, "a/1 CONFIGURED, n/1 OBTAINED"},
		{"came, any of several", nil, came, &model.Item{AnyOf: []string{"n/"}}, "a/1 CONFIGURED, n/1 OBTAINED"},
		{"came, and meets a dependency", nil, came, &model.Item{Deps: []string{"a/2"}}, "a/1 CONFIGURED, a/2 CONFIGURED, n/1 OBTAINED"},
		{"gone", []api.KVWithMetadata{came}, gone, &model.Item{Deps: []string{"n/1"}}, "a/1 PENDING"},
		{"gone, any of several", []api.KVWithMetadata{came}, gone, &model.Item{AnyOf: []string{"n/"}}, "a/1 PENDING"},
		{"of no interest", nil, came, &model.Item{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &slow{}
			told := api.Adapt(&api.Descriptor[*model.Item, any]{Name: "n", KeySelector: hasPrefix("n/")})
			inBubbleWith(t, engine.Options{Record: true, QueueAgeing: time.Minute}, []*api.KVDescriptor{s.descriptor("a", 0), told}, func(t *testing.T, c *engine.Engine) {
				if err := c.PushSBNotification(test.known...); err != nil {
					t.Fatal(err)
				}
				if len(test.value.Deps) > 0 && test.value.Deps[0] == "a/2" {
					set(t, c, "a/2", &model.Item{Deps: []string{"n/1"}})
				}
				c.TransactionBarrier()
				if _, err := c.StartNBTransaction().SetValue("a/0", &model.Item{}).Commit(t.Context(), api.WithoutBlocking()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // it is being executed, for a second
				if err := c.PushSBNotification(test.news); err != nil {
					t.Fatal(err)
				}
				set(t, c, "a/1", test.value)
				if got := states(c, ""); test.want != "" && got != "a/0 CONFIGURED, "+test.want {
					t.Errorf("got %s", got)
				}
				c.TransactionBarrier()
				history := c.GetTransactionHistory(time.Time{}, time.Time{})
				if last := history[len(history)-1].TxnType; (last == api.SBNotification) != (test.want == "") {
					t.Errorf("the last one is a %v", last)
				}
			})
		})
	}
}

// TestSelectorDuringCommit: while a selector of a plugin runs, other goroutines can send
// notifications, commit and look at the queue.
func TestSelectorDuringCommit(t *testing.T) {
	t.Parallel()
	s := &slow{}
	var scheduler *engine.Engine
	queues := 0
	chooser := api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "chooser", KeySelector: hasPrefix("c/"), NBKeyPrefix: "c/",
		Create: func(string, *model.Item) (any, error) { return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
		Dependencies: func(string, *model.Item) []api.Dependency {
			return []api.Dependency{{Label: "any", AnyOf: api.AnyOfDependency{KeySelector: func(key string) bool {
				scheduler.Queue() // takes the lock of the queue
				queues++
				return key == "n/1"
			}}}}
		},
	})
	told := api.Adapt(&api.Descriptor[*model.Item, any]{Name: "n", KeySelector: hasPrefix("n/")})
	opts := engine.Options{QueueAgeing: time.Minute}
	inBubbleWith(t, opts, []*api.KVDescriptor{s.descriptor("a", 0), chooser, told}, func(t *testing.T, c *engine.Engine) {
		scheduler = c
		if err := c.PushSBNotification(api.KVWithMetadata{Key: "n/0", Value: &model.Item{}}, api.KVWithMetadata{Key: "n/1", Value: &model.Item{}}); err != nil {
			t.Fatal(err)
		}
		c.TransactionBarrier()
		if _, err := c.StartNBTransaction().SetValue("a/0", &model.Item{}).Commit(t.Context(), api.WithoutBlocking()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it is being executed, for a second
		if err := c.PushSBNotification(api.KVWithMetadata{Key: "n/2", Value: &model.Item{}}); err != nil {
			t.Fatal(err)
		}
		set(t, c, "c/1", &model.Item{})
		if queues == 0 {
			t.Error("the selector was not called")
		}
	})
}
