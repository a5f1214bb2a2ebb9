package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// BenchmarkKnot creates and deletes one knot of values: each depends on both of
// its neighbours.
func BenchmarkKnot(b *testing.B) {
	life := func(n int) time.Duration {
		s := newBench(b, 1000)
		defer s.stop()
		create, remove := &change{}, &change{}
		end := func(i int) string { return fmt.Sprintf("config/interface/end%07d", (i+n)%n) }
		for i := range n {
			create.set(end(i), &model.Item{Deps: []string{end(i - 1), end(i + 1)}})
			remove.set(end(i), nil)
		}
		runtime.GC()
		return infratest.Worked(func() { s.commit(b, create); s.commit(b, remove) })
	}
	for range b.N {
		grows(b, "knot", life)
	}
}

// BenchmarkMove moves many values from a dependent of another value to that value, which
// is re-created at the same time, so that none of them can be updated.
func BenchmarkMove(b *testing.B) {
	const hub = "config/fixed/hub"
	move := func(n int) time.Duration {
		s := newBench(b, 1000)
		defer s.stop()
		s.fixed(b)
		before, after := one(hub, &model.Item{}), one(hub, &model.Item{Value: 1})
		for i := range n / 2 {
			end, route := fmt.Sprintf("config/interface/end%06d", i), fmt.Sprintf("config/route/end%06d", i)
			before.set(end, &model.Item{Deps: []string{hub}})
			before.set(route, &model.Item{Deps: []string{end}})
			after.set(end, nil)
			after.set(route, &model.Item{Deps: []string{hub}})
		}
		s.commit(b, before)
		runtime.GC()
		return infratest.Worked(func() { s.commit(b, after) })
	}
	for range b.N {
		grows(b, "move", move)
	}
}

// fixed adds a descriptor of values that cannot be changed in place.
func (b *bench) fixed(tb testing.TB) {
	err := b.c.RegisterKVDescriptor(api.Adapt(&api.Descriptor[*model.Item, int]{
		Name: "fixed", NBKeyPrefix: "config/fixed/", KeySelector: hasPrefix("config/fixed/"),
		Create: func(string, *model.Item) (int, error) { return 0, nil },
		Delete: func(string, *model.Item, int) error { return nil },
	}))
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkLost loses the southbound that all values are in, and gets it back with
// nothing in it.
func BenchmarkLost(b *testing.B) {
	lose := func(n int) time.Duration {
		s := newBench(b, 1000)
		defer s.stop()
		d := api.Adapt(&api.Descriptor[*model.Item, int]{
			Name: "remote", KeySelector: hasPrefix("remote/"), NBKeyPrefix: "remote/", Southbound: "remote",
			Create:   func(string, *model.Item) (int, error) { return 0, nil },
			Delete:   func(string, *model.Item, int) error { return nil },
			Retrieve: func([]api.KV[*model.Item, int]) ([]api.KV[*model.Item, int], error) { return nil, nil },
		})
		if err := s.c.RegisterKVDescriptor(d); err != nil {
			b.Fatal(err)
		}
		create := &change{}
		for i := range n {
			create.set(fmt.Sprintf("remote/%07d", i), &model.Item{})
		}
		s.c.SouthboundUp("remote", 1)
		s.commit(b, create)
		runtime.GC()
		return infratest.Worked(func() {
			s.c.SouthboundDown("remote", errInjected)
			s.c.SouthboundUp("remote", 2)
			s.c.TransactionBarrier()
		})
	}
	for range b.N {
		grows(b, "lost", lose)
	}
}
