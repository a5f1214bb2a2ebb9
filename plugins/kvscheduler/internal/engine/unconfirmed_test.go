package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// shelf is a southbound of objects without names: Retrieve recognises them by the
// values that it gets in correlate, and by nothing else.
type shelf struct {
	mu         sync.Mutex
	objects    map[int64]bool
	calls      []string
	stalled    chan struct{} // callbacks wait until it is closed; nil: they do not
	failAfter  bool          // Create fails after its effect
	blind      bool          // Retrieve fails
	updates    bool          // values can be updated
	failUpdate bool          // Update fails without an effect
	details    bool          // Retrieve adds a detail, which makes no difference
	expected   []string      // correlate of the last Retrieve
	first      []string      // the same of the first Retrieve of a session that has values to correlate

	unconfirmed bool // some Retrieve got an unconfirmed value
}

func (s *shelf) begin(op string, it *model.Item) {
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf("%s %d", op, it.GetValue()))
	stalled := s.stalled
	s.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
}

func (s *shelf) descriptor() *api.KVDescriptor {
	d := &api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s",
		Create: func(_ string, it *model.Item) (any, error) {
			s.begin("create", it)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.objects[it.GetValue()] = true
			if s.failAfter {
				return nil, errInjected
			}
			return nil, nil
		},
		Delete: func(_ string, it *model.Item, _ any) error {
			s.begin("delete", it)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.objects, it.GetValue())
			return nil
		},
		Retrieve: func(correlate []api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.blind {
				return nil, errInjected
			}
			s.expected = nil
			for _, kv := range correlate {
				s.unconfirmed = s.unconfirmed || kv.Unconfirmed
				s.expected = append(s.expected, strings.TrimSpace(fmt.Sprintf("%s %d %s", kv.Key, kv.Value.GetValue(), kv.Value.GetNote())))
				if s.objects[kv.Value.GetValue()] {
					kv.Origin = api.FromNB
					if s.details {
						kv.Value = &model.Item{Value: kv.Value.GetValue(), Note: "of the southbound"}
					}
					found = append(found, kv)
				}
			}
			if s.first == nil {
				s.first = s.expected
			}
			return found, nil
		},
		ValueComparator: func(_ string, a, b *model.Item) bool { return a.GetValue() == b.GetValue() },
	}
	if s.updates {
		d.Update = func(_ string, from, to *model.Item, _ any) (any, error) {
			s.begin("update", to)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.failUpdate {
				return nil, errInjected
			}
			delete(s.objects, from.GetValue())
			s.objects[to.GetValue()] = true
			return nil, nil
		}
	}
	return api.Adapt(d)
}

func (s *shelf) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// has checks which objects there are.
func (s *shelf) has(t *testing.T, want ...int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := slices.Sorted(maps.Keys(s.objects)); !slices.Equal(got, want) {
		t.Errorf("southbound has %v, expected %v, after %q", got, want, s.calls)
	}
}

// undecided is a scheduler with a shelf.
type undecided struct {
	*shelf
	*engine.Engine
	t       *testing.T
	journal *kvstest.Journal
	stop    func()

	problems engine.Problems // of the worker
}

func (u *undecided) boot() {
	u.Engine = engine.New(engine.Options{
		CallbackTimeout: 30 * time.Second, Journal: u.journal, QuarantineAfter: 3,
		Conditions: &conditions{problems: func(p engine.Problems) { u.problems = p }},
	})
	if err := u.RegisterKVDescriptor(u.descriptor()); err != nil {
		u.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); u.Run(ctx) }()
	u.stop = func() { cancel(); <-done }
	u.first = nil
	u.SouthboundUp("s", 1)
}

// want commits the desired value of a/1; 0: none. It reads the southbound too if
// resync is given.
func (u *undecided) want(value int64, resync ...api.ResyncType) {
	txn := u.StartNBTransaction()
	if value > 0 {
		txn.SetValue("a/1", &model.Item{Value: value})
	} else if len(resync) == 0 {
		txn.SetValue("a/1", nil)
	}
	var opts []api.TxnOption
	for _, typ := range resync {
		opts = append(opts, api.WithResync(typ, false))
	}
	_, _ = txn.Commit(u.t.Context(), opts...) // the reading of the southbound shows the result
}

func (u *undecided) settle() {
	time.Sleep(time.Hour)
	u.TransactionBarrier()
}

