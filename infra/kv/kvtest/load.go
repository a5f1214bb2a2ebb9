package kvtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

type fault struct {
	name string
	// happen is called repeatedly under load. It returns when the server works
	// again.
	happen func(tb testing.TB, s Server)
}

var faults = []fault{
	{"restart", func(tb testing.TB, s Server) { s.Restart(tb) }},
	{"pause", func(tb testing.TB, s Server) {
		resume := s.Pause(tb)
		rest(time.Duration(rand.IntN(300)) * time.Millisecond)
		resume()
	}},
	{"partition", func(tb testing.TB, s Server) {
		heal := s.Partition(tb)
		rest(time.Duration(rand.IntN(300)) * time.Millisecond)
		heal()
	}},
}

// rest makes a failure last for a while; no result depends on how long.
func rest(d time.Duration) { <-time.After(d) }

// load follows a store under load.
func load(b *bench) { loadWith(b, fault{name: "none", happen: func(testing.TB, Server) {}}) }

const (
	loadKeys   = 20
	loadFaults = 3
)

// stamp is a value in the load: the n-th of its key.
type stamp struct {
	N       int  `json:"n"`
	Deleted bool `json:"-"`
}

// loadWith writes to many keys, by one writer per key, whose values count up;
// sometimes it deletes a key. A follower must see only values that were
// written, in the order of writing for each key, and in the end the present
// content.
func loadWith(b *bench, f fault) {
	b.put("00", `{"n":1}`)
	model := newModel(b)
	b.inBackground(func(ctx context.Context) error { return b.c.Watch(ctx, b.prefix, model.handle) })
	model.await(map[string]int{"00": 1})

	var wg sync.WaitGroup
	var stop atomic.Bool
	written := make([]int, loadKeys)
	for k := range loadKeys {
		wg.Go(func() {
			for n := 2; n < 40 || !stop.Load(); n++ {
				b.write(fmt.Sprintf("%02d", k), n)
				written[k] = n
			}
		})
	}
	for range loadFaults {
		f.happen(b.TB, b.suite.Server)
	}
	stop.Store(true)
	wg.Wait()
	if b.Failed() {
		return
	}
	want := map[string]int{}
	for k, n := range written {
		if n%7 != 0 {
			want[fmt.Sprintf("%02d", k)] = n
		}
	}
	stored, err := b.db.List(b.ctx, b.prefix)
	b.ok(err)
	if len(stored.Items) != len(want) {
		b.Errorf("the store has %d entries, want %d", len(stored.Items), len(want))
	}
	model.await(want)
	b.Logf("%d writes, %d updates, %d changes", total(written), model.updates, model.changes)
}

func total(ns []int) (sum int) {
	for _, n := range ns {
		sum += n
	}
	return sum
}

// write makes the n-th write of a key; every seventh deletes it. During a
// failure it repeats the write, since the outcome of a failed one is unknown.
func (b *bench) write(key string, n int) {
	for {
		ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second+b.suite.Late)
		var err error
		if n%7 == 0 {
			_, err = b.db.Delete(ctx, b.prefix+key)
		} else {
			err = b.db.Put(ctx, b.prefix+key, fmt.Appendf(nil, `{"n":%d}`, n))
		}
		cancel()
		if err == nil {
			return
		}
		if b.ctx.Err() != nil {
			b.Errorf("%s %d: %v", key, n, err)
			return
		}
		rest(20 * time.Millisecond)
	}
}

// model is the state of a follower.
type model struct {
	b                *bench
	monitor          monitor // guards the fields below
	known            map[string]int
	highest          map[string]int
	updates, changes int
}

func newModel(b *bench) *model {
	return &model{b: b, monitor: newMonitor(), known: map[string]int{}, highest: map[string]int{}}
}

func (m *model) handle(u kv.Update) error {
	m.monitor.change(func() { m.apply(u) })
	return nil
}

// apply checks and applies an update.
func (m *model) apply(u kv.Update) {
	if u.Resync {
		if m.updates > 0 {
			m.b.Error("the whole content was reported twice")
		}
		clear(m.known)
	}
	m.updates++
	for _, ch := range u.Changes {
		m.changes++
		if ch.Deleted {
			if m.known[ch.Key] == 0 {
				m.b.Errorf("%s is deleted, but does not exist", ch.Key)
			}
			delete(m.known, ch.Key)
			continue
		}
		var s stamp
		if err := json.Unmarshal(ch.Value.(kv.Encoded), &s); err != nil || s.N%7 == 0 {
			m.b.Errorf("%s: %q was never written", ch.Key, ch.Value)
		}
		if s.N < m.highest[ch.Key] {
			m.b.Errorf("%s: %d after %d", ch.Key, s.N, m.highest[ch.Key])
		}
		m.known[ch.Key], m.highest[ch.Key] = s.N, s.N
	}
}

// await waits until the follower has exactly this content.
func (m *model) await(want map[string]int) {
	m.b.Helper()
	m.monitor.await(m.b.ctx, m.b, func() bool { return maps.Equal(m.known, want) },
		func() string { return fmt.Sprintf("the follower knows %v, want %v", m.known, want) })
}
