package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// bulk is how long it takes to do something with all values at once.
type bulk struct {
	create, update, resync, plan, list, dump, watch, remove time.Duration

	heap float64 // bytes of a value, with its message
	own  float64 // bytes of a value besides its key and message: what the scheduler adds
}

// add adds the times of another one.
func (m *bulk) add(o *bulk) {
	mine, other := m.times(), o.times()
	for i := range mine {
		*mine[i] += *other[i]
	}
}

func (m *bulk) times() []*time.Duration {
	return []*time.Duration{&m.create, &m.update, &m.resync, &m.plan, &m.list, &m.dump, &m.watch, &m.remove}
}

// life is to create, change, synchronise and delete everything.
func (m *bulk) life() time.Duration { return m.create + m.update + m.resync + m.remove }

// measureBulk does everything with a network of n values.
func measureBulk(b *testing.B, n int) *bulk {
	m := &bulk{}
	before := heap()
	s := newBench(b, n)
	defer s.stop()
	took := func(of func(*model.Item) *model.Item, f func(c *change)) time.Duration {
		c := s.all(of)
		debug.FreeOSMemory()
		return infratest.Worked(func() { f(c) })
	}
	c := s.all(same)
	messages := heap()
	debug.FreeOSMemory()
	m.create = infratest.Worked(func() { s.commit(b, c) })
	m.own = (heap() - messages) / float64(n)
	runtime.KeepAlive(c)
	m.heap = (heap() - before) / float64(n) // without the lists of c

	m.watch = took(same, func(*change) {
		w := s.c.Watch(api.WatchRequest{})
		readWatch(b, w, n/2)
		w.Close()
	})
	m.list = took(same, func(*change) { s.c.ListValueStatus("") })
	m.dump = took(same, func(*change) { s.dump(b) })
	m.plan = took(changed, func(c *change) { s.plan(b, c) })
	m.update = took(changed, func(c *change) { s.commit(b, c) })
	m.resync = took(changed, func(c *change) { s.commit(b, c, api.WithResync(api.FullResync, false)) })
	m.remove = took(deleted, func(c *change) { s.commit(b, c) })
	return m
}

// compareBulk does everything with ten networks of n values, one after the
// other, and with one of ten times as many, in turn, and returns the sums: both
// sides work for about as long, and what else happens to the machine meanwhile
// meets both.
func compareBulk(b *testing.B, n, rounds int) (small, large *bulk) {
	small, large = &bulk{}, &bulk{}
	for range rounds {
		for range 10 {
			small.add(measureBulk(b, n))
		}
		m := measureBulk(b, 10*n)
		large.add(m)
		large.heap, large.own = m.heap, m.own
	}
	return small, large
}

// heap is the memory in use.
func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// readWatch reads a snapshot of at least n values.
func readWatch(b *testing.B, w api.StatusWatch, n int) {
	ev, err := w.Next(context.Background())
	if err != nil || len(ev.Values) < n {
		b.Fatalf("a snapshot of %d values, expected %d: %v", len(ev.Values), n, err)
	}
}

func (b *bench) dump(tb testing.TB) {
	for _, d := range b.c.ListDescriptors() {
		if _, err := b.c.DumpValuesByDescriptor(d.Name, api.CachedView); err != nil {
			tb.Fatal(err)
		}
	}
}

