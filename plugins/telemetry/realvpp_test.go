package telemetry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
)

// patience is how long a test waits for what VPP updates by itself.
const patience = 2 * time.Minute

// await scrapes until the series are there: VPP does not announce when it
// updated the counters that it computes periodically.
func (h *house) await(series ...string) {
	h.tb.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); time.Now().Before(late); <-tick.C {
		h.clock.advance(time.Minute)
		all := strings.Join(h.scrape(), "\n")
		missing := false
		for _, s := range series {
			missing = missing || !strings.Contains(all, s)
		}
		if !missing {
			return
		}
	}
	h.expect(series...)
}

// command runs commands in VPP's command line.
func command(tb testing.TB, vpp *realvpptest.VPP, commands ...string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	conn, err := binapi.Dial(ctx, binapi.Options{Socket: vpp.Socket, ClientName: "test"})
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	for _, c := range commands {
		reply := &vlib.CliInbandReply{}
		if err := conn.Invoke(ctx, &vlib.CliInband{Cmd: c}, reply); err != nil || reply.Retval != 0 {
			tb.Fatalf("%s: %v %s", c, err, reply.Reply)
		}
	}
}

// What VPP itself counts: an interface that ten packets came in from, gone when
// it is deleted, and the same with the VPP after a crash.
func TestRealVPP(t *testing.T) {
	vpp := realvpptest.Start(t, "statseg { per-node-counters on update-interval 0.1 }")
	h := newHouse(t, "", nil)
	h.server.Socket = vpp.StatsSocket
	h.names.set(1, "lo")
	h.await("interfaces_rx_packets{index=0,internal_name=local0,name=local0} 0 counter",
		"memory_used{heap=main heap,thread=vpp_main,threadID=0} ", "memory_total{heap=stat segment} ",
		"buffers_num_free{item=default-numa-0} ", "thread_loops_per_second{thread=vpp_main,threadID=0} ",
		"boot_time_seconds{} ", "heartbeat{} ", "worker_threads{} 0 gauge")
	command(t, vpp, "create loopback interface", "set interface state loop0 up",
		"packet-generator new { name x limit 10 size 64-64 interface loop0 node ethernet-input data { hex 0xffffffffffff00020304050608004500 } }",
		"packet-generator enable")
	h.await("interfaces_rx_packets{index=1,internal_name=loop0,name=lo} 10 counter",
		"interfaces_rx_bytes{index=1,internal_name=loop0,name=lo} 640 counter",
		"runtime_vectors{item=ethernet-input,thread=vpp_main,threadID=0} 10 counter",
		"nodes_counter{item=ip4-input,reason=too_short} 10 counter")
	command(t, vpp, "delete loopback interface intfc loop0")
	h.clock.advance(time.Minute)
	h.expect("stats_up{} 1 gauge", "!interfaces_rx_packets{index=1")
	vpp.Kill()
	h.clock.advance(time.Minute)
	h.expect("stats_up{} 0 gauge", "!interfaces", "!memory")
	vpp.Run()
	h.await("stats_up{} 1 gauge", "interfaces_rx_packets{index=0,internal_name=local0,name=local0} 0 counter")
}
