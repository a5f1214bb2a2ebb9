package publish_test

import (
	"bytes"
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

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a data store in memory, with or without lifetimes and TTLs.
type store struct {
	plain, ttls bool

	mu     sync.Mutex
	values map[string]string
	log    []string // puts and deletions
	broken error
	block  chan struct{} // if not nil, puts wait for it
	expiry map[string]*time.Timer
}

func newStore(keys ...string) *store {
	s := &store{values: map[string]string{}, expiry: map[string]*time.Timer{}}
	for _, key := range keys {
		s.values[key] = "old"
	}
	return s
}

func (s *store) String() string { return "memory" }
func (s *store) Disabled() bool { return false }
func (s *store) DB() kv.DB      { return db{s: s} }

// db is what a publisher reads of the store.
type db struct {
	kv.DB
	s *store
}

func (d db) Get(_ context.Context, key string) (kv.Item, error) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if _, ok := d.s.values[key]; !ok && d.s.broken == nil {
		return kv.Item{}, kv.ErrNotFound
	}
	return kv.Item{Key: key}, d.s.broken
}

func (s *store) Put(key string, value proto.Message, opts ...kv.PutOption) error {
	s.mu.Lock()
	block := s.block
	s.mu.Unlock()
	if block != nil {
		<-block
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	o := kv.CollectPut(opts)
	if o.ClientLifetime == s.plain || o.TTL > 0 && !s.ttls {
		return kv.ErrNotSupported
	}
	if s.expiry[key] != nil {
		s.expiry[key].Stop()
	}
	if o.TTL > 0 {
		s.expiry[key] = time.AfterFunc(o.TTL, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.values, key)
		})
	}
	s.values[key] = value.(*wrapperspb.StringValue).Value
	s.log = append(s.log, key+"="+s.values[key])
	return nil
}

func (s *store) Delete(key string, opts ...kv.DelOption) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return false, s.broken
	}
	n := len(s.values)
	maps.DeleteFunc(s.values, func(k string, _ string) bool {
		return k == key || kv.CollectDel(opts).Prefix && strings.HasPrefix(k, key)
	})
	s.log = append(s.log, "-"+key)
	return len(s.values) < n, nil
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// world is a publisher that runs.
type world struct {
	*publish.Publisher
	t      *testing.T
	s      *store
	health *health.Tree
	log    *bytes.Buffer
	stop   func()
}

func run(t *testing.T, s *store) *world { return runOn(t, s, s) }

// runOn runs a publisher to a store that keeps what it has in s.
func runOn(t *testing.T, to publish.Store, s *store) *world { return runWith(t, to, s, 0) }

// runWith is runOn with a TTL.
func runWith(t *testing.T, to publish.Store, s *store, expire time.Duration) *world {
	w := &world{t: t, s: s, health: health.NewTree(nil), log: &bytes.Buffer{}}
	w.Publisher = publish.New(publish.Options{
		Store: to, Prefix: "/me/state/", What: "states", Log: logging.NewRegistry(logging.WithWriter(w.log)).Logger("test"),
		Health: w.health.Plugin("test"), Expire: expire,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-ended
	}
	return w
}

func (w *world) set(key, value string) {
	if value == "" {
		w.Set("/me/state/"+key, nil)
		return
	}
	w.Set("/me/state/"+key, wrapperspb.String(value))
}

// want compares the content of the store as soon as nothing more happens.
func (w *world) want(want string) {
	w.t.Helper()
	synctest.Wait()
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	var got []string
	for _, key := range slices.Sorted(maps.Keys(w.s.values)) {
		got = append(got, strings.TrimPrefix(key, "/me/state/")+"="+w.s.values[key])
	}
	if text := strings.Join(got, " "); text != want {
		w.t.Errorf("the store has %q, want %q", text, want)
	}
}

func (w *world) wantHealth(state health.State, text string) {
	w.t.Helper()
	if got := w.health.Snapshot().Plugins[0]; got.State != state || !strings.Contains(got.Reason+": "+got.Error, text) {
		w.t.Errorf("health %+v, want %v with %q", got, state, text)
	}
}

func TestFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, newStore("/me/state/left", "/you/state/x"))
		w.want("/you/state/x=old")
		w.set("a", "1")
		w.set("b", "1")
		w.want("a=1 b=1 /you/state/x=old")
		w.set("a", "2")
		w.set("b", "")
		w.want("a=2 /you/state/x=old")
		w.wantHealth(health.OK, "published to memory")

		w.s.log = nil // what is the same is not written again
		w.set("a", "2")
		w.set("none", "")
		w.want("a=2 /you/state/x=old")
		if len(w.s.log) > 0 {
			t.Errorf("written: %q", w.s.log)
		}
		if keys := w.Keys(); !slices.Equal(keys, []string{"/me/state/a"}) {
			t.Errorf("keys %q", keys)
		}
		w.stop()
		w.want("a=2 /you/state/x=old") // it goes with its lifetime
	})
}