// Whatever is desired by the time it is known what an operation did: no object that
// it made remains that is not desired, and none is made twice.
func TestUndecidedOperations(t *testing.T) {
	t.Parallel()
	unstall := func(u *undecided) { u.set(func() { close(u.stalled); u.stalled = nil }) }
	stall := func(u *undecided) { u.set(func() { u.stalled = make(chan struct{}) }) }
	// killedInRemoval kills the scheduler while it removes object 1 to get the value. The
	// removal never takes effect. Then the next scheduler starts.
	killedInRemoval := func(u *undecided, value int64) {
		u.want(1)
		stall(u)
		go u.want(value)
		synctest.Wait()
		u.journal.Freeze()
		u.stop()
		unstall(u)
		synctest.Wait()
		u.set(func() { u.objects[1] = true })
		u.journal.Thaw()
		u.boot()
	}
	// killedInUpdate kills the scheduler while it changes object 1 to object 2. The update never takes effect.
	killedInUpdate := func(u *undecided) {
		u.stop()
		u.updates = true
		u.boot()
		u.want(0, api.FullResync)
		killedInRemoval(u, 2)
		u.set(func() { delete(u.objects, 2) })
	}
	blind := func(u *undecided, blind bool) { u.set(func() { u.blind = blind }) }
	resync := func(u *undecided) { u.want(0, api.DownstreamResync) }
	tests := map[string]func(u *undecided){
		"takes effect after a resync": func(u *undecided) {
			stall(u)
			u.want(1)
			u.want(0)
			resync(u)
			if !slices.Equal(u.expected, []string{"a/1 1"}) {
				t.Errorf("correlate is %q", u.expected)
			}
			unstall(u)
		},
		"takes effect after a resync and a change": func(u *undecided) {
			stall(u)
			u.want(1)
			u.want(2)
			resync(u)
			if !slices.Equal(u.expected, []string{"a/1 1", "a/1 2"}) {
				t.Errorf("correlate is %q", u.expected)
			}
			unstall(u)
		},
		"takes effect in the next session": func(u *undecided) {
			stall(u)
			u.want(1)
			u.SouthboundDown("s", errors.New("gone"))
			u.want(0)
			u.SouthboundUp("s", 2)
			u.TransactionBarrier()
			unstall(u)
		},
		"fails in the next session": func(u *undecided) {
			u.set(func() { u.failAfter = true })
			stall(u)
			u.want(1)
			u.SouthboundDown("s", errors.New("gone"))
			u.want(2)
			u.SouthboundUp("s", 2)
			u.TransactionBarrier()
			u.set(func() { u.failAfter = false })
			unstall(u)
		},
		"returns between two sessions": func(u *undecided) {
			stall(u)
			u.want(1)
			u.SouthboundDown("s", errors.New("gone"))
			u.want(0)
			unstall(u)
			synctest.Wait()
			u.SouthboundUp("s", 2)
		},
		"fails when its session has ended and another connection exists": func(u *undecided) {
			stall(u)
			go u.want(1)
			synctest.Wait()
			u.set(func() { u.failAfter = true })
			u.SouthboundDown("s", errors.New("gone"))
			unstall(u)
			synctest.Wait()
			u.set(func() { u.failAfter = false })
			u.SouthboundUp("s", 2)
			u.TransactionBarrier()
			if !u.unconfirmed {
				t.Error("a reading before the next session decided")
			}
		},
		"fails, and cannot be read": func(u *undecided) {
			blind(u, true)
			u.set(func() { u.failAfter = true })
			u.want(1)
			u.set(func() { u.failAfter = false })
			u.want(2)
			u.want(0)
			blind(u, false)
		},
		"fails, and cannot be read until there is a new session": func(u *undecided) {
			blind(u, true)
			u.set(func() { u.failAfter = true })
			u.want(1)
			u.set(func() { u.failAfter = false })
			u.SouthboundDown("s", errors.New("gone"))
			u.want(2)
			u.SouthboundUp("s", 2)
			u.TransactionBarrier()
			blind(u, false)
		},
		"fails, and another process reads": func(u *undecided) {
			blind(u, true)
			u.set(func() { u.failAfter = true })
			u.want(1)
			u.set(func() { u.failAfter = false })
			u.want(2)
			u.stop()
			blind(u, false)
			u.boot()
			u.want(2, api.FullResync)
		},
		"is killed": func(u *undecided) {
			stall(u)
			u.want(1)
			u.want(2)
			u.stop()
			unstall(u)
			synctest.Wait()
			u.boot()
			u.want(2, api.FullResync)
		},
		"is killed between the halves of a re-creation": func(u *undecided) {
			killedInRemoval(u, 2)
			u.want(2, api.FullResync)
			if !slices.Equal(u.expected, []string{"a/1 1", "a/1 2"}) {
				t.Errorf("correlate is %q", u.expected)
			}
			if u.settle(); u.objects[1] {
				t.Error("object 1 remains")
			}
		},
		"update is killed": func(u *undecided) {
			killedInUpdate(u)
			u.want(2, api.FullResync)
			if !slices.Equal(u.expected, []string{"a/1 1", "a/1 2"}) {
				t.Errorf("correlate is %q", u.expected)
			}
		},
		"update of a value that was read is killed": func(u *undecided) {
			u.want(1)
			u.stop()
			u.details, u.updates = true, true
			u.boot()
			stall(u)
			go u.want(2, api.FullResync)
			synctest.Wait()
			u.journal.Freeze()
			u.stop()
			unstall(u)
			synctest.Wait()
			u.set(func() { u.objects = map[int64]bool{1: true} })
			u.journal.Thaw()
			u.boot()
			u.TransactionBarrier()
			if !slices.Equal(u.first, []string{"a/1 1", "a/1 2"}) {
				t.Errorf("correlate is %q", u.first)
			}
			u.want(2, api.FullResync)
		},
		"session ends after a failed update": func(u *undecided) {
			u.stop()
			u.details, u.updates, u.failUpdate = true, true, true
			u.boot()
			u.want(1, api.FullResync)
			u.want(2)
			u.SouthboundDown("s", errors.New("gone"))
			u.set(func() { u.first, u.failUpdate = nil, false })
			u.SouthboundUp("s", 2)
			u.TransactionBarrier()
			if len(u.first) == 0 || u.first[0] != "a/1 1" {
				t.Errorf("correlate is %q", u.first)
			}
		},
		"update is killed, and the value is withdrawn": func(u *undecided) {
			killedInUpdate(u)
			u.want(0, api.FullResync)
			u.has(t)
		},
		"removal is killed": func(u *undecided) {
			killedInRemoval(u, 0)
			u.want(0, api.FullResync)
			if !u.unconfirmed {
				t.Error("the value whose removal was interrupted is not unconfirmed")
			}
		},
		"removal takes effect after a resync": func(u *undecided) {
			u.want(1)
			stall(u)
			u.want(0)
			u.want(2)
			resync(u)
			unstall(u)
		},
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := &undecided{shelf: &shelf{objects: map[int64]bool{}}, t: t, journal: kvstest.NewJournal()}
				u.boot()
				defer func() { u.stop() }()
				u.want(0, api.FullResync)
				f(u)
				u.settle()
				u.want(0)
				u.settle()
				u.has(t)
				u.want(3)
				u.settle()
				u.has(t, 3)
				if got := u.journal.Keys(); !slices.Equal(got, []string{"a/1"}) {
					t.Errorf("on record are %q", got)
				}
				for _, name := range []string{"undecided", ownership.FormerState} {
					if left, _ := u.journal.LoadState(name); len(left) > 0 {
						t.Errorf("still %s: %v", name, left)
					}
				}
			})
		})
	}
}

