package engine_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// mortal is a southbound that dies some time after certain values exist in it, whether an
// operation is in flight or not, and restarts empty after five seconds.
type mortal struct {
	t *testing.T
	c *engine.Engine

	mu     sync.Mutex
	deadly [][]string // it dies of each of these sets, if all of its keys exist
	frail  bool       // it dies in any case
	delay  time.Duration
	takes  time.Duration // a callback
	epoch  uint64
	up     bool
	exists map[string]int64
	deaths int
	stop   func()
}

func newMortal(t *testing.T, deadly ...[]string) *mortal {
	return &mortal{t: t, deadly: deadly, delay: 200 * time.Millisecond, takes: time.Millisecond, exists: map[string]int64{}}
}

// start starts a scheduler, after the last one was stopped. The southbound keeps running.
func (m *mortal) start(opts engine.Options) {
	m.t.Helper()
	opts.Log = infratest.Logger(m.t, "s")
	opts.QuarantineAfter, opts.CrashWindow, opts.CallbackTimeout = 3, 10*time.Second, time.Minute
	m.mu.Lock()
	m.c = engine.New(opts)
	m.mu.Unlock()
	if err := m.c.RegisterKVDescriptor(m.descriptor()); err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.c.Run(ctx) }()
	m.stop = func() { cancel(); <-done }
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch == 0 {
		m.up = true
	}
	m.epoch++
	if m.up {
		m.c.SouthboundUp("s", m.epoch)
	}
	m.mayDie()
}

func (m *mortal) descriptor() *api.KVDescriptor {
	change := func(key string, value *int64) error {
		m.mu.Lock()
		up, epoch := m.up, m.epoch
		m.mu.Unlock()
		if up {
			time.Sleep(m.takes)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.up || !up || epoch != m.epoch {
			return errConnection
		}
		if value == nil {
			delete(m.exists, key)
			return nil
		}
		m.exists[key] = *value
		m.mayDie()
		return nil
	}
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s", Dependencies: itemDeps,
		Create: func(key string, it *model.Item) (any, error) { return nil, change(key, &it.Value) },
		Update: func(key string, _, it *model.Item, _ any) (any, error) { return nil, change(key, &it.Value) },
		Delete: func(key string, _ *model.Item, _ any) error { return change(key, nil) },
		Retrieve: func([]api.KV[*model.Item, any]) (found []api.KV[*model.Item, any], err error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			for key, value := range m.exists {
				found = append(found, api.KV[*model.Item, any]{Key: key, Value: &model.Item{Value: value}, Origin: api.FromNB})
			}
			return found, nil
		},
	})
}

// mayDie dies later if there is reason to. The lock is held.
func (m *mortal) mayDie() {
	dies := m.frail || slices.ContainsFunc(m.deadly, func(keys []string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { _, ok := m.exists[key]; return !ok || m.exists[key] < 0 })
	})
	if !dies {
		return
	}
	epoch := m.epoch
	time.AfterFunc(m.delay, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.up && m.epoch == epoch {
			m.die()
		}
	})
}

// die is the end of a life; the next one begins five seconds later. The lock is held.
func (m *mortal) die() {
	m.deaths++
	m.up, m.exists = false, map[string]int64{}
	m.c.SouthboundDown("s", errConnection)
	time.AfterFunc(5*time.Second, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.epoch++
		m.up = true
		m.c.SouthboundUp("s", m.epoch)
		m.mayDie()
	})
}

// blink loses the connection only.
func (m *mortal) blink() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.c.SouthboundDown("s", errConnection)
	m.epoch++
	m.c.SouthboundUp("s", m.epoch)
}

func (m *mortal) counted() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deaths
}

func (m *mortal) set(values map[string]*model.Item) error {
	txn := m.c.StartNBTransaction()
	for key, it := range values {
		if it == nil {
			txn.SetValue(key, nil)
		} else {
			txn.SetValue(key, it)
		}
	}
	_, err := txn.Commit(m.t.Context())
	return err
}

func (m *mortal) wait(d time.Duration) {
	time.Sleep(d) // of the fake clock
	m.c.TransactionBarrier()
}

