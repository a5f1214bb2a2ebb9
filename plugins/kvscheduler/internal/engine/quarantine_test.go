package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// fragile is a southbound that crashes on some values, together with all operations in
// flight, and reconnects by itself.
type fragile struct {
	c *engine.Engine

	mu     sync.Mutex
	poison map[string]bool
	epoch  uint64
	down   chan struct{} // closed when the present life ends
	exists map[string]bool
	calls  int
}

var errConnection = errors.New("connection lost")

func (f *fragile) create(key string, _ *model.Item) (any, error) {
	f.mu.Lock()
	f.calls++
	down := f.down
	f.mu.Unlock()
	select {
	case <-down:
		return nil, errConnection
	case <-time.After(time.Millisecond):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case down != f.down:
		return nil, errConnection
	case f.poison[key]:
		close(f.down)
		f.live()
		return nil, errConnection
	}
	f.exists[key] = true
	return nil, nil
}

// live begins a new life. The lock is held.
func (f *fragile) live() {
	f.epoch++
	f.down, f.exists = make(chan struct{}), map[string]bool{}
	epoch := f.epoch
	if epoch > 1 {
		f.c.SouthboundDown("s", errConnection)
	}
	time.AfterFunc(5*time.Second, func() { f.c.SouthboundUp("s", epoch) })
}

func (f *fragile) descriptor(concurrency int) *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s", Concurrency: concurrency,
		Create: f.create,
		Delete: func(key string, _ *model.Item, _ any) error { return nil },
		Retrieve: func(correlate []api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, kv := range correlate {
				if f.exists[kv.Key] {
					found = append(found, kv)
				}
			}
			return found, nil
		},
	})
}

// Of a thousand values that were under way when the southbound went down, the
// guilty ones are found by trying them one at a time; it costs a few calls for
// each.
func TestGuiltyAmongMany(t *testing.T) {
	t.Parallel()
	const values = 1024
	synctest.Test(t, func(t *testing.T) {
		f := &fragile{poison: map[string]bool{"a/0007": true, "a/0900": true}}
		f.c = engine.New(engine.Options{QuarantineAfter: 3, CallbackTimeout: time.Minute})
		if err := f.c.RegisterKVDescriptor(f.descriptor(values)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.c.Run(ctx) }()
		defer func() { cancel(); <-done }()
		f.mu.Lock()
		f.live()
		f.mu.Unlock()
		txn := f.c.StartNBTransaction()
		for i := range values {
			txn.SetValue(fmt.Sprintf("a/%04d", i), &model.Item{})
		}
		if _, err := txn.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		f.c.TransactionBarrier()
		for _, status := range f.c.ListValueStatus("a/") {
			want := kvscheduler.ValueState_CONFIGURED
			if f.poison[status.GetValue().GetKey()] {
				want = kvscheduler.ValueState_FAILED
				if text := status.GetValue().GetError(); !strings.Contains(text, "quarantined: southbound \"s\" went down 3 times") {
					t.Error(text)
				}
			}
			if got := status.GetValue().GetState(); got != want {
				t.Errorf("%s is %v, expected %v: %s", status.GetValue().GetKey(), got, want, status.GetValue().GetError())
			}
		}
		if got := f.c.Suspects(); len(got) != 2 || !got[0].Quarantined || !got[1].Quarantined {
			t.Errorf("suspects: %v", got)
		}
		if crashes := int(f.epoch) - 1; crashes != 5 || f.calls > (crashes+2)*values {
			t.Errorf("%d crashes, %d calls", crashes, f.calls)
		}
	})
}

// With QuarantineAfter 0 there are no suspects.
func TestQuarantineOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fragile{poison: map[string]bool{"a/1": true}}
		f.c = engine.New(engine.Options{})
		if err := f.c.RegisterKVDescriptor(f.descriptor(4)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.c.Run(ctx) }()
		defer func() { cancel(); <-done }()
		f.mu.Lock()
		f.live()
		f.mu.Unlock()
		f.c.StartNBTransaction().SetValue("a/1", &model.Item{}).SetValue("a/2", &model.Item{}).Commit(t.Context())
		time.Sleep(time.Minute)
		f.mu.Lock()
		f.poison = nil
		f.mu.Unlock()
		time.Sleep(time.Minute)
		f.c.TransactionBarrier()
		if got := f.c.Suspects(); len(got) > 0 || f.epoch < 10 {
			t.Errorf("suspects %v after %d lives", got, f.epoch)
		}
	})
}

