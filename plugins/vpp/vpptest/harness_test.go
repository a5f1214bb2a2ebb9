package vpptest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// BenchmarkRoutes configures 10,000 routes through the scheduler and the
// plugins, synchronises them again without a change, and removes them.
func BenchmarkRoutes(b *testing.B) {
	const count = 10_000
	b.Run("simulator", func(b *testing.B) { benchmarkRoutes(b, vpptest.Simulator(b, simOptions()), count) })
	b.Run("real", func(b *testing.B) { benchmarkRoutes(b, vpptest.Real(b), count) })
}

func benchmarkRoutes(b *testing.B, target vpptest.Target, count int) {
	bench := vpptest.Start(b, target)
	bench.Must(of(loop("lo", "10.0.0.1/16")))
	routes := values{}
	for i := range count {
		r := &l3.Route{
			DstNetwork:  fmt.Sprintf("20.%d.%d.0/24", i>>8, i&0xff),
			NextHopAddr: fmt.Sprintf("10.0.%d.2", i&0x0f), OutgoingInterface: "lo",
		}
		routes[routeKey(r)] = r
	}
	var up, again, down time.Duration
	for b.Loop() {
		start := time.Now()
		bench.Must(routes)
		up += time.Since(start)
		start = time.Now()
		bench.InSync()
		again += time.Since(start)
		start = time.Now()
		bench.Must(deleted(routes))
		down += time.Since(start)
	}
	perSecond := func(d time.Duration) float64 { return float64(b.N*count) / d.Seconds() }
	b.ReportMetric(perSecond(up), "created/s")
	b.ReportMetric(perSecond(again), "resynced/s")
	b.ReportMetric(perSecond(down), "deleted/s")
}

// BenchmarkInterfaces configures loopbacks with an address each, in bridge
// domains of 100, synchronises them again without a change, and removes them.
func BenchmarkInterfaces(b *testing.B) {
	const count = 2000
	bench := vpptest.Start(b, vpptest.Simulator(b, simOptions()))
	all := values{}
	for i := range count {
		lo := loop(fmt.Sprintf("lo%d", i), fmt.Sprintf("10.%d.%d.1/24", i>>8, i&0xff))
		all[ifKey(lo.Name)] = lo
		name := fmt.Sprintf("bd%d", i/100)
		bd, ok := all[bdKey(name)].(*l2.BridgeDomain)
		if !ok {
			bd = bridge(name)
			all[bdKey(name)] = bd
		}
		bd.Interfaces = append(bd.Interfaces, bridge("", lo.Name).Interfaces[0])
	}
	var up, again, down time.Duration
	for b.Loop() {
		start := time.Now()
		bench.Must(all)
		up += time.Since(start)
		start = time.Now()
		bench.InSync()
		again += time.Since(start)
		start = time.Now()
		bench.Must(deleted(all))
		down += time.Since(start)
	}
	perSecond := func(d time.Duration) float64 { return float64(b.N*count) / d.Seconds() }
	b.ReportMetric(perSecond(up), "created/s")
	b.ReportMetric(perSecond(again), "resynced/s")
	b.ReportMetric(perSecond(down), "deleted/s")
}
