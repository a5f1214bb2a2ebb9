package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
)

// BenchmarkMemory measures the memory of an agent with many routes from a file and a
// state-dir, with a real VPP if there is one: the peak, and what remains a minute later, both
// after the first start and after a restart. The larger numbers count.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []struct {
		routes    int
		rss, peak float64 // MiB
	}{{100_000, 150, 250}, {1_000_000, 1200, 2000}} {
		name := fmt.Sprintf("%dk", n.routes/1000)
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if err := infratest.Build(b.Context(), "-tags", "grpcnotrace", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/", ".", "../vpp-sim"); err != nil { // as "make build" does
				b.Fatal(err)
			}
			for range b.N {
				rss, peak := memoryOfRoutes(b, dir, n.routes)
				infratest.AtMost(b, "agent-rss-"+name, rss, "MiB", n.rss)
				infratest.AtMost(b, "agent-peak-"+name, peak, "MiB", n.peak)
				b.ReportMetric(rss*(1<<20)/float64(n.routes), "rss-B/route")
				b.ReportMetric(peak*(1<<20)/float64(n.routes), "peak-B/route")
			}
		})
	}
}

// memoryOfRoutes returns the larger ones of the numbers after a start and a restart, in MiB.
func memoryOfRoutes(b *testing.B, programs string, routes int) (rss, peak float64) {
	b.Helper()
	dir := b.TempDir()
	socket := filepath.Join(programs, "api.sock")
	if realvpptest.Find() == "" {
		simulate(b, programs)
	} else {
		socket = realvpptest.Start(b, "memory { main-heap-size 4G }\nstatseg { size 1G }").Socket
	}
	var file strings.Builder
	file.WriteString("vppConfig:\n  interfaces: [{name: loop1, type: SOFTWARE_LOOPBACK, enabled: true, ip_addresses: [10.1.0.1/24]}]\n  routes:\n")
	destination := func(i int) string { return fmt.Sprintf("40.%d.%d.%d/32", i>>16&255, i>>8&255, i&255) }
	for i := range routes {
		fmt.Fprintf(&file, "  - {dstNetwork: %s, nextHopAddr: 10.1.0.2, outgoingInterface: loop1}\n", destination(i))
	}
	for name, text := range map[string]string{
		"network.yaml":        file.String(),
		"filedb.conf":         "configuration-paths: [" + filepath.Join(dir, "network.yaml") + "]\n",
		"govpp.conf":          "reply-timeout: 1m\nhealth-check-reply-timeout: 1m\nbinapi-socket-path: " + socket + "\n",
		"orchestrator.conf":   "initial-sync-timeout: 10m\n",
		"linux-nsplugin.conf": "disabled: true\n",
		"kvscheduler.conf":    "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	last := "config/vpp/v2/route/if/loop1/vrf/0/dst/" + destination(routes-1) + "/gw/10.1.0.2"
	for range 2 {
		p := launch(b, programs, dir, "--state-dir", filepath.Join(dir, "state"))
		tick := time.Tick(100 * time.Millisecond)
		for !strings.Contains(ask(b, p.url+"/scheduler/status?key="+last), `"CONFIGURED"`) {
			<-tick
		}
		ask(b, p.url+"/scheduler/wait?key="+last) // until the transaction has ended
		<-time.After(time.Minute)                 // as an operator would look: the agent has returned memory by then
		rss, peak = max(rss, p.memory("VmRSS")), max(peak, p.memory("VmHWM"))
		p.end()
	}
	return rss, peak
}

// memory returns a number of /proc/PID/status in MiB.
func (p *process) memory(name string) float64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return float64(kib) / 1024
}

// ask returns the answer to a GET.
func ask(b *testing.B, url string) string {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}
