package app_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// roomForRoutes is what a VPP needs for a million routes; see docs/design/scale.md.
const roomForRoutes = "memory { main-heap-size 2G }\nstatseg { size 256M }\n"

// BenchmarkRoutesFromFile saves a file with many routes and waits until all are
// in VPP: the file is found, parsed, merged, planned and executed. The rate is
// compared with what the same VPP takes over a connection that is always full.
// "heap" is what the agent then has in memory.
func BenchmarkRoutesFromFile(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		name := fmt.Sprintf("%dk", n/1000)
		b.Run("simulator-"+name, func(b *testing.B) { routesFromFile(b, vpptest.Simulator(b, vppsim.Options{}), n, "") })
		b.Run("real-"+name, func(b *testing.B) {
			vpp := realvpptest.Start(b, roomForRoutes)
			routesFromFile(b, vpptest.Target{Socket: vpp.Socket, Real: vpp}, n, "routes-file-"+name)
		})
	}
}

func routesFromFile(b *testing.B, vpp vpptest.Target, n int, budget string) {
	h := newHouse(b, network)
	h.vpp(b, "binapi-socket-path: "+vpp.Socket+"\n")
	h.write(b, "initfile.conf", "disable-initial-configuration: true\n")
	h.start(b)
	h.await(b, routeKey, pb.ValueState_CONFIGURED)
	loop, ok := h.VPPIfPlugin.Interfaces().LookupByName("loop1")
	if !ok {
		b.Fatal("loop1 is not in the index")
	}
	raw := rawRoutes(interface_types.InterfaceIndex(loop.SwIfIndex), n)
	raw.connect(b, vpp.Socket)
	text := routesText(n)
	before := heap()
	var limit, through time.Duration
	for range b.N {
		limit += raw.send(b, true)
		raw.send(b, false)
		through += infratest.Took(func() { h.saved(b, text, n, pb.ValueState_CONFIGURED) })
		b.ReportMetric((heap()-before)/float64(n), "heap-B/route")
		h.allConfigured(b, n)
		h.saved(b, network, n, pb.ValueState_NONEXISTENT)
	}
	b.ReportMetric(float64(n*b.N)/limit.Seconds(), "raw/s")
	b.ReportMetric(float64(n*b.N)/through.Seconds(), "routes/s")
	percent := 100 * float64(limit) / float64(through)
	if budget != "" {
		infratest.AtLeast(b, budget, percent, "%", 50)
	} else {
		b.ReportMetric(percent, "%-of-raw")
	}
	if err := h.agent.Stop(); err != nil {
		b.Fatal(err)
	}
}

// routesText is the network with more routes.
func routesText(n int) string {
	var s strings.Builder
	s.WriteString(network)
	for i := range n {
		fmt.Fprintf(&s, "  - {dstNetwork: %s, nextHopAddr: 10.1.0.2, outgoingInterface: loop1}\n", hostRoute(i))
	}
	return s.String()
}

// saved saves the file and waits until the transaction has ended that brings one
// of its last routes into a state, which must have gone well.
func (h *house) saved(b *testing.B, text string, n int, state kvs.ValueState) {
	b.Helper()
	h.write(b, "network.yaml", text)
	key := "config/vpp/v2/route/if/loop1/vrf/0/dst/" + hostRoute(n-1).String() + "/gw/10.1.0.2"
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(20 * time.Minute); h.Scheduler.GetValueStatus(key).GetValue().GetState() != state; <-tick.C {
		if time.Now().After(late) {
			b.Fatalf("%s is not %v", key, state)
		}
	}
	h.Scheduler.TransactionBarrier()
}

// hostRoute is the i-th of the destinations.
func hostRoute(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{40 + byte(i>>24), byte(i >> 16), byte(i >> 8), byte(i)}), 32)
}

// allConfigured fails the benchmark unless all routes are.
func (h *house) allConfigured(b *testing.B, n int) {
	b.Helper()
	configured := 0
	for _, v := range h.Scheduler.ListValueStatus("config/vpp/v2/route/") {
		if v.GetValue().GetState() == pb.ValueState_CONFIGURED {
			configured++
		}
	}
	if configured != n+1 {
		b.Fatalf("%d routes are configured, expected %d", configured, n+1)
	}
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
