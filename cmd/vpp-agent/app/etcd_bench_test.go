package app_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// routeEntries are routes as entries of etcd, with their keys in the agent.
func routeEntries(from, to int) (ops []kv.Op, keys []string) {
	for i := from; i < to; i++ {
		dst := destination(byte(20+i>>16), i).String()
		key := "config/vpp/v2/route/if/loop1/vrf/0/dst/" + dst + "/gw/10.1.0.2"
		keys = append(keys, key)
		value := fmt.Sprintf(`{"dst_network":"%s","next_hop_addr":"10.1.0.2","outgoing_interface":"loop1"}`, dst)
		ops = append(ops, kv.Op{Key: docPrefix + key, Value: []byte(value)})
	}
	return ops, keys
}

// BenchmarkManyKeys starts an agent with 100,000 routes in a real etcd, into the
// simulator, which takes its time from the same processors; and then puts 5,000
// more a second, one by one, for four seconds, or as fast as the server takes
// them. The lag is how long after the last of them all are configured. The time
// of the start is elapsed time, or processor time if other programs used the
// processors meanwhile.
func BenchmarkManyKeys(b *testing.B) {
	const keys, rate, more = 100_000, 5_000, 20_000
	server := kvtest.Etcd(b)
	db := directEtcd(b, server)
	ops, all := routeEntries(0, keys+more)
	for i := 0; i < keys; i += 100 {
		if err := db.Txn(b.Context(), ops[i:i+100]...); err != nil {
			b.Fatal(err)
		}
	}
	h := newEtcdHouse(b, server, "--simulate")
	h.write(b, "network.yaml", network)
	h.write(b, "filedb.conf", "configuration-paths: ["+h.dir+"/network.yaml]\n")
	before := heapInUse()
	var wall time.Duration
	synced := infratest.Worked(func() {
		wall = infratest.Took(func() {
			h.start(b)
			awaitConfigured(b, h, all[:keys])
		})
	})
	b.ReportMetric(float64(heapInUse()-before)/keys, "heap-B/key")
	b.ReportMetric(wall.Seconds(), "wall-s")
	infratest.AtMost(b, "etcd-sync-100k", synced.Seconds(), "s", 10)

	start := time.Now()
	const writers = 64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < more; i += writers {
				if due := time.Until(start.Add(time.Duration(i) * time.Second / rate)); due > 0 {
					<-time.After(due)
				}
				if err := db.Put(b.Context(), ops[keys+i].Key, ops[keys+i].Value); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(more/time.Since(start).Seconds(), "puts/s")
	lag := infratest.Took(func() { awaitConfigured(b, h, all[keys:]) })
	infratest.AtMost(b, "etcd-follow-lag", lag.Seconds(), "s", 1)
	if err := h.agent.Stop(); err != nil {
		b.Error(err)
	}
}

func awaitConfigured(b *testing.B, h *house, keys []string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*patience)
	defer cancel()
	for { // a key that is not configured yet is not an error
		err := h.Scheduler.WaitFor(ctx, kvs.WaitRequest{Keys: keys})
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			b.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// heapInUse is what is in use after a garbage collection, with the simulator.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