// A store that can not remove values by itself is cleaned at the end.
func TestWithoutLifetimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore("/me/state/left")
		s.plain = true
		w := run(t, s)
		w.set("a", "1")
		w.want("a=1")
		w.stop()
		w.want("")
	})
}

// In a store with TTLs the values are renewed while the agent runs, and expire after a crash.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.plain, s.ttls = true, true
		w := runWith(t, s, s, 30*time.Second)
		w.set("a", "1")
		w.set("b", "2")
		time.Sleep(time.Hour)
		w.want("a=1 b=2")
		w.set("b", "")
		time.Sleep(time.Hour)
		w.want("a=1")
		s.mu.Lock()
		before := len(s.log)
		s.mu.Unlock()
		s.fail(errors.New("the agent crashed")) // so that it writes nothing more
		time.Sleep(31 * time.Second)
		w.want("")
		w.stop()
		if before < 2*360 {
			t.Errorf("%d writes in two hours", before)
		}
	})
}

// A store that can renew a TTL gets each value once.
func TestRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.plain, s.ttls = true, true
		w := runWith(t, renewing{s}, s, 30*time.Second)
		w.set("a", "1")
		w.set("b", "2")
		time.Sleep(time.Hour)
		w.want("a=1 b=2")
		s.mu.Lock()
		if len(s.log) != 3 { // the old ones removed, a, b
			t.Errorf("written: %q", s.log)
		}
		delete(s.values, "/me/state/b") // lost: it is put again
		s.mu.Unlock()
		time.Sleep(time.Minute)
		w.want("a=1 b=2")
		s.fail(errors.New("the agent crashed"))
		time.Sleep(31 * time.Second)
		w.want("")
		w.stop()
	})
}

// renewing is a store with a DB that renews TTLs.
type renewing struct{ *store }

func (r renewing) DB() kv.DB { return renewingDB{db{s: r.store}} }

type renewingDB struct{ db }

func (r renewingDB) Renew(_ context.Context, key string, ttl time.Duration) (bool, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.broken != nil {
		return false, r.s.broken
	}
	_, ok := r.s.values[key]
	return ok && r.s.expiry[key].Reset(ttl), nil
}

// In a store without TTLs they remain.
func TestNoTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.plain = true
		w := runWith(t, s, s, 30*time.Second)
		w.set("a", "1")
		time.Sleep(time.Hour)
		w.want("a=1")
		if len(s.log) != 2 { // the old ones removed, a
			t.Errorf("written: %q", s.log)
		}
		w.stop()
		w.want("")
	})
}

// What a store is too slow for is left out, but for the latest of each key.
func TestSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.block = make(chan struct{})
		w := run(t, s)
		for i := range 100 {
			w.set("a", fmt.Sprint(i))
			w.set("b", fmt.Sprint(i))
			if i == 0 {
				synctest.Wait() // the first ones are being written
			}
		}
		w.set("b", "")
		close(s.block)
		w.want("a=99")
		if len(s.log) != 5 { // the old ones removed, 0 and 99 of a, 0 and the removal of b
			t.Errorf("written: %q", s.log)
		}
		w.stop()
	})
}