func (b *bench) plan(tb testing.TB, c *change) {
	txn := b.c.StartNBTransaction()
	for i, key := range c.keys {
		txn.SetValue(key, c.items[i])
	}
	if _, err := txn.Plan(context.Background()); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkBulk creates, reads, changes, synchronises and deletes everything,
// with history, in networks of ten thousand, a hundred thousand and a million
// values.
func BenchmarkBulk(b *testing.B) {
	for range b.N {
		small, large := compareBulk(b, 10_000, bulkRounds)
		middle, huge := compareBulk(b, 100_000, 1)
		infratest.AtMost(b, "create-100k", large.create.Seconds()/bulkRounds, "s", 0.5)
		infratest.AtMost(b, "resync-100k", large.resync.Seconds()/bulkRounds, "s", 0.4)
		for name, m := range map[string]*bulk{"100k": large, "1M": huge} {
			infratest.AtMost(b, "heap-"+name, m.heap, "B", 1024)
			infratest.AtMost(b, "own-heap-"+name, m.own, "B", 500)
		}
		for i, name := range []string{"create", "update", "resync", "plan", "list", "dump", "snapshot", "delete"} {
			infratest.AtMost(b, name+"-100k/10k", 10*ratio(*large.times()[i], *small.times()[i]), "x", infratest.Linear)
			infratest.AtMost(b, name+"-1M/100k", 10*ratio(*huge.times()[i], *middle.times()[i]), "x", infratest.Linear)
			b.ReportMetric(huge.times()[i].Seconds(), "s/"+name+"-1M")
		}
		infratest.AtMost(b, "life-100k/10k", 10*ratio(large.life(), small.life()), "x", infratest.Linear)
		infratest.AtMost(b, "life-1M/100k", 10*ratio(huge.life(), middle.life()), "x", infratest.Linear)
	}
}

// bulkRounds is how often ten small networks are compared with a large one.
const bulkRounds = 5

func ratio(large, small time.Duration) float64 { return float64(large) / float64(small) }

// grows compares sizes of ten thousand, a hundred thousand and a million.
func grows(b *testing.B, name string, run func(n int) time.Duration) {
	infratest.AtMost(b, name+"-100k/10k", infratest.Growth(bulkRounds, 10_000, run), "x", infratest.Linear)
	infratest.AtMost(b, name+"-1M/100k", infratest.Growth(1, 100_000, run), "x", infratest.Linear)
}

// BenchmarkCascade takes an interface away from under all its dependents.
func BenchmarkCascade(b *testing.B) {
	const hub = "config/interface/hub"
	cascade := func(n int) time.Duration {
		s := newBench(b, 1000)
		defer s.stop()
		values := one(hub, &model.Item{})
		for i := range n {
			values.set(fmt.Sprintf("config/route/hub/%05d", i), &model.Item{Deps: []string{hub}})
		}
		s.commit(b, values)
		runtime.GC()
		return infratest.Worked(func() { s.commit(b, one(hub, nil)) })
	}
	for range b.N {
		infratest.AtMost(b, "cascade-10k", 1000*infratest.Fastest(10, func() time.Duration { return cascade(10_000) }).Seconds(), "ms", 60)
		infratest.AtMost(b, "cascade-10k/1k", infratest.Growth(10*bulkRounds, 1000, cascade), "x", infratest.Linear)
		grows(b, "cascade", cascade)
	}
}

// BenchmarkChoice creates many values, each a provider of the same AnyOf dependency of as
// many others. It deletes every second provider, then all; once with a selector.
func BenchmarkChoice(b *testing.B) {
	life := func(n int, prefix string) time.Duration {
		s := newBench(b, 1000)
		defer s.stop()
		create, some, rest := &change{}, &change{}, &change{}
		for i := range n {
			key := fmt.Sprintf("%s%06d", prefix, i)
			create.set(key, &model.Item{})
			if i%2 == 0 {
				some.set(key, nil)
			} else {
				rest.set(key, nil)
			}
		}
		for i := range n {
			key := fmt.Sprintf("config/route/c%06d", i)
			create.set(key, &model.Item{AnyOf: []string{prefix}})
			rest.set(key, nil)
		}
		runtime.GC()
		return infratest.Worked(func() { s.commit(b, create); s.commit(b, some); s.commit(b, rest) })
	}
	for range b.N {
		for name, prefix := range map[string]string{"anyof-all": "config/interface/c", "selected-all": selectedPrefix} {
			grows(b, name, func(n int) time.Duration { return life(n, prefix) })
		}
	}
}

// BenchmarkCycles creates and deletes pairs of values that depend on each
// other, each pair on the one before it.
func BenchmarkCycles(b *testing.B) {
	life := func(n int) time.Duration {
		s := newBench(b, 1000)
		defer s.stop()
		create, remove := &change{}, &change{}
		end := func(i, of int) string { return fmt.Sprintf("config/interface/veth%06d-%d", i, of) }
		for i := range n / 2 {
			first, second := &model.Item{Deps: []string{end(i, 1)}}, &model.Item{Deps: []string{end(i, 0)}}
			if i > 0 {
				first.Deps = append(first.Deps, end(i-1, 0))
			}
			create.set(end(i, 0), first)
			create.set(end(i, 1), second)
			remove.set(end(i, 0), nil)
			remove.set(end(i, 1), nil)
		}
		runtime.GC()
		return infratest.Worked(func() { s.commit(b, create); s.commit(b, remove) })
	}
	for range b.N {
		grows(b, "cycles", life)
	}
}

// BenchmarkMap is what the others that grow are to be compared with: the least that
// anybody does who has something under a key. Ten times as much of it takes more
// than ten times as long, too, as it does not fit into the caches of the processor.
func BenchmarkMap(b *testing.B) {
	type value struct{ fields [15]int64 }
	for range b.N {
		life := func(n int) time.Duration {
			keys := make([]string, n)
			for i := range keys {
				keys[i] = fmt.Sprintf("config/interface/c%06d", i)
			}
			runtime.GC()
			return infratest.Worked(func() {
				values := map[string]*value{}
				for _, key := range keys {
					values[key] = &value{}
				}
				for _, key := range keys {
					values[key].fields[0]++
				}
				for _, key := range keys {
					delete(values, key)
				}
			})
		}
		infratest.Compare(b, "map-100k/10k", infratest.Growth(bulkRounds, 10_000, life), "x")
		infratest.Compare(b, "map-1M/100k", infratest.Growth(1, 100_000, life), "x")
	}
}

// BenchmarkListPending lists pending values: a chain whose first value waits for a
// missing value, and values that depend on any value of the chain.
func BenchmarkListPending(b *testing.B) {
	list := func(n int) time.Duration {
		s := newBench(b, 1000)
		defer s.stop()
		pending := &change{}
		for i := range n {
			pending.set(fmt.Sprintf("config/interface/p%06d", i), &model.Item{Deps: []string{fmt.Sprintf("config/interface/p%06d", i-1)}})
		}
		for i := range n {
			pending.set(fmt.Sprintf("config/route/p%06d", i), &model.Item{AnyOf: []string{"config/interface/"}})
		}
		s.commit(b, pending)
		runtime.GC()
		return infratest.Worked(func() { s.c.ListValueStatus("") })
	}
	for range b.N {
		grows(b, "list-pending", list)
	}
}