// expect checks that the values exist but for those in quarantine, and the number of deaths.
func (m *mortal) expect(values map[string]*model.Item, quarantined []string, most int) {
	m.t.Helper()
	var got []string
	for _, s := range m.c.Suspects() {
		if !s.Quarantined || s.HeldBack {
			m.t.Errorf("%s is not in quarantine, but %+v", s.Key, s)
		}
		got = append(got, s.Key)
	}
	if !slices.Equal(got, quarantined) {
		m.t.Errorf("in quarantine are %v, expected %v", got, quarantined)
	}
	for key := range values {
		status := m.c.GetValueStatus(key).GetValue()
		want, text := kvscheduler.ValueState_CONFIGURED, ""
		if slices.Contains(quarantined, key) {
			want, text = kvscheduler.ValueState_FAILED, "quarantined: southbound \"s\" went down"
		}
		if status.GetState() != want || !strings.Contains(status.GetError(), text) {
			m.t.Errorf("%s is %v %s", key, status.GetState(), status.GetError())
		}
	}
	before := m.counted()
	if before > most {
		m.t.Errorf("it took %d deaths, expected %d at most", before, most)
	}
	m.wait(10 * time.Minute)
	if again := m.counted() - before; again > 0 {
		m.t.Errorf("after that it died %d times", again)
	}
}

func values(n int) map[string]*model.Item {
	all := map[string]*model.Item{}
	for i := range n {
		all[fmt.Sprintf("a/%03d", i)] = &model.Item{Value: 1}
	}
	return all
}

// survives starts a scheduler and returns values that the southbound has survived.
func (m *mortal) survives(n int) map[string]*model.Item {
	m.t.Helper()
	m.start(engine.Options{})
	all := values(n)
	if err := m.set(all); err != nil {
		m.t.Fatal(err)
	}
	m.wait(time.Minute)
	return all
}

// steps is how many deaths it takes at most to find one of n values: those that begin the
// search, one for each time that what is in question is halved, and one that confirms it.
func steps(n int) int { return 3 + int(math.Ceil(math.Log2(float64(n+1)))) + 1 }

// A southbound that dies some time after a value was applied dies a few times; then this
// value is in quarantine, and all others exist.
func TestDiesOfAValueLater(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 40, 1000} {
		for _, culprit := range slices.Compact([]int{0, n / 3, n / 2, n - 1}) {
			for _, takes := range []time.Duration{time.Microsecond, 20 * time.Millisecond} {
				synctest.Test(t, func(t *testing.T) {
					key := fmt.Sprintf("a/%03d", culprit)
					t.Log(n, key, takes)
					m := newMortal(t, []string{key})
					m.takes = takes
					m.start(engine.Options{})
					defer func() { m.stop() }()
					_ = m.set(values(n))
					m.wait(time.Hour / 2)
					m.expect(values(n), []string{key}, steps(n))
				})
			}
		}
	}
}

// The values that changed last are held back first.
func TestDiesOfANewValue(t *testing.T) {
	t.Parallel()
	for _, added := range []map[string]*model.Item{
		{"a/new": {Value: 1}},
		{"a/000": {Value: 2}, "a/new": {Value: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMortal(t, []string{"a/new"})
			all := m.survives(100)
			defer func() { m.stop() }()
			for key, it := range added {
				all[key] = it
			}
			if err := m.set(added); err != nil {
				t.Fatal(err)
			}
			m.wait(time.Minute / 2)
			if held := m.c.Suspects(); len(held) > len(added) {
				t.Errorf("%d values are held back", len(held))
			}
			m.wait(time.Hour / 2)
			m.expect(all, []string{"a/new"}, 3+1+len(added)/2)
		})
	}
}

// A value that was there for long can be to blame, for example after it was changed, or because
// of something new.
func TestDiesOfAnOldValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		all := m.survives(100)
		defer func() { m.stop() }()
		m.mu.Lock()
		m.deadly = [][]string{{"a/050"}}
		m.mu.Unlock()
		all["a/new"] = &model.Item{Value: 1}
		if err := m.set(map[string]*model.Item{"a/new": all["a/new"]}); err != nil {
			t.Fatal(err)
		}
		m.wait(time.Hour / 2)
		m.expect(all, []string{"a/050"}, steps(101)+1)
	})
}