// A southbound that stops answering makes no suspects of the operations in flight
// when it answers again, and does when it ends instead.
func TestUnresponsiveSouthbound(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := engine.New(engine.Options{QuarantineAfter: 3, CallbackTimeout: time.Minute})
			stalled := true
			err := c.RegisterKVDescriptor(api.Adapt(&api.Descriptor[*model.Item, any]{
				Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s",
				Create: func(string, *model.Item) (any, error) {
					if !stalled {
						return nil, nil
					}
					c.SouthboundDown("s", api.Unresponsive(errConnection))
					return nil, errConnection
				},
				Delete: func(string, *model.Item, any) error { return nil },
			}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); c.Run(ctx) }()
			defer func() { cancel(); <-done }()
			c.SouthboundUp("s", 1)
			if _, err := c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context()); !errors.Is(err, errConnection) {
				t.Fatalf("commit: %v", err)
			}
			if ends {
				c.SouthboundDown("s", errConnection)
			}
			c.TransactionBarrier()
			if suspects := c.Suspects(); len(suspects) > 0 != ends {
				t.Errorf("southbound ends %v: suspects %v", ends, suspects)
			}
			stalled = false
			c.SouthboundUp("s", 2)
			time.Sleep(time.Minute) // of the fake clock
			c.TransactionBarrier()
			if state := c.GetValueStatus("a/1").GetValue().GetState(); state != kvscheduler.ValueState_CONFIGURED {
				t.Errorf("southbound ends %v: the value is %v", ends, state)
			}
		})
	}
}

// A suspect gets its derived values if its trial timed out and the callback returns
// before the trial is over.
func TestTrialReturnsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		c := engine.New(engine.Options{QuarantineAfter: 3, CallbackTimeout: timeout})
		calls := 0
		create := func(string, *model.Item) (any, error) {
			if calls++; calls == 1 {
				c.SouthboundDown("s", errConnection)
				return nil, errConnection
			}
			time.Sleep(timeout + 500*time.Millisecond)
			return nil, nil
		}
		remove := func(string, *model.Item, any) error { return nil }
		runWith(t, c, api.Adapt(&api.Descriptor[*model.Item, any]{
			Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s", DerivedValues: itemDerived,
			Create: create, Delete: remove,
		}), api.Adapt(&api.Descriptor[*model.Item, any]{
			Name: "d", KeySelector: hasPrefix("d/"),
			Create: func(string, *model.Item) (any, error) { return nil, nil }, Delete: remove,
		}))
		c.SouthboundUp("s", 1)
		item := &model.Item{Derived: []*model.Derived{{Key: "d/1", Item: &model.Item{}}}}
		if _, err := c.StartNBTransaction().SetValue("a/1", item).Commit(t.Context()); !errors.Is(err, errConnection) {
			t.Fatalf("commit: %v", err)
		}
		c.SouthboundUp("s", 2)
		time.Sleep(time.Minute) // of the fake clock
		c.TransactionBarrier()
		for _, key := range []string{"a/1", "d/1"} {
			if status := c.GetValueStatus(key).GetValue(); status.GetState() != kvscheduler.ValueState_CONFIGURED {
				t.Errorf("%s is %v %s", key, status.GetState(), status.GetError())
			}
		}
	})
}

// A suspect that is deleted before its trial is removed by the trial.
func TestSuspectDeletedBeforeItsTrial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := engine.New(engine.Options{QuarantineAfter: 3, CallbackTimeout: time.Minute})
		exists, epoch := false, uint64(1)
		runWith(t, c, api.Adapt(&api.Descriptor[*model.Item, any]{
			Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s",
			Create: func(string, *model.Item) (any, error) {
				exists = true
				c.SouthboundDown("s", errConnection)
				return nil, errConnection
			},
			Delete: func(string, *model.Item, any) error {
				exists = false
				return nil
			},
			Retrieve: func([]api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
				if !exists {
					return nil, nil
				}
				if epoch == 2 { // the trial is not queued yet
					epoch++
					_, err = c.StartNBTransaction().SetValue("a/1", nil).Commit(t.Context(), api.WithoutBlocking())
				}
				return []api.KV[*model.Item, any]{{Key: "a/1", Value: &model.Item{}, Origin: api.FromNB}}, err
			},
		}))
		c.SouthboundUp("s", epoch)
		if _, err := c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context()); !errors.Is(err, errConnection) {
			t.Fatalf("commit: %v", err)
		}
		epoch = 2
		c.SouthboundUp("s", epoch)
		time.Sleep(time.Minute) // of the fake clock
		c.TransactionBarrier()
		if status := c.GetValueStatus("a/1").GetValue(); exists || status.GetState() != kvscheduler.ValueState_NONEXISTENT {
			t.Errorf("exists %v, %v %s", exists, status.GetState(), status.GetError())
		}
	})
}
