package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// slow is a southbound in which everything takes a second of the bubble's time,
// and some operations more.
type slow struct {
	mu      sync.Mutex
	running int
	most    int
	order   []string
	more    map[string]time.Duration // by key
}

func (s *slow) work(op, key string) {
	s.mu.Lock()
	s.running++
	s.most = max(s.most, s.running)
	s.order = append(s.order, op+" "+key)
	s.mu.Unlock()
	time.Sleep(time.Second + s.more[key])
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
}

func (s *slow) descriptor(name string, concurrency int) *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: name, KeySelector: hasPrefix(name + "/"), NBKeyPrefix: name + "/", Concurrency: concurrency,
		Dependencies: itemDeps,
		Create:       func(key string, _ *model.Item) (any, error) { s.work("create", key); return nil, nil },
		Delete:       func(key string, _ *model.Item, _ any) error { s.work("delete", key); return nil },
	})
}

// inBubble runs f with a scheduler, in virtual time.
func inBubble(t *testing.T, descriptors []*api.KVDescriptor, f func(t *testing.T, c *engine.Engine)) {
	inBubbleWith(t, engine.Options{Record: true, History: record.Options{MaxEntries: 100}}, descriptors, f)
}

// inBubbleWith is inBubble with a scheduler that has the given options.
func inBubbleWith(t *testing.T, opts engine.Options, descriptors []*api.KVDescriptor, f func(t *testing.T, c *engine.Engine)) {
	synctest.Test(t, func(t *testing.T) {
		c := engine.New(opts)
		if err := c.RegisterKVDescriptor(descriptors...); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		defer func() { cancel(); <-done }()
		f(t, c)
	})
}

func set(t *testing.T, c *engine.Engine, values ...any) {
	t.Helper()
	txn := c.StartNBTransaction()
	for i := 0; i < len(values); i += 2 {
		if it := values[i+1].(*model.Item); it != nil {
			txn.SetValue(values[i].(string), it)
		} else {
			txn.SetValue(values[i].(string), nil)
		}
	}
	if _, err := txn.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOperationsRunBesideEachOther(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("iface", 1), s.descriptor("route", 4)}, func(t *testing.T, c *engine.Engine) {
		values := []any{"iface/1", &model.Item{}}
		for i := range 12 {
			values = append(values, fmt.Sprintf("route/%02d", i), &model.Item{Deps: []string{"iface/1"}})
		}
		start := time.Now()
		set(t, c, values...)
		if took := time.Since(start); took != 4*time.Second { // 1 for the interface, 12/4 for the routes
			t.Errorf("took %v of virtual time, expected 4s", took)
		}
		if s.most != 4 {
			t.Errorf("%d at once, expected the 4 that the descriptor allows", s.most)
		}
		rec := c.GetRecordedTransaction(0)
		for i, op := range rec.Executed {
			if op.Key != rec.Planned[i].Key {
				t.Errorf("record %d is %s, planned was %s", i, op.Key, rec.Planned[i].Key)
			}
			if op.Took() != time.Second {
				t.Errorf("%s: recorded from %v to %v", op.Key, op.Start(), op.End())
			}
		}
	})
}

// Descriptors that allow one callback at a time run beside other descriptors.
func TestDescriptorsRunBesideEachOther(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("a", 1), s.descriptor("b", 1)}, func(t *testing.T, c *engine.Engine) {
		start := time.Now()
		set(t, c, "a/1", &model.Item{}, "a/2", &model.Item{}, "b/1", &model.Item{}, "b/2", &model.Item{})
		if took := time.Since(start); took != 2*time.Second || s.most != 2 {
			t.Errorf("took %v with %d at once, expected 2s with 2", took, s.most)
		}
	})
}

// A removed value may conflict with a new one, without a dependency.
func TestRemovalsComeFirst(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("address", 8)}, func(t *testing.T, c *engine.Engine) {
		set(t, c, "address/if1/10.0.0.1", &model.Item{})
		s.order = nil
		set(t, c, "address/if0/10.0.0.1", &model.Item{}, "address/if1/10.0.0.1", (*model.Item)(nil))
		want := []string{"delete address/if1/10.0.0.1", "create address/if0/10.0.0.1"}
		if !slices.Equal(s.order, want) || s.most != 1 {
			t.Errorf("%d at once: %s", s.most, strings.Join(s.order, ", "))
		}
	})
}

// Without Concurrency everything is executed as it was planned, one by one.
func TestWithoutConcurrencyTheOrderIsThePlan(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("a", 0), s.descriptor("b", 0)}, func(t *testing.T, c *engine.Engine) {
		set(t, c, "b/1", &model.Item{}, "a/2", &model.Item{Deps: []string{"b/1"}}, "a/1", &model.Item{}, "b/2", &model.Item{})
		var planned []string
		for _, op := range c.GetRecordedTransaction(0).Planned {
			planned = append(planned, "create "+op.Key)
		}
		if !slices.Equal(s.order, planned) || s.most != 1 {
			t.Errorf("executed %s\nplanned  %s", strings.Join(s.order, ", "), strings.Join(planned, ", "))
		}
	})
}

// A failure in a transaction with revert lets finish what runs, starts nothing
// more, and takes it all back.
func TestRevertOfParallelOperations(t *testing.T) {
	t.Parallel()
	s := &slow{}
	d := s.descriptor("a", 3)
	create := d.Create
	d.Create = func(key string, v proto.Message) (api.Metadata, error) {
		if key == "a/1" {
			return nil, errInjected // at once, while the others work
		}
		return create(key, v)
	}
	inBubble(t, []*api.KVDescriptor{d}, func(t *testing.T, c *engine.Engine) {
		txn := c.StartNBTransaction()
		for i := range 6 {
			txn.SetValue(fmt.Sprintf("a/%d", i), &model.Item{})
		}
		if _, err := txn.Commit(t.Context(), api.WithRevert()); err == nil {
			t.Fatal("expected an error")
		}
		slices.Sort(s.order)
		want := "create a/0, create a/2, delete a/0, delete a/2"
		if got := strings.Join(s.order, ", "); got != want {
			t.Errorf("got %s", got)
		}
		if left := c.ListValueStatus("a/"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}