// Two values that it dies of only together: one of them is held. Two that it dies of each: both.
func TestDiesOfTwoValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t, []string{"a/007", "a/031"})
		m.start(engine.Options{})
		defer func() { m.stop() }()
		_ = m.set(values(40))
		m.wait(time.Hour / 2)
		m.expect(values(40), []string{"a/031"}, steps(40))
	})
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t, []string{"a/007"}, []string{"a/031"}, []string{"a/038"})
		m.start(engine.Options{})
		defer func() { m.stop() }()
		_ = m.set(values(40))
		m.wait(time.Hour / 2)
		m.expect(values(40), []string{"a/007", "a/031", "a/038"}, 3*steps(40))
	})
}

// What depends on the culprit waits for it; what the culprit depends on exists.
func TestDiesOfAValueWithDependents(t *testing.T) {
	t.Parallel()
	for culprit := range 8 {
		synctest.Test(t, func(t *testing.T) {
			all := map[string]*model.Item{}
			for i := range 8 { // a chain, in no order of the keys
				all[fmt.Sprintf("a/%d", i*3%8)] = &model.Item{Value: 1, Deps: map[bool][]string{true: {fmt.Sprintf("a/%d", (i-1)*3%8)}}[i > 0]}
			}
			key := fmt.Sprintf("a/%d", culprit*3%8)
			m := newMortal(t, []string{key})
			m.start(engine.Options{})
			defer func() { m.stop() }()
			_ = m.set(all)
			m.wait(time.Hour / 2)
			for i := range 8 {
				want := kvscheduler.ValueState_CONFIGURED
				if i == culprit {
					want = kvscheduler.ValueState_FAILED
				} else if i > culprit {
					want = kvscheduler.ValueState_PENDING
				}
				status := m.c.GetValueStatus(fmt.Sprintf("a/%d", i*3%8)).GetValue()
				if status.GetState() != want {
					t.Errorf("with culprit %d value %d is %v %s, expected %v", culprit, i, status.GetState(), status.GetError(), want)
				}
			}
		})
	}
}

// A southbound that dies whatever is applied keeps all values; nothing is held back then.
func TestDiesOfNoValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		m.frail = true
		m.start(engine.Options{})
		defer func() { m.stop() }()
		_ = m.set(values(40))
		m.wait(10 * time.Minute)
		if got := m.c.Suspects(); len(got) > 0 {
			t.Errorf("suspects: %v", got)
		}
		m.mu.Lock()
		m.frail = false
		m.mu.Unlock()
		m.wait(time.Minute / 4)
		m.expect(values(40), nil, math.MaxInt)
	})
}

// Without values nothing is held back; values that are applied later are.
func TestDiesEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		m.frail = true
		m.start(engine.Options{})
		defer func() { m.stop() }()
		m.wait(time.Hour / 2)
		if got := m.c.Suspects(); len(got) > 0 {
			t.Errorf("suspects: %v", got)
		}
	})
}

// A southbound that is killed a few times, or whose connection is lost, has all values soon
// after.
func TestKilledByOthers(t *testing.T) {
	t.Parallel()
	for kills := range 12 {
		for _, blinks := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := newMortal(t)
				m.start(engine.Options{})
				defer func() { m.stop() }()
				_ = m.set(values(40))
				for i := range kills {
					m.wait(time.Second)
					if blinks {
						_ = m.set(map[string]*model.Item{"a/001": {Value: int64(i + 2)}})
						m.blink()
					} else {
						m.mu.Lock()
						m.die()
						m.mu.Unlock()
						m.wait(5 * time.Second)
					}
				}
				if got := m.c.Suspects(); blinks && len(got) > 0 {
					t.Errorf("after %d lost connections: %v", kills, got)
				}
				m.wait(2 * time.Minute)
				m.expect(values(40), nil, kills)
			})
		}
	}
}

// The search continues after a restart of the agent at any time.
func TestSearchAcrossRestarts(t *testing.T) {
	t.Parallel()
	for after := time.Second; after < 2*time.Minute; after += 1700 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			journal := kvstest.NewJournal()
			m := newMortal(t, []string{"a/017"})
			m.start(engine.Options{Journal: journal})
			defer func() { m.stop() }()
			_ = m.set(values(40))
			m.wait(after)
			before := len(m.c.Suspects())
			m.stop()
			m.start(engine.Options{Journal: journal})
			if got := len(m.c.Suspects()); got != before {
				t.Errorf("%v: %d suspects before the restart, %d after it", after, before, got)
			}
			m.wait(time.Second / 10)
			_ = m.resync(values(40))
			m.wait(time.Hour / 2)
			m.expect(values(40), []string{"a/017"}, 2*steps(40))
		})
	}
}