// A failing store is logged once and retried, and gets the latest values.
func TestBrokenStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore("/me/state/left")
		s.fail(errors.New("out of order"))
		w := run(t, s)
		w.set("a", "1")
		w.want("left=old")
		w.wantHealth(health.Degraded, "states is not published to memory: remove the values of a previous agent: out of order")
		time.Sleep(time.Minute)
		s.fail(nil)
		w.set("a", "2")
		time.Sleep(5 * time.Second)
		w.want("a=2")
		s.fail(errors.New("out of order"))
		w.set("a", "3")
		w.set("b", "1")
		synctest.Wait()
		w.set("a", "4") // newer than the value that is retried
		w.wantHealth(health.Degraded, "out of order")
		s.fail(nil)
		time.Sleep(time.Second)
		w.want("a=4 b=1")
		w.wantHealth(health.OK, "")
		if n := strings.Count(w.log.String(), "cannot publish"); n != 2 {
			t.Errorf("reported %d times, want 2:\n%s", n, w.log)
		}
		w.stop()
	})
}

// naming is a store whose errors name the key, as Consul does.
type naming struct{ *store }

func (n naming) Put(key string, value proto.Message, opts ...kv.PutOption) error {
	if err := n.store.Put(key, value, opts...); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// The health of a store that is down has one text, whichever writes fail: health is
// published to other stores whenever its text changes.
func TestBrokenStoreHasOneText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		w := runOn(t, naming{s}, s)
		synctest.Wait()
		s.fail(errors.New("out of order"))
		for i := range 40 {
			w.set(fmt.Sprintf("%02d", i), "1")
		}
		texts := map[string]bool{}
		for range 50 {
			time.Sleep(time.Second)
			synctest.Wait()
			texts[w.health.Snapshot().Plugins[0].Error] = true
		}
		if len(texts) != 1 {
			t.Errorf("%d texts: %q", len(texts), slices.Sorted(maps.Keys(texts)))
		}
		w.stop()
	})
}

// A store that has lost everything gets everything again.
func TestEmptiedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		w := run(t, s)
		for i := range 40 {
			w.set(fmt.Sprintf("%02d", i), "1")
		}
		synctest.Wait()
		s.mu.Lock()
		before := maps.Clone(s.values)
		clear(s.values)
		s.log = nil
		s.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if !maps.Equal(s.values, before) || len(s.log) != len(before) {
			t.Errorf("%d values after %d writes, want %d once", len(s.values), len(s.log), len(before))
		}
		s.fail(errors.New("out of order")) // which says nothing about the content
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.log) != len(before) {
			t.Errorf("%d writes, want %d", len(s.log), len(before))
		}
		w.stop()
	})
}

func TestChoose(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	stores := []publish.Store{newStore(), disabled{}}
	choose := func(names ...string) ([]publish.Store, error) {
		return publish.Choose("status-publishers", names, stores, logging.NewRegistry(logging.WithWriter(&log)).Logger("test"))
	}
	if got, err := choose(); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := choose("disabled", "memory"); len(got) != 1 || got[0] != stores[0] || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if !strings.Contains(log.String(), "disabled") {
		t.Errorf("no warning about the store that is not configured: %s", &log)
	}
	for want, names := range map[string][]string{
		`status-publishers[1]: "x" is not a data store of this agent, expected one of ["memory" "disabled"]`: {"memory", "x"},
		`status-publishers[1]: duplicate "memory"`:                                                           {"memory", "memory"},
	} {
		if _, err := choose(names...); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", names, err, want)
		}
	}
}

// disabled is a store that is not configured.
type disabled struct{ kv.Writer }

func (disabled) String() string { return "disabled" }
func (disabled) Disabled() bool { return true }
