package control_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/control"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// load is a network like those of users, of about n values: one in ten is an
// interface with four routes on it, and every other value binds an interface
// to one of the bridge domains, of which each derives 100.
type load struct {
	keys   []string
	values []*model.Item
	broken string // key whose operations fail
}

func newLoad(n int) *load {
	l := &load{}
	add := func(key string, it *model.Item) {
		l.keys, l.values = append(l.keys, key), append(l.values, it)
	}
	iface := func(i int) string { return fmt.Sprintf("if%06d", i) }
	interfaces := n / 10
	for i := range n / 200 {
		it := &model.Item{}
		for j := range 100 {
			name := iface((i*100 + j) % interfaces)
			it.Derived = append(it.Derived, &model.Derived{
				Key: fmt.Sprintf("bd/%04d/interface/%s", i, name), Item: &model.Item{Deps: []string{"config/interface/" + name}},
			})
		}
		add(fmt.Sprintf("config/bd/%04d", i), it)
	}
	for i := range interfaces {
		add("config/interface/"+iface(i), &model.Item{Value: 1})
	}
	for i := range interfaces {
		for j := range 4 {
			add(fmt.Sprintf("config/route/%s/10.%d.0.0", iface(i), j), &model.Item{Deps: []string{"config/interface/" + iface(i)}})
		}
	}
	return l
}

func (l *load) descriptors() []*api.KVDescriptor {
	var out []*api.KVDescriptor
	for _, prefix := range []string{"config/interface/", "config/bd/", "config/route/", "bd/"} {
		d := &api.Descriptor[*model.Item, int]{
			Name: strings.Trim(strings.ReplaceAll(prefix, "/", "-"), "-"), KeySelector: hasPrefix(prefix),
			ValueComparator: nil, Dependencies: itemDeps, DerivedValues: itemDerived,
			Create: func(key string, it *model.Item) (int, error) {
				if key == l.broken {
					return 0, errInjected
				}
				return 0, nil
			},
			Update: func(key string, _, it *model.Item, _ int) (int, error) {
				if key == l.broken {
					return 0, errInjected
				}
				return 0, nil
			},
			Delete: func(key string, _ *model.Item, _ int) error { return nil },
		}
		if strings.HasPrefix(prefix, "config/") {
			d.NBKeyPrefix = prefix
			d.Retrieve = func(correlate []api.KV[*model.Item, int]) ([]api.KV[*model.Item, int], error) {
				return correlate, nil
			}
		} else {
			d.DerivedValues = nil
		}
		out = append(out, api.Adapt(d))
	}
	return out
}

// bench is a scheduler with a load in it.
type bench struct {
	*load
	c    *control.Control
	stop func()
}

func newBench(tb testing.TB, n int) *bench {
	b := &bench{load: newLoad(n), c: control.New(control.Options{
		Record: true, History: record.Options{MaxEntries: 1000, MaxBytes: 64 << 20},
	})}
	if err := b.c.RegisterKVDescriptor(b.descriptors()...); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); b.c.Run(ctx) }()
	b.stop = func() { cancel(); <-done }
	tb.Cleanup(b.stop)
	return b
}

// change is a list of values in the order of a configuration; nil deletes.
type change struct {
	keys  []string
	items []*model.Item
}

func (c *change) set(key string, it *model.Item) {
	c.keys, c.items = append(c.keys, key), append(c.items, it)
}

func one(key string, it *model.Item) *change {
	c := &change{}
	c.set(key, it)
	return c
}

func (b *bench) commit(tb testing.TB, c *change, opts ...api.TxnOption) {
	txn := b.c.StartNBTransaction()
	for i, key := range c.keys {
		if c.items[i] == nil {
			txn.SetValue(key, nil)
		} else {
			txn.SetValue(key, c.items[i])
		}
	}
	if _, err := txn.Commit(context.Background(), opts...); err != nil && b.broken == "" {
		tb.Fatal(err)
	}
}

func (b *bench) all(of func(*model.Item) *model.Item) *change {
	c := &change{}
	for i, key := range b.keys {
		c.set(key, of(b.values[i]))
	}
	return c
}

