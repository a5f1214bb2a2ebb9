package telemetry_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/telemetry"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg/statsegtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is an agent with telemetry, and all that it meets.
type house struct {
	tb       testing.TB
	plugin   *telemetry.Plugin
	server   *statsegtest.Server
	registry *prometheus.Registry
	clock    clock
	names    names
}

// clock is a manual clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// names is what the configuration calls interfaces.
type names struct {
	mu    sync.Mutex
	known map[uint32]string
}

func (n *names) InterfaceName(index uint32) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok := n.known[index]
	return name, ok
}

// ACLRule knows the list 3, whose second rule VPP has twice.
func (n *names) ACLRule(list uint32, position int) (string, int, bool) {
	if position > 1 {
		position--
	}
	return "web", position, list == 3
}

func (n *names) set(index uint32, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[index] = name
}

func (h *house) StatsSocket() string             { return h.server.Socket }
func (h *house) GetAgentLabel() string           { return "vpp1" }
func (h *house) Registry() prometheus.Registerer { return h.registry }

func newHouse(tb testing.TB, conf string, segment []byte) *house {
	tb.Helper()
	h := &house{tb: tb, server: statsegtest.Serve(tb, segment), registry: prometheus.NewRegistry()}
	h.clock.now = time.Unix(1_000_000, 0)
	h.names.known = map[uint32]string{}
	h.plugin = telemetry.NewPlugin(telemetry.UseClock(h.clock.read), telemetry.UseDeps(func(d *telemetry.Deps) {
		d.VPP, d.Metrics, d.Label, d.Names, d.Rules = h, h, h, &h.names, &h.names
		d.Cfg = config.Text("telemetry", conf)
	}))
	agenttest.Start(tb, h.plugin)
	return h
}

// scrape returns the series as Prometheus writes them, without "vpp_" and the
// label of the agent, which all have.
func (h *house) scrape() []string {
	h.tb.Helper()
	families, err := h.registry.Gather()
	if err != nil {
		h.tb.Fatal(err)
	}
	var all []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			agent := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "agent" {
					agent = l.GetValue()
				} else if l.GetValue() != "" {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			name, ok := strings.CutPrefix(f.GetName(), "vpp_")
			if !ok || agent != "vpp1" {
				h.tb.Errorf("series %s of agent %q", f.GetName(), agent)
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			all = append(all, fmt.Sprintf("%s{%s} %v %s", name, strings.Join(labels, ","), value, strings.ToLower(f.GetType().String())))
		}
	}
	return all
}

// expect checks that series are there, and those that begin with "!" are not.
func (h *house) expect(series ...string) {
	h.tb.Helper()
	all := h.scrape()
	for _, want := range series {
		absent, no := strings.CutPrefix(want, "!")
		if no && slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, absent) }) {
			h.tb.Errorf("there is %s in\n%s", absent, strings.Join(all, "\n"))
		}
		if !no && !slices.Contains(all, want) {
			h.tb.Errorf("no %s in\n%s", want, strings.Join(all, "\n"))
		}
	}
}

// sample is a VPP with a worker and three interfaces, one of them deleted.
func sample(packets uint64, interfaces ...string) *statsegtest.Builder {
	if interfaces == nil {
		interfaces = []string{"local0", "tap0", "deleted", "GigabitEthernet0/8/0"}
	}
	rx := []statseg.Count{{}, {Packets: packets, Bytes: packets * 60}, {Packets: 99, Bytes: 99}}
	return new(statsegtest.Builder).
		Names("/if/names", interfaces...).
		Combined("/if/rx", rx, []statseg.Count{{}, {Packets: 1, Bytes: 60}}).
		Combined("/if/tx-unicast", []statseg.Count{{}, {Packets: 4, Bytes: 400}}).
		Simple("/if/drops", []uint64{0, 5, 0, 0}, []uint64{0, 6, 0, 0}).
		Names("/sys/node/names", "null-node", "ip4-lookup", "", "deleted-7", "interface-3-tx-deleted").
		Simple("/sys/node/calls", []uint64{0, 10, 1, 5, 6}, []uint64{0, 20, 1, 5, 6}).
		Simple("/sys/node/vectors", []uint64{0, 15}, []uint64{0, 50}).
		Simple("/sys/node/clocks", []uint64{0, 1000}, []uint64{0, 2000}).
		Simple("/sys/node/suspends", []uint64{0, 0}, []uint64{0, 0}).
		Simple("/sys/vector_rate_per_worker", []uint64{0}, []uint64{3}).
		Simple("/sys/loops_per_worker", []uint64{0}, []uint64{2500}).
		Entry("/sys/vector_rate", statseg.Gauge, 3).Scalar("/sys/boottime", 1700).
		Simple("/node/errors", []uint64{1, 0, 3}, []uint64{1, 0, 4}).
		Symlink("/err/ip4-input/ip4 w/ options", "/node/errors", 0).
		Symlink("/err/ip4-input/never", "/node/errors", 1).
		Symlink("/err/GigabitEthernet0/8/0-output/interface is down", "/node/errors", 2).
		Symlink("/err/interface-3-tx-deleted/down", "/node/errors", 2).
		Simple("/mem/main heap", []uint64{1000, 400, 600, 0, 1000, 7, 500}).
		Symlink("/mem/main heap/used", "/mem/main heap", 1).
		Scalar("/buffer-pools/default-numa-0/used", 11).Scalar("/buffer-pools/default-numa-0/available", 12).
		Scalar("/buffer-pools/default-numa-0/cached", 13)
}

