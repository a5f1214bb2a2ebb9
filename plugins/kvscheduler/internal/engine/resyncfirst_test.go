package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// TestResyncFirst: a southbound that connects before the first full resync is read once,
// by that or by the first task that depends on what exists. A barrier waits for that.
func TestResyncFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then  func(t *testing.T, c *engine.Engine)
		reads int
	}{
		"full resync": {func(t *testing.T, c *engine.Engine) {
			if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.FullResync, false)); err != nil {
				t.Error(err)
			}
		}, 1},
		"downstream resync": {func(t *testing.T, c *engine.Engine) {
			if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
				t.Error(err)
			}
		}, 1},
		"transaction": {func(t *testing.T, c *engine.Engine) { set(t, c, "a/1", &model.Item{Value: 1}) }, 1},
		"plan": {func(t *testing.T, c *engine.Engine) {
			if _, err := c.StartNBTransaction().SetValue("a/1", &model.Item{}).Plan(t.Context()); err != nil {
				t.Error(err)
			}
		}, 1},
		"notification": {func(t *testing.T, c *engine.Engine) {
			if err := c.PushSBNotification(api.KVWithMetadata{Key: "a/1", Value: &model.Item{}}); err != nil {
				t.Error(err)
			}
			set(t, c, "a/2", &model.Item{})
		}, 1},
		"disconnect": {func(t *testing.T, c *engine.Engine) { c.SouthboundDown("s", errors.New("gone")) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := 0
			d := api.Adapt(&api.Descriptor[*model.Item, any]{
				Name: "a", NBKeyPrefix: "a/", KeySelector: hasPrefix("a/"), Southbound: "s",
				Create: func(string, *model.Item) (any, error) { return nil, nil },
				Delete: func(string, *model.Item, any) error { return nil },
				Retrieve: func([]api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
					reads++
					return nil, nil
				},
			})
			inBubbleWith(t, engine.Options{ResyncFirst: true}, []*api.KVDescriptor{d}, func(t *testing.T, e *engine.Engine) {
				e.SouthboundUp("s", 1)
				passed := make(chan struct{})
				go func() {
					e.TransactionBarrier()
					close(passed)
				}()
				synctest.Wait()
				select {
				case <-passed:
					t.Error("the barrier did not wait for the southbound to be read")
				default:
				}
				if reads != 0 {
					t.Errorf("%d reads when the southbound connected", reads)
				}
				c.then(t, e)
				<-passed
				if reads != c.reads {
					t.Errorf("%d reads, expected %d", reads, c.reads)
				}
				e.SouthboundDown("s", errors.New("gone"))
				e.SouthboundUp("s", 2)
				if c.reads > 0 { // a transaction was executed
					e.TransactionBarrier()
					if reads != c.reads+1 {
						t.Errorf("%d reads after the next connect, expected %d", reads, c.reads+1)
					}
				}
			})
		})
	}
}

// TestWaitForTransactionsEndsWithItsContext checks that a caller can stop waiting for a
// southbound that no full resync has read yet.
func TestWaitForTransactionsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	inBubbleWith(t, engine.Options{ResyncFirst: true}, nil, func(t *testing.T, e *engine.Engine) {
		e.SouthboundUp("s", 1)
		ended := errors.New("the session ended")
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error)
		go func() { got <- e.WaitForTransactions(ctx) }()
		synctest.Wait()
		cancel(ended)
		if err := <-got; !errors.Is(err, ended) {
			t.Errorf("error %v, expected %v", err, ended)
		}
	})
}
