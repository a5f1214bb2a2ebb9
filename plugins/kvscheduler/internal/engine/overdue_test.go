package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// stuck is a southbound in which the creation of some keys takes a long time.
type stuck struct {
	slow
	takes map[string]time.Duration
}

func (s *stuck) descriptor(name string, concurrency int) *api.KVDescriptor {
	d := s.slow.descriptor(name, concurrency)
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: name, KeySelector: d.KeySelector, NBKeyPrefix: d.NBKeyPrefix, Concurrency: concurrency, Dependencies: itemDeps,
		Create: func(key string, it *model.Item) (any, error) {
			time.Sleep(s.takes[key])
			return d.Create(key, it)
		},
		Delete: func(key string, it *model.Item, _ any) error { return d.Delete(key, it, nil) },
	})
}

// impatient runs f with a scheduler that waits 30 s of virtual time.
func impatient(t *testing.T, told func([]exec.Call), descriptors []*api.KVDescriptor, f func(t *testing.T, c *engine.Engine, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := engine.New(engine.Options{CallbackTimeout: 30 * time.Second, Conditions: &conditions{hanging: told}})
		if err := c.RegisterKVDescriptor(descriptors...); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		stop := func() { cancel(); <-done }
		defer stop()
		f(t, c, stop)
	})
}

// runWith runs a scheduler until the test ends.
func runWith(t *testing.T, c *engine.Engine, descriptors ...*api.KVDescriptor) {
	t.Helper()
	if err := c.RegisterKVDescriptor(descriptors...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// A callback that hangs only costs its time limit: concurrent and later operations
// continue, and its late effect is recorded although it cannot be read.
func TestHangingCallback(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{0, 1, 4} {
		s := &stuck{takes: map[string]time.Duration{"a/2": time.Minute}}
		var mu sync.Mutex
		var hanging []int
		told := func(calls []exec.Call) {
			mu.Lock()
			defer mu.Unlock()
			hanging = append(hanging, len(calls))
		}
		impatient(t, told, []*api.KVDescriptor{s.descriptor("a", concurrency)}, func(t *testing.T, c *engine.Engine, _ func()) {
			txn := c.StartNBTransaction()
			for _, key := range []string{"a/1", "a/2", "a/3", "a/4"} {
				txn.SetValue(key, &model.Item{})
			}
			start := time.Now()
			_, err := txn.Commit(t.Context(), api.WithRetryDefault())
			if took := time.Since(start); took < 30*time.Second || took > 34*time.Second {
				t.Errorf("concurrency %d: took %v", concurrency, took)
			}
			if !errors.Is(err, api.ErrCallbackTimeout) || !strings.Contains(err.Error(), `descriptor "a": Create did not return within 30s`) {
				t.Errorf("got %v", err)
			}
			states := map[string]kvscheduler.ValueState{"a/1": kvscheduler.ValueState_CONFIGURED, "a/2": kvscheduler.ValueState_RETRYING,
				"a/3": kvscheduler.ValueState_CONFIGURED, "a/4": kvscheduler.ValueState_CONFIGURED}
			for key, want := range states {
				if got := c.GetValueStatus(key).GetValue().GetState(); got != want {
					t.Errorf("concurrency %d: %s is %v, expected %v", concurrency, key, got, want)
				}
			}
			time.Sleep(time.Minute)
			c.TransactionBarrier()
			if got := c.GetValueStatus("a/2").GetValue().GetState(); got != kvscheduler.ValueState_CONFIGURED {
				t.Errorf("concurrency %d: after its return a/2 is %v", concurrency, got)
			}
			if n := len(s.order); n != 4 {
				t.Errorf("concurrency %d: %d creations, expected one for each: %v", concurrency, n, s.order)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(hanging, []int{1, 0}) || c.Timeouts()["a"] != 1 {
				t.Errorf("told of %v, counted %v", hanging, c.Timeouts())
			}
		})
	}
}

// The time limit of a descriptor is its own.
func TestTimeoutOfADescriptor(t *testing.T) {
	t.Parallel()
	s := &stuck{takes: map[string]time.Duration{"fast/1": 10 * time.Second, "slow/1": time.Hour}}
	fast, slow := s.descriptor("fast", 1), s.descriptor("slow", 1)
	fast.Timeout, slow.Timeout = 5*time.Second, -1
	impatient(t, nil, []*api.KVDescriptor{fast, slow}, func(t *testing.T, c *engine.Engine, _ func()) {
		txn := c.StartNBTransaction().SetValue("fast/1", &model.Item{}).SetValue("slow/1", &model.Item{})
		_, err := txn.Commit(t.Context())
		if err == nil || !strings.Contains(err.Error(), "within 5s") || strings.Contains(err.Error(), "slow/1") {
			t.Errorf("got %v", err)
		}
		if got := c.GetValueStatus("slow/1").GetValue().GetState(); got != kvscheduler.ValueState_CONFIGURED {
			t.Errorf("without a limit: %v", got)
		}
	})
}

// A scheduler that is to stop waits 2 s for callbacks, and can say which hang.
func TestStopWhileOneHangs(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{0, 4} {
		s := &stuck{takes: map[string]time.Duration{"a/1": time.Hour}}
		impatient(t, nil, []*api.KVDescriptor{s.descriptor("a", concurrency)}, func(t *testing.T, c *engine.Engine, stop func()) {
			c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context(), api.WithoutBlocking())
			synctest.Wait()
			start := time.Now()
			stop()
			if took := time.Since(start); took != 2*time.Second {
				t.Errorf("the stop took %v", took)
			}
			left := c.Hanging()
			if len(left) != 1 || left[0].String() != `descriptor "a": Create of a/1` {
				t.Errorf("left behind: %v", left)
			}
			time.Sleep(time.Hour)
		})
	}
}

// A connection that breaks lets many return at once: one look is enough.
func TestManyThatReturnAtOnce(t *testing.T) {
	t.Parallel()
	s := &stuck{takes: map[string]time.Duration{}}
	impatient(t, nil, []*api.KVDescriptor{s.descriptor("a", 100)}, func(t *testing.T, c *engine.Engine, _ func()) {
		txn := c.StartNBTransaction()
		for i := range 100 {
			key := "a/" + string(rune('a'+i%26)) + string(rune('a'+i/26))
			s.takes[key] = time.Minute
			txn.SetValue(key, &model.Item{})
		}
		if _, err := txn.Commit(t.Context()); err == nil {
			t.Error("expected errors")
		}
		time.Sleep(time.Hour)
		c.TransactionBarrier()
		for _, status := range c.ListValueStatus("a/") {
			if status.GetValue().GetState() != kvscheduler.ValueState_CONFIGURED {
				t.Errorf("%v", status)
			}
		}
	})
}
