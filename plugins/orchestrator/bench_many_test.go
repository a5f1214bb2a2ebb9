package orchestrator_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// BenchmarkMany brings items from a client to a mock southbound, as one change:
// a million, and ten times a hundred thousand one after the other, which is the
// same work. The first run is not counted: memory that the process never had is
// dear in a virtual machine, and only a million items would pay for it.
func BenchmarkMany(b *testing.B) {
	once := func(b *testing.B, n int) time.Duration {
		w := start(b, nil)
		w.waitSynced()
		items := make([]orchestrator.KeyVal, n)
		for i := range items {
			items[i] = iface(fmt.Sprintf("if%06d", i), 1500)
		}
		runtime.GC()
		return infratest.Worked(func() { w.push("grpc", items...) })
	}
	var small, large time.Duration
	b.Run("first", func(b *testing.B) { once(b, 1_000_000) })
	for i := range 10 {
		b.Run(fmt.Sprintf("100k-%d", i), func(b *testing.B) { small += once(b, 100_000) })
	}
	b.Run("1M", func(b *testing.B) {
		large = once(b, 1_000_000)
		b.ReportMetric(small.Seconds(), "s/10*100k")
		b.ReportMetric(large.Seconds(), "s/1M")
		infratest.AtMost(b, "push-1M/100k", 10*float64(large)/float64(small), "x", 12)
	})
}
