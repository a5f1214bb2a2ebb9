package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// states is "key STATE" of all values with a prefix.
func states(c *engine.Engine, prefix string) string {
	var list []string
	for _, status := range c.ListValueStatus(prefix) {
		list = append(list, status.GetValue().GetKey()+" "+status.GetValue().GetState().String())
	}
	return strings.Join(list, ", ")
}

// notBegun are the keys that a deadline kept from being begun.
func notBegun(t *testing.T, err error) (keys []string) {
	t.Helper()
	var txn *api.TransactionError
	if !errors.As(err, &txn) {
		t.Fatalf("got %v", err)
	}
	for _, kv := range txn.GetKVErrors() {
		if !errors.Is(kv.Error, api.ErrTxnDeadline) {
			t.Errorf("%s: %v", kv.Key, kv.Error)
		}
		keys = append(keys, kv.Key)
	}
	return keys
}

// Every operation takes a second.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{0, 1, 2} {
		s := &slow{}
		inBubble(t, []*api.KVDescriptor{s.descriptor("a", concurrency)}, func(t *testing.T, c *engine.Engine) {
			set(t, c, "a/8", &model.Item{}, "a/9", &model.Item{})
			txn := c.StartNBTransaction().SetValue("a/8", nil)
			for i := range 4 {
				it := &model.Item{}
				if i == 3 {
					it.Deps = []string{"a/2"}
				}
				txn.SetValue(fmt.Sprintf("a/%d", i), it)
			}
			s.order = nil
			start := time.Now()
			deadline := 2500 * time.Millisecond // the removal and two more begin, at 0 s, 1 s and 2 s
			if concurrency == 2 {
				deadline = 1500 * time.Millisecond // or two at once
			}
			_, err := txn.Commit(t.Context(), api.WithTimeout(deadline), api.WithDeadline(start.Add(time.Hour)), api.WithRetryDefault())
			if keys := notBegun(t, err); !slices.Equal(keys, []string{"a/2"}) {
				t.Errorf("concurrency %d: not begun: %v", concurrency, keys)
			}
			if len(s.order) != 3 || time.Since(start) > 3*time.Second {
				t.Errorf("concurrency %d: after %v: %v", concurrency, time.Since(start), s.order)
			}
			if got, want := states(c, "a/"), "a/0 CONFIGURED, a/1 CONFIGURED, a/2 RETRYING, a/3 PENDING, a/9 CONFIGURED"; got != want {
				t.Errorf("concurrency %d: %s", concurrency, got)
			}
			time.Sleep(10 * time.Second) // of the bubble
			if got := states(c, "a/"); strings.Count(got, "CONFIGURED") != 5 {
				t.Errorf("concurrency %d, after the retry: %s", concurrency, got)
			}
		})
	}
}

// What exists stays as it is; what failed while the deadline passed is read.
func TestDeadlineOfRemovals(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("a", 0)}, func(t *testing.T, c *engine.Engine) {
		set(t, c, "a/0", &model.Item{}, "a/1", &model.Item{Deps: []string{"a/0"}})
		txn := c.StartNBTransaction().SetValue("a/0", nil).SetValue("a/1", nil)
		_, err := txn.Commit(t.Context(), api.WithTimeout(500*time.Millisecond))
		if keys := notBegun(t, err); !slices.Equal(keys, []string{"a/0"}) {
			t.Errorf("not begun: %v", keys)
		}
		if got := states(c, "a/"); got != "a/0 FAILED" {
			t.Errorf("got %s", got)
		}
		if got := c.GetValueStatus("a/0").GetValue(); got.GetError() != api.ErrTxnDeadline.Error() || got.GetLastOperation() != kvscheduler.TxnOperation_DELETE {
			t.Errorf("got %v", got)
		}
	})
}

// The way back has no deadline.
func TestDeadlineWithRevert(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("a", 0)}, func(t *testing.T, c *engine.Engine) {
		txn := c.StartNBTransaction()
		for i := range 3 {
			txn.SetValue(fmt.Sprintf("a/%d", i), &model.Item{})
		}
		_, err := txn.Commit(t.Context(), api.WithRevert(), api.WithTimeout(1500*time.Millisecond))
		var txnErr *api.TransactionError
		if !errors.As(err, &txnErr) || !txnErr.Reverted() || !errors.Is(err, api.ErrTxnDeadline) {
			t.Errorf("got %v", err)
		}
		if got := states(c, ""); got != "" {
			t.Errorf("left: %s", got)
		}
		if want := []string{"create a/0", "create a/1", "delete a/0", "delete a/1"}; len(s.order) != 4 || !slices.Equal(s.order[:2], want[:2]) {
			t.Errorf("got %v", s.order)
		}
	})
}

// A transaction whose turn comes too late is not executed.
func TestDeadlineInQueue(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("a", 0)}, func(t *testing.T, c *engine.Engine) {
		if _, err := c.StartNBTransaction().SetValue("a/0", &model.Item{}).Commit(t.Context(), api.WithoutBlocking()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err := c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context(), api.WithTimeout(time.Millisecond))
		if !errors.Is(err, api.ErrTxnDeadline) || !strings.Contains(err.Error(), "not started") || !strings.Contains(err.Error(), "1s in the queue") {
			t.Errorf("got %v", err)
		}
		if got := states(c, ""); got != "a/0 CONFIGURED" {
			t.Errorf("got %s", got)
		}
	})
}
