package control_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/budgettest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// linear is how many times longer ten times as much may take.
const linear = 12

// bulk is how long it takes to do something with all values at once.
type bulk struct {
	create, update, resync, plan, list, dump, watch, remove time.Duration

	heap float64 // bytes of a value
}

// faster keeps the shorter times of two.
func (m *bulk) faster(o *bulk) {
	mine, other := m.times(), o.times()
	for i := range mine {
		*mine[i] = min(*mine[i], *other[i])
	}
}

func (m *bulk) times() []*time.Duration {
	return []*time.Duration{&m.create, &m.update, &m.resync, &m.plan, &m.list, &m.dump, &m.watch, &m.remove}
}

// measureBulk does everything with n values, in several runs.
func measureBulk(b *testing.B, n, runs int) *bulk {
	m := measureBulkOnce(b, n)
	for range runs - 1 {
		m.faster(measureBulkOnce(b, n))
	}
	return m
}

func measureBulkOnce(b *testing.B, n int) *bulk {
	took := func(f func()) time.Duration {
		runtime.GC()
		return budgettest.Worked(f)
	}
	m := &bulk{}
	before := heap()
	s := newBench(b, n)
	defer s.stop()
	created := s.all(same)
	m.create = took(func() { s.commit(b, created) })
	created = nil
	m.heap = (heap() - before) / float64(n)
	runtime.KeepAlive(s)

	w := s.c.Watch(api.WatchRequest{})
	m.watch = took(func() { readWatch(b, w, n/2) })
	w.Close()
	m.list = took(func() { s.c.ListValueStatus("") })
	m.dump = took(func() {
		for _, d := range s.c.ListDescriptors() {
			if _, err := s.c.DumpValuesByDescriptor(d.Name, api.CachedView); err != nil {
				b.Fatal(err)
			}
		}
	})
	updated := s.all(changed)
	m.plan = took(func() { s.plan(b, updated) })
	m.update = took(func() { s.commit(b, updated) })
	m.resync = took(func() { s.commit(b, updated, api.WithResync(api.FullResync, false)) })
	removed := s.all(deleted)
	m.remove = took(func() { s.commit(b, removed) })
	return m
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
		small, large := measureBulk(b, 10_000, 5), measureBulk(b, 100_000, 3)
		huge := measureBulk(b, 1_000_000, 2)
		budgettest.AtMost(b, "create-100k", large.create.Seconds(), "s", 0.5)
		budgettest.AtMost(b, "resync-100k", large.resync.Seconds(), "s", 0.4)
		budgettest.AtMost(b, "heap-100k", large.heap, "B", 1024)
		budgettest.AtMost(b, "heap-1M", huge.heap, "B", 1024)
		for i, name := range []string{"create", "update", "resync", "plan", "list", "dump", "snapshot", "delete"} {
			s, l, h := *small.times()[i], *large.times()[i], *huge.times()[i]
			budgettest.AtMost(b, name+"-100k/10k", ratio(l, s), "x", linear)
			budgettest.AtMost(b, name+"-1M/100k", ratio(h, l), "x", linear)
			b.ReportMetric(h.Seconds(), "s/"+name+"-1M")
		}
	}
}

func ratio(large, small time.Duration) float64 { return float64(large) / float64(small) }

// BenchmarkCascade takes an interface away from under all its dependents.
func BenchmarkCascade(b *testing.B) {
	const hub = "config/interface/hub"
	cascade := func(n int) func() time.Duration {
		s := newBench(b, 1000)
		values := one(hub, &model.Item{})
		for i := range n {
			values.set(fmt.Sprintf("config/route/hub/%05d", i), &model.Item{Deps: []string{hub}})
		}
		s.commit(b, values)
		return func() time.Duration {
			runtime.GC()
			down := budgettest.Worked(func() { s.commit(b, one(hub, nil)) })
			s.commit(b, one(hub, &model.Item{}))
			return down
		}
	}
	for range b.N {
		small, large := budgettest.Fastest(10, cascade(1000)), budgettest.Fastest(10, cascade(10_000))
		huge := budgettest.Fastest(3, cascade(100_000))
		budgettest.AtMost(b, "cascade-10k", 1000*large.Seconds(), "ms", 60)
		budgettest.AtMost(b, "cascade-10k/1k", ratio(large, small), "x", linear)
		budgettest.AtMost(b, "cascade-100k/10k", ratio(huge, large), "x", linear)
	}
}
