package app_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/infra/budgettest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// BenchmarkRoutes sends routes through the whole agent into a VPP, as one change
// of a client, and compares that with what the same VPP takes over a connection
// that is always full. The budget is for a real VPP: the simulator takes its
// processors from the agent, and does much less for a route.
func BenchmarkRoutes(b *testing.B) {
	b.Run("simulator", func(b *testing.B) { compareRoutes(b, vpptest.Simulator(b, vppsim.Options{})) })
	b.Run("real", func(b *testing.B) { compareRoutes(b, vpptest.Real(b)) })
}

// routesAtOnce are sent in one change.
const routesAtOnce = 20_000

func compareRoutes(b *testing.B, vpp vpptest.Target) {
	h := newHouse(b, network)
	h.vpp(b, "binapi-socket-path: "+vpp.Socket+"\n")
	h.write(b, "initfile.conf", "disable-initial-configuration: true\n")
	h.start(b)
	h.await(b, loopKey, pb.ValueState_CONFIGURED)
	loop, ok := h.VPPIfPlugin.Interfaces().LookupByName("loop1")
	if !ok {
		b.Fatal("loop1 is not in the index")
	}
	raw := newRawRoutes(b, vpp.Socket, loop.SwIfIndex, routesAtOnce)
	c := client.NewLocal(h.Orchestrator)
	routes := make([]proto.Message, routesAtOnce)
	for i := range routes {
		routes[i] = &l3.Route{DstNetwork: destination(20, i).String(), NextHopAddr: "10.1.0.2", OutgoingInterface: "loop1"}
	}
	var through, limit time.Duration
	for range b.N {
		m := budgettest.Medians(3,
			func() time.Duration { return raw.send(b, true) },
			func() time.Duration {
				return budgettest.Took(func() { sendRoutes(b, c.ChangeRequest().Update(routes...)) })
			},
			func() time.Duration { return raw.send(b, false) },
			func() time.Duration {
				return budgettest.Took(func() { sendRoutes(b, c.ChangeRequest().Delete(routes...)) })
			},
		)
		limit, through = limit+m[0], through+m[1]
	}
	b.ReportMetric(routesAtOnce*float64(b.N)/limit.Seconds(), "raw/s")
	b.ReportMetric(routesAtOnce*float64(b.N)/through.Seconds(), "routes/s")
	if percent := 100 * float64(limit) / float64(through); vpp.Real != nil {
		budgettest.AtLeast(b, "routes-real", percent, "%", 50)
	} else {
		b.ReportMetric(percent, "%-of-raw")
	}
	if err := h.agent.Stop(); err != nil {
		b.Fatal(err)
	}
}

func sendRoutes(b *testing.B, r *client.ChangeRequest) {
	results, err := r.Send(b.Context())
	if err != nil || len(results) != routesAtOnce {
		b.Fatalf("%d results, error %v", len(results), err)
	}
}

// destination is the i-th network below <first>.0.0.0/8.
func destination(first byte, i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{first, byte(i >> 8), byte(i), 0}), 24)
}

// rawRoutes keeps a connection full of requests for routes.
type rawRoutes struct {
	conn     *binapi.Conn
	requests []*ip.IPRouteAddDel
}

func newRawRoutes(b *testing.B, socket string, swIfIndex uint32, n int) *rawRoutes {
	conn, err := binapi.Dial(b.Context(), binapi.Options{Socket: socket})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	r := &rawRoutes{conn: conn}
	nextHop := ip_types.AddressUnionIP4(netip.MustParseAddr("10.1.0.2").As4())
	for i := range n {
		to := hostRoute(i + 1<<24)
		r.requests = append(r.requests, &ip.IPRouteAddDel{IsMultipath: true, Route: ip.IPRoute{
			Prefix: ip_types.Prefix{Address: ip_types.Address{Un: ip_types.AddressUnionIP4(to.Addr().As4())}, Len: uint8(to.Bits())},
			NPaths: 1, Paths: []fib_types.FibPath{{SwIfIndex: swIfIndex, Weight: 1, Nh: fib_types.FibPathNh{Address: nextHop}}},
		}})
	}
	return r
}

// send adds or removes all routes.
func (r *rawRoutes) send(b *testing.B, add bool) time.Duration {
	const inFlight = 512
	var futures [inFlight]binapi.Future
	var replies [inFlight]ip.IPRouteAddDelReply
	start := time.Now()
	for i, req := range r.requests {
		at := i % inFlight
		if i >= inFlight {
			r.check(b, futures[at])
		}
		req.IsAdd = add
		futures[at] = r.conn.Send(context.Background(), req, &replies[at])
	}
	for _, f := range futures {
		r.check(b, f)
	}
	return time.Since(start)
}

func (r *rawRoutes) check(b *testing.B, f binapi.Future) {
	if err := f.Result(); err != nil {
		b.Fatal(fmt.Errorf("raw route: %w", err))
	}
}
