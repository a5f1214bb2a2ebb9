package etcd_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

func quiet(b *testing.B, server *kvtest.Process) *etcd.Plugin {
	b.Helper()
	p := etcd.NewPlugin(etcd.UseConf(conf(server.Direct)))
	a := agenttest.New(b, agent.AllPlugins(p), agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))))
	infratest.Fatal(b, a.Start(b.Context()))
	return p
}

func benchOps(from, n int) (ops []kv.Op) {
	for i := from; i < from+n; i++ {
		key := fmt.Sprintf("/vnf-agent/vpp1/config/vpp/v2/route/vrf/0/dst/10.%d.%d.0/24/gw/10.1.0.1", i/256, i%256)
		value := fmt.Appendf(nil, `{"dst_network":"10.%d.%d.0/24","next_hop_addr":"10.1.0.1","outgoing_interface":"loop1"}`, i/256, i%256)
		ops = append(ops, kv.Op{Key: key, Value: value})
	}
	return ops
}

// counter counts changes, and reports when there were enough.
type counter struct {
	mu            sync.Mutex
	changes, want int
	enough        chan struct{}
}

func (c *counter) handle(u kv.Update) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes += len(u.Changes)
	if c.changes >= c.want && c.enough != nil {
		close(c.enough)
		c.enough = nil
	}
	return nil
}

func (c *counter) expect(n int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes, c.want, c.enough = 0, n, make(chan struct{})
	return c.enough
}

func followed(b *testing.B, p *etcd.Plugin, c *counter) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Watch(ctx, "/vnf-agent/vpp1/", c.handle) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkInitialSync reads 100,000 entries, of 160 bytes each, and says how
// much memory it takes to follow them.
func BenchmarkInitialSync(b *testing.B) {
	const keys = 100_000
	p := quiet(b, kvtest.Etcd(b))
	for i := 0; i < keys; i += 100 {
		infratest.Fatal(b, p.DB().Txn(b.Context(), benchOps(i, 100)...))
	}
	for b.Loop() {
		before := heap()
		c := &counter{}
		enough := c.expect(keys)
		stop := followed(b, p, c)
		<-enough
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/keys, "heap-B/key")
		stop()
		b.StartTimer()
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkFollow puts single entries as fast as the server takes them, by 64
// writers at once, while they are followed. The lag is how long after the last
// put all were reported.
func BenchmarkFollow(b *testing.B) {
	const writers, puts = 64, 20_000
	p := quiet(b, kvtest.Etcd(b))
	c := &counter{}
	first := c.expect(1)
	defer followed(b, p, c)()
	ops := benchOps(0, puts)
	infratest.Fatal(b, p.DB().Put(b.Context(), ops[0].Key, ops[0].Value))
	<-first
	for b.Loop() {
		enough := c.expect(puts)
		start := time.Now()
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := w; i < puts; i += writers {
					if err := p.DB().Put(b.Context(), ops[i].Key, ops[i].Value); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		b.ReportMetric(puts/time.Since(start).Seconds(), "puts/s")
		last := time.Now()
		<-enough
		b.ReportMetric(float64(time.Since(last).Microseconds()), "lag-us")
	}
}
