package vpptest_test

import (
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
)

// BenchmarkManyInterfaces makes interfaces with an address each, half of them in
// one bridge domain, synchronises them without a change, and removes them: ten
// networks of a thousand, one after the other, and one of ten thousand, in turn.
// The measurement includes the simulator.
func BenchmarkManyInterfaces(b *testing.B) {
	b.Run("simulator", func(b *testing.B) {
		target := vpptest.Simulator(b, simOptions())
		measure := func(n int) phases { return manyInterfaces(b, target, n, infratest.Worked) }
		measure(1000) // warms up
		const rounds = 3
		var small, large phases
		for range rounds {
			for range 10 {
				small.add(measure(1000))
			}
			large.add(measure(10_000))
		}
		for i, name := range []string{"interfaces-make-10k/1k", "interfaces-resync-10k/1k", "interfaces-remove-10k/1k"} {
			infratest.AtMost(b, name, 10*large[i].Seconds()/small[i].Seconds(), "x", infratest.Linear)
		}
		b.ReportMetric(rounds*10_000/large[0].Seconds(), "made/s")
	})
	b.Run("real", func(b *testing.B) {
		took := manyInterfaces(b, vpptest.Real(b), 1000, infratest.Took)
		b.ReportMetric(1000/took[0].Seconds(), "made/s")
		b.ReportMetric(1000/took[1].Seconds(), "resynced/s")
		b.ReportMetric(1000/took[2].Seconds(), "removed/s")
	})
}

// phases are the times to make, synchronise and remove.
type phases [3]time.Duration

func (p *phases) add(q phases) {
	for i := range p {
		p[i] += q[i]
	}
}

func manyInterfaces(b *testing.B, target vpptest.Target, n int, took func(func()) time.Duration) phases {
	bench := vpptest.Start(b, target)
	defer bench.Stop()
	all := bridged(n)
	return phases{
		took(func() { bench.Must(all) }),
		took(bench.InSync),
		took(func() { bench.Must(deleted(all)) }),
	}
}
