package control_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/budgettest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// BenchmarkKnot creates and deletes one knot of values that all depend on each
// other, by way of a hub; and moves many values from what stands on another one
// to that one, which is created anew at the same time.
func BenchmarkKnot(b *testing.B) {
	const hub, fixed = "config/interface/hub", "config/fixed/hub"
	life := func(n int) func() time.Duration {
		s := newBench(b, 1000)
		create, remove := one(hub, &model.Item{}), one(hub, nil)
		for i := range n {
			end := fmt.Sprintf("config/interface/end%06d", i)
			create.set(end, &model.Item{Deps: []string{hub}})
			create.items[0].Deps = append(create.items[0].Deps, end)
			remove.set(end, nil)
		}
		return func() time.Duration {
			runtime.GC()
			return budgettest.Worked(func() { s.commit(b, create); s.commit(b, remove) })
		}
	}
	move := func(n int) func() time.Duration {
		s := newBench(b, 1000)
		s.fixed(b)
		before, after := one(fixed, &model.Item{}), one(fixed, &model.Item{Value: 1})
		for i := range n {
			end, route := fmt.Sprintf("config/interface/end%06d", i), fmt.Sprintf("config/route/end%06d", i)
			before.set(end, &model.Item{Deps: []string{fixed}})
			before.set(route, &model.Item{Deps: []string{end}})
			after.set(end, nil)
			after.set(route, &model.Item{Deps: []string{fixed}})
		}
		return func() time.Duration {
			s.commit(b, before)
			runtime.GC()
			return budgettest.Worked(func() { s.commit(b, after) })
		}
	}
	for range b.N {
		small, large := budgettest.Fastest(10, life(10_000)), budgettest.Fastest(5, life(100_000))
		budgettest.AtMost(b, "knot-100k/10k", ratio(large, small), "x", linear)
		small, large = budgettest.Fastest(10, move(3_000)), budgettest.Fastest(5, move(30_000))
		budgettest.AtMost(b, "move-30k/3k", ratio(large, small), "x", linear)
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