// VPP 23.06 keeps the name of an interface that is deleted, and removes the symlinks to
// its counters alone.
func TestInterfaceWithoutSymlinksIsGone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", sample(100, "local0", "tap0", "tap1").
		Symlink("/interfaces/local0/rx", "/if/rx", 0).Symlink("/interfaces/tap0/rx", "/if/rx", 1).Bytes())
	h.expect(
		"interfaces_rx_packets{index=0,internal_name=local0,name=local0} 0 counter",
		"interfaces_rx_packets{index=1,internal_name=tap0,name=tap0} 101 counter",
		"!interfaces_rx_packets{index=2",
	)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", sample(100).Bytes())
	h.names.set(1, "to-host")
	h.expect(
		"stats_up{} 1 gauge", "stats_reads_total{} 1 counter", "stats_read_failures_total{} 0 counter", "stats_age_seconds{} 0 gauge",
		"interfaces_rx_packets{index=1,internal_name=tap0,name=to-host} 101 counter",
		"interfaces_rx_bytes{index=1,internal_name=tap0,name=to-host} 6060 counter",
		"interfaces_tx_unicast_bytes{index=1,internal_name=tap0,name=to-host} 400 counter",
		"interfaces_drops{index=1,internal_name=tap0,name=to-host} 11 counter",
		"interfaces_rx_packets{index=0,internal_name=local0,name=local0} 0 counter",
		"!interfaces_tx_unicast_bytes{index=0", "!interfaces_rx_packets{index=2",
		"runtime_calls{item=ip4-lookup,thread=vpp_main,threadID=0} 10 counter",
		"runtime_vectors{item=ip4-lookup,thread=vpp_wk_0,threadID=1} 50 counter",
		"runtime_clocks{item=ip4-lookup,thread=vpp_wk_0,threadID=1} 2000 counter",
		"runtime_vectors_per_call{item=ip4-lookup,thread=vpp_wk_0,threadID=1} 2.5 gauge",
		"!runtime_calls{item=null-node", "!runtime_calls{thread",
		"!runtime_calls{item=deleted", "!runtime_calls{item=interface-3", "!nodes_counter{item=interface-3",
		"thread_vector_rate{thread=vpp_wk_0,threadID=1} 3 gauge",
		"thread_loops_per_second{thread=vpp_wk_0,threadID=1} 2500 gauge",
		"vector_rate{} 3 gauge", "boot_time_seconds{} 1700 gauge",
		"nodes_counter{item=ip4-input,reason=ip4 w/ options} 2 counter",
		"nodes_counter{item=GigabitEthernet0/8/0-output,reason=interface is down} 7 counter",
		"!nodes_counter{item=ip4-input,reason=never",
		"memory_total{heap=main heap,thread=vpp_main,threadID=0} 1000 gauge",
		"memory_used{heap=main heap,thread=vpp_main,threadID=0} 400 gauge",
		"memory_free_chunks{heap=main heap,thread=vpp_main,threadID=0} 7 gauge",
		"memory_trimmable{heap=main heap,thread=vpp_main,threadID=0} 500 gauge",
		"buffers_num_alloc{item=default-numa-0} 11 gauge", "buffers_num_free{item=default-numa-0} 12 gauge",
		"buffers_cached{item=default-numa-0} 13 gauge",
	)
}

// VPP is read once per interval, however many scrape.
// Rules that matched packets have counters, over all threads. VPP keeps the counters of
// deleted lists.
func TestRulesOfACLs(t *testing.T) {
	t.Parallel()
	none, some := statseg.Count{}, statseg.Count{Packets: 2, Bytes: 200}
	segment := sample(1, "local0").
		Combined("/acl/3/matches", []statseg.Count{none, some, some, some}, []statseg.Count{none, some, none, none}).
		Combined("/acl/4/matches", []statseg.Count{some}).
		Scalar("/acl/5/matches", 7)
	h := newHouse(t, "", segment.Bytes())
	h.expect("acl_rule_packets{acl=web,rule=1} 6 counter", "acl_rule_bytes{acl=web,rule=1} 600 counter",
		"acl_rule_packets{acl=web,rule=2} 2 counter", "!acl_rule_packets{acl=web,rule=0}", "!acl_rule_packets{acl=web,rule=3}")
	skipped := newHouse(t, "skipped: [acls]", segment.Bytes())
	skipped.expect("!acl_rule")
}

