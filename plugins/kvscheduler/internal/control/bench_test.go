package control_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/control"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// load is a network like those of users: of n values one in ten is an
// interface, one in 200 a bridge domain with 100 bindings derived from it, and
// the rest are routes on the interfaces.
type load struct {
	keys   []string
	values []*model.Item
	broken string // key whose operations fail
	stored map[string]proto.Message
}

func newLoad(n int) *load {
	l := &load{stored: map[string]proto.Message{}}
	interfaces := n / 10
	add := func(key string, it *model.Item) {
		l.keys, l.values = append(l.keys, key), append(l.values, it)
	}
	for i := range interfaces {
		add(fmt.Sprintf("config/interface/if%d", i), &model.Item{Value: 1})
	}
	for i := range n / 200 {
		it := &model.Item{}
		for j := range 100 {
			iface := (i*100 + j) % interfaces
			it.Derived = append(it.Derived, &model.Derived{
				Key:  fmt.Sprintf("bd/%d/interface/if%d", i, iface),
				Item: &model.Item{Deps: []string{fmt.Sprintf("config/interface/if%d", iface)}},
			})
		}
		add(fmt.Sprintf("config/bd/%d", i), it)
	}
	for i := 0; len(l.keys)+n/2 < n; i++ {
		add(fmt.Sprintf("config/route/if%d/10.%d.%d.0", i%interfaces, i>>8, i&255), &model.Item{
			Deps: []string{fmt.Sprintf("config/interface/if%d", i%interfaces)},
		})
	}
	return l // with the bindings about n values
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

func (b *bench) commit(tb testing.TB, values map[string]*model.Item, opts ...api.TxnOption) {
	txn := b.c.StartNBTransaction()
	for key, it := range values {
		if it == nil {
			txn.SetValue(key, nil)
		} else {
			txn.SetValue(key, it)
		}
	}
	if _, err := txn.Commit(context.Background(), opts...); err != nil && b.broken == "" {
		tb.Fatal(err)
	}
}

func (b *bench) all(deleted bool) map[string]*model.Item {
	values := make(map[string]*model.Item, len(b.keys))
	for i, key := range b.keys {
		if deleted {
			values[key] = nil
		} else {
			values[key] = b.values[i]
		}
	}
	return values
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
			values := s.all(false)
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
			s.commit(b, s.all(false))
			values := s.all(true)
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
		values := s.all(false)
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
		s.commit(b, s.all(false))
		b.ResetTimer()
		for i := range b.N {
			s.commit(b, map[string]*model.Item{"config/interface/if7": {Value: int64(i)}})
		}
	})
}

// BenchmarkOneFailure changes one value in a large graph and fails.
func BenchmarkOneFailure(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := newBench(b, n)
		s.commit(b, s.all(false))
		s.broken = "config/interface/if7"
		b.ResetTimer()
		for i := range b.N {
			s.commit(b, map[string]*model.Item{s.broken: {Value: int64(i + 2)}})
		}
	})
}

// BenchmarkCascade takes an interface away from under all its dependents.
func BenchmarkCascade(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := newBench(b, 1000)
		values := map[string]*model.Item{"config/interface/hub": {}}
		for i := range n {
			values[fmt.Sprintf("config/route/hub/%d", i)] = &model.Item{Deps: []string{"config/interface/hub"}}
		}
		s.commit(b, values)
		b.ResetTimer()
		for range b.N {
			s.commit(b, map[string]*model.Item{"config/interface/hub": nil})
			b.StopTimer()
			s.commit(b, map[string]*model.Item{"config/interface/hub": {}})
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
			s.commit(b, s.all(false))
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.StartTimer()
			runtime.KeepAlive(s)
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/value")
	})
}