func (m *mortal) resync(values map[string]*model.Item) error {
	txn := m.c.StartNBTransaction()
	for key, it := range values {
		txn.SetValue(key, it)
	}
	_, err := txn.Commit(m.t.Context(), api.WithResync(api.FullResync, false))
	return err
}

// During the search a client deletes or repairs the culprit, or releases what is held back.
func TestSearchIsDisturbed(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"deletes", "repairs", "releases", "changes others"} {
		for after := 15 * time.Second; after < time.Minute; after += 1700 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				m := newMortal(t, []string{"a/017"})
				m.start(engine.Options{})
				defer func() { m.stop() }()
				all, quarantined := values(40), []string{"a/017"}
				_ = m.set(all)
				m.wait(after)
				switch what {
				case "deletes":
					_ = m.set(map[string]*model.Item{"a/017": nil})
					delete(all, "a/017")
					quarantined = nil
				case "repairs":
					_ = m.set(map[string]*model.Item{"a/017": {Value: -1}})
					quarantined = nil
				case "releases":
					_ = m.c.ReleaseQuarantined(t.Context())
					m.wait(0)
					if got := m.c.Suspects(); len(got) > 0 {
						t.Errorf("after the release: %v", got)
					}
				default:
					for i := range 60 {
						_ = m.set(map[string]*model.Item{"a/003": {Value: int64(i)}, "a/020": {Value: int64(i)}, "a/other": {Value: int64(i)}})
						m.wait(time.Second)
					}
				}
				t.Log(what, after)
				m.wait(time.Hour / 2)
				m.expect(all, quarantined, 2*steps(40))
			})
		}
	}
}

// A value that a search found is tried again when it is released or changed: the next death is
// its own, and without one it stays.
func TestReleaseOfWhatASearchFound(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"release", "change"} {
		for _, cured := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				m := newMortal(t, []string{"a/017"})
				m.start(engine.Options{})
				defer func() { m.stop() }()
				_ = m.set(values(40))
				m.wait(time.Hour / 2)
				m.expect(values(40), []string{"a/017"}, steps(40))
				quarantined := []string{"a/017"}
				if cured {
					quarantined = nil
					m.mu.Lock()
					m.deadly = nil
					m.mu.Unlock()
				}
				before := m.counted()
				if way == "release" {
					if err := m.c.ReleaseQuarantined(t.Context(), "a/017"); err != nil {
						t.Fatal(err)
					}
				} else if err := m.set(map[string]*model.Item{"a/017": {Value: 5}}); err != nil {
					t.Fatal(err)
				}
				m.wait(time.Minute)
				m.expect(values(40), quarantined, before+1)
			})
		}
	}
}

// A crash after several values that searches had found are applied again, or together with
// changes of others, is due to the value that a search finds, not to all of them.
func TestReleaseWithOthers(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"release", "change", "change with another", "change, then another"} {
		synctest.Test(t, func(t *testing.T) {
			m := newMortal(t, []string{"a/017"}, []string{"a/033"})
			m.start(engine.Options{})
			defer func() { m.stop() }()
			all := values(40)
			_ = m.set(all)
			m.wait(time.Hour / 2)
			m.expect(all, []string{"a/017", "a/033"}, 2*steps(40))
			m.mu.Lock()
			m.deadly = [][]string{{"a/033"}, {"a/050"}}
			m.mu.Unlock()
			before, quarantined, most := m.counted(), []string{"a/033"}, steps(41)
			cured := map[string]*model.Item{"a/017": {Value: 2}}
			switch way {
			case "release":
				if err := m.c.ReleaseQuarantined(t.Context()); err != nil {
					t.Fatal(err)
				}
			case "change":
				cured["a/033"] = &model.Item{Value: 2}
				_ = m.set(cured)
			case "change with another":
				all["a/050"] = &model.Item{Value: 1}
				quarantined = append(quarantined, "a/050")
				cured["a/050"] = all["a/050"]
				_ = m.set(cured)
			case "change, then another":
				_ = m.set(cured)
				all["a/050"] = &model.Item{Value: 1}
				quarantined = append(quarantined, "a/050")
				_ = m.set(map[string]*model.Item{"a/050": all["a/050"]})
			}
			m.wait(time.Hour / 2)
			m.expect(all, quarantined, before+most)
		})
	}
}