// A value whose operation timed out before its southbound went down is suspected of
// that. Its trial waits until the callback has returned: operations of one key never
// overlap.
func TestTrialWaitsForCallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &undecided{shelf: &shelf{objects: map[int64]bool{}}, t: t, journal: kvstest.NewJournal()}
		u.boot()
		defer func() { u.stop() }()
		u.want(0, api.FullResync)
		u.set(func() { u.stalled = make(chan struct{}) })
		u.want(1)
		u.SouthboundDown("s", errors.New("gone"))
		u.SouthboundUp("s", 2)
		time.Sleep(time.Hour)
		u.TransactionBarrier()
		if !slices.Equal(u.calls, []string{"create 1"}) {
			t.Errorf("while Create has not returned: %q", u.calls)
		}
		if left := u.Suspects(); len(left) != 1 {
			t.Errorf("suspects are %v, expected one", left)
		}
		u.set(func() { close(u.stalled); u.stalled = nil })
		u.settle()
		u.has(t, 1)
		if left := u.Suspects(); len(left) > 0 {
			t.Errorf("still suspected: %v", left)
		}
	})
}

// What could no longer be removed and went with its southbound is no problem.
func TestFailedRemovalEndsWithSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &undecided{shelf: &shelf{objects: map[int64]bool{}}, t: t, journal: kvstest.NewJournal()}
		u.boot()
		defer func() { u.stop() }()
		u.want(0, api.FullResync)
		u.want(1)
		u.set(func() { u.stalled = make(chan struct{}) })
		u.want(0)
		u.TransactionBarrier()
		if got := u.problems.Values; got[kvscheduler.ValueState_FAILED] != 1 {
			t.Errorf("problems are %v, expected one FAILED", got)
		}
		u.SouthboundDown("s", errors.New("gone"))
		u.TransactionBarrier()
		u.TransactionBarrier()
		if got := u.problems.Values; len(got) > 0 {
			t.Errorf("problems are %v, expected none", got)
		}
		u.set(func() { close(u.stalled); u.stalled = nil })
	})
}