func same(it *model.Item) *model.Item { return it }
func deleted(*model.Item) *model.Item { return nil }
func changed(it *model.Item) *model.Item {
	other := proto.Clone(it).(*model.Item)
	other.Value += 10
	return other
}

func sizes(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) { f(b, n) })
	}
}

func perValue(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
}

// BenchmarkCreate creates everything in one transaction.
func BenchmarkCreate(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		for range b.N {
			b.StopTimer()
			s := newBench(b, n)
			values := s.all(same)
			runtime.GC()
			b.StartTimer()
			s.commit(b, values)
		}
		perValue(b, n)
	})
}

// BenchmarkDelete deletes everything in one transaction.
func BenchmarkDelete(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		for range b.N {
			b.StopTimer()
			s := newBench(b, n)
			s.commit(b, s.all(same))
			values := s.all(deleted)
			runtime.GC()
			b.StartTimer()
			s.commit(b, values)
		}
		perValue(b, n)
	})
}

// BenchmarkResync is a full resync that changes nothing.
func BenchmarkResync(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := newBench(b, n)
		values := s.all(same)
		s.commit(b, values)
		b.ResetTimer()
		for range b.N {
			s.commit(b, values, api.WithResync(api.FullResync, false))
		}
		perValue(b, n)
	})
}

// BenchmarkOneChange changes one value in a large graph.
func BenchmarkOneChange(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := newBench(b, n)
		s.commit(b, s.all(same))
		b.ResetTimer()
		for i := range b.N {
			s.commit(b, one("config/interface/if000007", &model.Item{Value: int64(i)}))
		}
	})
}

// BenchmarkOneFailure changes one value in a large graph and fails.
func BenchmarkOneFailure(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := newBench(b, n)
		s.commit(b, s.all(same))
		s.broken = "config/interface/if000007"
		b.ResetTimer()
		for i := range b.N {
			s.commit(b, one(s.broken, &model.Item{Value: int64(i + 2)}))
		}
	})
}

// BenchmarkCascade takes an interface away from under all its dependents.
func BenchmarkCascade(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := newBench(b, 1000)
		values := one("config/interface/hub", &model.Item{})
		for i := range n {
			values.set(fmt.Sprintf("config/route/hub/%d", i), &model.Item{Deps: []string{"config/interface/hub"}})
		}
		s.commit(b, values)
		b.ResetTimer()
		for range b.N {
			s.commit(b, one("config/interface/hub", nil))
			b.StopTimer()
			s.commit(b, one("config/interface/hub", &model.Item{}))
			b.StartTimer()
		}
		perValue(b, n)
	})
}

// BenchmarkHeap is the memory of a value, its message and relations included.
func BenchmarkHeap(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		var before, after runtime.MemStats
		for range b.N {
			b.StopTimer()
			runtime.GC()
			runtime.ReadMemStats(&before)
			s := newBench(b, n)
			s.commit(b, s.all(same))
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.StartTimer()
			runtime.KeepAlive(s)
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/value")
	})
}

// BenchmarkLinear creates, changes, resyncs and deletes everything, with ten
// thousand and with a hundred thousand values in one run. x/10x is how many
// times longer the larger one takes; the budget is 12.
func BenchmarkLinear(b *testing.B) {
	cycle := func(n int) time.Duration {
		s := newBench(b, n)
		defer s.stop()
		created, updated, removed := s.all(same), s.all(changed), s.all(deleted)
		runtime.GC()
		start := time.Now()
		s.commit(b, created)
		s.commit(b, updated)
		s.commit(b, updated, api.WithResync(api.FullResync, false))
		s.commit(b, removed)
		return time.Since(start)
	}
	var small, large time.Duration
	for range b.N {
		for range 5 {
			small += cycle(10_000) / 5
		}
		large += cycle(100_000)
	}
	b.ReportMetric(float64(small.Nanoseconds())/float64(b.N)/10_000, "ns/value@10k")
	b.ReportMetric(float64(large.Nanoseconds())/float64(b.N)/100_000, "ns/value@100k")
	b.ReportMetric(float64(large)/float64(small), "x/10x")
}