func TestPollingInterval(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "polling-interval: 10s", sample(100).Bytes())
	if n := h.server.Opened(); n != 0 {
		t.Errorf("VPP was read %d times before anybody asked", n)
	}
	series := func(n int) string {
		return fmt.Sprintf("interfaces_rx_packets{index=1,internal_name=tap0,name=tap0} %d counter", n)
	}
	h.expect(series(101))
	h.server.Replace(sample(200).Bytes())
	h.clock.advance(9 * time.Second)
	h.expect(series(101), "stats_age_seconds{} 9 gauge", "stats_reads_total{} 1 counter")
	h.clock.advance(time.Second)
	h.expect(series(201), "stats_reads_total{} 2 counter")
	var all sync.WaitGroup
	h.clock.advance(time.Minute)
	for range 8 {
		all.Go(func() { _, _ = h.registry.Gather() })
	}
	all.Wait()
	h.expect("stats_reads_total{} 3 counter")
}

// An interval that makes no sense is the default.
func TestShortInterval(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "polling-interval: 1s", sample(1).Bytes())
	h.scrape()
	h.clock.advance(29 * time.Second)
	h.expect("stats_reads_total{} 1 counter")
	h.clock.advance(time.Second)
	h.expect("stats_reads_total{} 2 counter")
}

// Deleted objects have no series, and an index that is used again is not taken for its
// former interface.
func TestSeriesEndWithTheirObject(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", sample(100).Bytes())
	h.names.set(1, "old")
	h.expect("interfaces_rx_packets{index=1,internal_name=tap0,name=old} 101 counter")
	h.names.set(1, "new") // the agent is faster than the interval
	h.expect("interfaces_rx_packets{index=1,internal_name=tap0,name=old} 101 counter", "!interfaces_rx_packets{index=1,internal_name=tap0,name=new")
	h.clock.advance(time.Minute)
	h.server.Replace(sample(0, "local0", "deleted").Bytes())
	h.expect("!interfaces_rx_packets{index=1", "!interfaces_rx_packets{index=3", "stats_up{} 1 gauge")
}

// VPP may disconnect and reconnect: meanwhile it has no series, and a new VPP is read
// without any action.
func TestVPPReconnects(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", sample(100).Bytes())
	h.expect("stats_up{} 1 gauge")
	h.server.Stop()
	h.clock.advance(time.Minute)
	h.expect("stats_up{} 0 gauge", "stats_read_failures_total{} 1 counter", "!interfaces", "!runtime", "!stats_age")
	h.expect("stats_reads_total{} 2 counter") // not tried again at once
	h.server.Replace(sample(5).Bytes())
	h.server.Start()
	h.clock.advance(time.Second)
	h.expect("stats_up{} 1 gauge", "interfaces_rx_packets{index=1,internal_name=tap0,name=tap0} 6 counter")
	h.server.Poke(3, 1) // dies in the middle of a change
	h.clock.advance(time.Minute)
	h.expect("stats_up{} 0 gauge", "!interfaces")
	h.server.Replace(new(statsegtest.Builder).Bytes()) // and has nothing yet
	h.clock.advance(time.Minute)
	h.expect("stats_up{} 1 gauge", "!interfaces", "!memory")
	h.server.Replace([]byte(strings.Repeat("?", 1000)))
	h.clock.advance(time.Minute)
	h.expect("stats_up{} 0 gauge", "!interfaces")
}

// The simulator has no stats segment, which is no failure to talk about.
func TestNoSegment(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", nil)
	h.server.Socket = ""
	h.expect("stats_up{} 0 gauge", "!interfaces")
}

func TestSkipped(t *testing.T) {
	t.Parallel()
	prefixes := map[string]string{
		"interfaces": "interfaces_", "runtime": "runtime_", "nodes": "nodes_", "memory": "memory_", "buffers": "buffers_",
	}
	for skipped := range prefixes {
		h := newHouse(t, "skipped: ["+skipped+"]", sample(1).Bytes())
		all := strings.Join(h.scrape(), "\n")
		for group, prefix := range prefixes {
			if got := strings.Contains(all, prefix); got == (group == skipped) {
				t.Errorf("skipped %s: %s is there: %v", skipped, group, got)
			}
		}
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	for _, conf := range []string{"disabled: true", "prometheus-disabled: true"} {
		h := newHouse(t, conf, sample(1).Bytes())
		if all := h.scrape(); len(all) != 0 || h.server.Opened() != 0 {
			t.Errorf("%s: VPP read %d times, series %v", conf, h.server.Opened(), all)
		}
	}
}

func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	for conf, want := range map[string]string{
		"skipped: [nodes, cpu]": `skipped[1]: "cpu", expected one of runtime, memory, buffers, nodes, interfaces`,
		"polling-interval: -1s": "polling-interval: -1s, expected a time",
		"poling-interval: 5s":   "polling-interval",
	} {
		p := telemetry.NewPlugin(telemetry.UseDeps(func(d *telemetry.Deps) { d.VPP, d.Cfg = socket(""), config.Text("telemetry", conf) }))
		err := agenttest.New(t, agent.AllPlugins(p)).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", conf, err)
		}
	}
	if err := config.Lint(telemetry.DefaultConfig()); err != nil {
		t.Error(err)
	}
}

type socket string

func (s socket) StatsSocket() string { return string(s) }
