package telemetry

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/rates"
)

var start = time.Unix(1_000_000, 0)

// counted is a read of a VPP that started at boot, whose interfaces have received packets.
func counted(seconds int, boot, packets uint64, interfaces ...string) readState {
	s := &snapshot{system: []namedValue{{"boot_time_seconds", boot}, {"vector_rate", 3}}, heaps: []heapStats{{mainHeap, []namedValue{{"total", 200}, {"used", 50}}}},
		pools: []poolStats{{pool: "default-numa-0", used: 10, available: 70, cached: 20}}}
	for i, name := range interfaces {
		s.interfaces = append(s.interfaces, ifaceStats{index: uint32(i), internal: "internal", logical: name, counters: []namedValue{
			{"rx_packets", packets}, {"rx_bytes", 100 * packets}, {"rx_errors", packets / 2}, {"tx_errors", packets / 2}}})
	}
	return readState{snapshot: s, at: start.Add(time.Duration(seconds) * time.Second)}
}

// series returns the values of a series as text.
func (h *history) series(t *testing.T, itf, name string) string {
	t.Helper()
	var out rates.History
	names := []string{itf}
	if itf == "" {
		names = nil
	}
	h.fill(&out, names)
	i := slices.IndexFunc(out.Series, func(s rates.Series) bool { return s.Name == name })
	if i < 0 {
		return ""
	}
	text, err := json.Marshal(out.Series[i].Values)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Rates are per second. A VPP that restarted, an interface that was created again and a VPP that cannot be read are
// gaps, and neither peaks nor negative rates.
func TestHistory(t *testing.T) {
	t.Parallel()
	var h history
	for i, s := range []readState{
		counted(0, 1, 1_000_000, "a"), counted(15, 1, 1_000_150, "a"),
		counted(30, 2, 5_000_000, "a"),                        // VPP restarted, and counts more than before
		counted(45, 2, 5_000_300, "a"),                        // the counters grow again
		counted(60, 2, 10, "a"),                               // the interface was created again
		{err: errors.New("no VPP"), at: counted(75, 2, 0).at}, // VPP cannot be read
		counted(90, 2, 1000, "a", "b"),
		counted(105, 2, 1015, "a", "b"),
	} {
		h.add(start.Add(time.Duration(15*i)*time.Second), s)
	}
	for _, c := range []struct{ itf, name, want string }{
		{"a", "rxPackets", "[null,10,null,20,null,null,null,1]"},
		{"a", "rxBits", "[null,8000,null,16000,null,null,null,800]"},
		{"a", "errors", "[null,10,null,20,null,null,null,0.9]"},
		{"b", "rxPackets", "[null,null,null,null,null,null,null,1]"},
		{"", "vectorRate", "[3,3,3,3,3,null,3,3]"},
		{"", "buffersUsed", "[10,10,10,10,10,null,10,10]"},
		{"", "heapUsed", "[25,25,25,25,25,null,25,25]"},
		{"none", "rxPackets", ""},
	} {
		if got := h.series(t, c.itf, c.name); got != c.want {
			t.Errorf("%s %s: %s, expected %s", c.itf, c.name, got, c.want)
		}
	}
}

// The rates of a request are since the request before, or since the last sample.
func TestLiveRates(t *testing.T) {
	t.Parallel()
	var h history
	if former, latest := h.live(counted(0, 1, 0, "a")); former != nil || latest == nil {
		t.Errorf("the first request: %v, %v", former, latest)
	}
	for _, c := range []struct {
		read readState
		want float64
	}{{counted(2, 1, 20, "a"), 10}, {counted(2, 1, 20, "a"), 10}, {counted(4, 1, 60, "a"), 20}} {
		former, latest := h.live(c.read)
		if r, ok := latest.since(former, "a"); !ok || r.RxPackets != c.want {
			t.Errorf("at %v: %v %t, expected %v", c.read.at, r.RxPackets, ok, c.want)
		}
	}
	former, latest := h.live(counted(6, 2, 1_000_000, "a"))
	if r, ok := latest.since(former, "a"); ok {
		t.Errorf("after a restart of VPP: %v, expected no rate", r)
	}
	h.add(start.Add(100*time.Second), counted(100, 2, 1_000_000, "a"))
	former, latest = h.live(counted(110, 2, 1_000_100, "a"))
	if r, _ := latest.since(former, "a"); r.RxPackets != 10 {
		t.Errorf("after a pause: %v, expected the rate since the last sample", r)
	}
}

// healthReports records the reported states of the buffers.
type healthReports struct {
	health.Reporter
	texts []string
}

func (r *healthReports) Scope(string) health.Reporter { return r }
func (r *healthReports) OK(string)                    { r.texts = append(r.texts, "OK") }
func (r *healthReports) Degraded(reason string, _ error) {
	r.texts = append(r.texts, reason)
}

// A pool is out of buffers if threads have none left either, or if packets were dropped for it.
func TestOutOfBuffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pool    poolStats
		dropped bool
		want    string
	}{
		{poolStats{"p", 10, 1, 0}, true, ""}, {poolStats{"p", 10, 0, 5}, false, ""}, {poolStats{"p", 10, 0, 5}, true, "p"},
		{poolStats{"p", 10, 0, 0}, false, "p"}, {poolStats{"p", 0, 0, 0}, true, ""},
	} {
		if got := exhausted(&snapshot{pools: []poolStats{c.pool}}, c.dropped); got != c.want {
			t.Errorf("%+v, packets dropped %t: %q, expected %q", c.pool, c.dropped, got, c.want)
		}
	}
	r := &healthReports{}
	p := &Plugin{}
	p.Health = r
	for _, pools := range []string{"", "p", "p", "", ""} {
		p.reportBuffers(pools)
	}
	if len(r.texts) != 2 || !strings.Contains(r.texts[0], "VPP is out of buffers (p)") || r.texts[1] != "OK" {
		t.Errorf("reported: %q", r.texts)
	}
}
