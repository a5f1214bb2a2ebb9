package telemetry

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// systemMetric is a value of VPP as a whole.
type systemMetric struct {
	entry, name, help string
	kind              prometheus.ValueType
}

// systemMetrics are the values below /sys that are shown.
func systemMetrics() []systemMetric {
	return []systemMetric{
		{"vector_rate", "vector_rate", "Average number of packets per call of a node, over all workers.", prometheus.GaugeValue},
		{"input_rate", "input_rate", "Packets received per second.", prometheus.GaugeValue},
		{"num_worker_threads", "worker_threads", "Number of worker threads.", prometheus.GaugeValue},
		{"boottime", "boot_time_seconds", "When VPP started, in seconds since 1970.", prometheus.GaugeValue},
		{"last_stats_clear", "last_stats_clear_seconds", "When counters were cleared, in seconds since VPP started.", prometheus.GaugeValue},
		{"heartbeat", "heartbeat", "How often VPP updated the values that it does not count as it goes.", prometheus.CounterValue},
	}
}

// heapMetric is a value in the vector of a heap.
type heapMetric struct {
	index      int
	name, help string
}

func heapMetrics() []heapMetric {
	return []heapMetric{
		{0, "total", "Size of the heap in bytes."},
		{1, "used", "Bytes of the heap in use."},
		{2, "free", "Bytes of the heap not in use."},
		{4, "max_total_allocated", "Most bytes that the heap ever had."},
		{5, "free_chunks", "Number of free pieces of the heap."},
		{6, "trimmable", "Bytes at the end of the heap that could be given back."},
	}
}

// collector shows the snapshots to Prometheus.
type collector struct {
	plugin *Plugin
	descs  map[string]*prometheus.Desc
}

// The labels of the groups; all of them have "agent" as well.
func labelsOf() map[string][]string {
	return map[string][]string{
		Runtime: {"item", "thread", "threadID"}, "thread": {"thread", "threadID"},
		Memory: {"heap", "thread", "threadID"}, Buffers: {"item"},
		Nodes: {"item", "reason"}, Interfaces: {"name", "index", "internal_name"}, ACLs: {"acl", "rule"},
	}
}

func newCollector(p *Plugin) *collector {
	c := &collector{plugin: p, descs: map[string]*prometheus.Desc{}}
	var agent prometheus.Labels
	if p.Label != nil {
		agent = prometheus.Labels{"agent": p.Label.GetAgentLabel()}
	}
	add := func(group, name, help string) {
		full := "vpp_" + name
		c.descs[full] = prometheus.NewDesc(full, help, labelsOf()[group], agent)
	}
	for _, what := range combinedCounters() {
		where := strings.ReplaceAll(what, "-", "_")
		add(Interfaces, "interfaces_"+where+"_packets", "Packets of the interface, "+what+".")
		add(Interfaces, "interfaces_"+where+"_bytes", "Bytes of the interface, "+what+".")
	}
	for _, what := range simpleCounters() {
		add(Interfaces, "interfaces_"+what[1], "Packets of the interface, "+what[0]+" (/if/"+what[0]+" of VPP).")
	}
	add(Runtime, "runtime_calls", "Calls of the node in the thread.")
	add(Runtime, "runtime_vectors", "Packets that the node handled in the thread.")
	add(Runtime, "runtime_suspends", "Suspends of the process node.")
	add(Runtime, "runtime_clocks", "Processor clocks spent in the node in the thread.")
	add(Runtime, "runtime_vectors_per_call", "Packets per call, on average since the start.")
	add("thread", "thread_vector_rate", "Average number of packets per call in the thread.")
	add("thread", "thread_loops_per_second", "Turns of the main loop of the thread per second.")
	for _, m := range systemMetrics() {
		add("", m.name, m.help)
	}
	for _, m := range heapMetrics() {
		add(Memory, "memory_"+m.name, m.help)
	}
	add(Buffers, "buffers_num_alloc", "Buffers in use.")
	add(Buffers, "buffers_num_free", "Buffers free in the pool.")
	add(Buffers, "buffers_cached", "Free buffers that threads keep for themselves.")
	add(Nodes, "nodes_counter", "What a node counted, errors mostly, over all threads.")
	add(ACLs, "acl_rule_packets", "Packets that the rule of the access control list matched; rules are numbered from 0, those that matched none are left out, and so is what exceeds 10000 rules.")
	add(ACLs, "acl_rule_bytes", "Bytes of these packets.")
	add("", "stats_up", "Whether the stats segment of VPP can be read.")
	add("", "stats_reads_total", "Reads of the stats segment.")
	add("", "stats_read_failures_total", "Reads of the stats segment that failed.")
	add("", "stats_read_seconds", "How long the last read of the stats segment took.")
	add("", "stats_age_seconds", "How old the values from VPP are.")
	return c
}

// Describe sends the descriptions of all metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect sends the metrics of a snapshot that is at most polling-interval old.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	state := c.plugin.read()
	out := sender{c.descs, ch}
	up := 0.0
	if state.snapshot != nil {
		up = 1
		c.send(out, state.snapshot)
		out.gauge("stats_age_seconds", c.plugin.now().Sub(state.at).Seconds())
	}
	out.gauge("stats_up", up)
	out.counter("stats_reads_total", state.reads)
	out.counter("stats_read_failures_total", state.failures)
	out.gauge("stats_read_seconds", state.took.Seconds())
}

func (c *collector) send(out sender, s *snapshot) {
	c.sendInterfaces(out, s)
	c.sendRules(out, s)
	for _, n := range s.nodes {
		thread, id := threadLabels(n.thread)
		out.counter("runtime_calls", n.calls, n.node, thread, id)
		out.counter("runtime_vectors", n.vectors, n.node, thread, id)
		out.counter("runtime_suspends", n.suspends, n.node, thread, id)
		out.counter("runtime_clocks", n.clocks, n.node, thread, id)
		if n.calls > 0 {
			out.gauge("runtime_vectors_per_call", float64(n.vectors)/float64(n.calls), n.node, thread, id)
		}
	}
	for _, t := range s.threads {
		thread, id := threadLabels(t.thread)
		out.gauge("thread_vector_rate", float64(t.vectorRate), thread, id)
		out.gauge("thread_loops_per_second", float64(t.loops), thread, id)
	}
	for _, m := range systemMetrics() {
		for _, v := range s.system {
			if v.name == m.name {
				out.metric(m.name, m.kind, float64(v.value))
			}
		}
	}
	for _, e := range s.errors {
		out.counter("nodes_counter", e.count, e.node, e.reason)
	}
	for _, h := range s.heaps {
		thread, id := "", "" // a heap belongs to no thread, but old dashboards assign the main heap to the main thread
		if h.heap == "main heap" {
			thread, id = threadLabels(0)
		}
		for _, v := range h.values {
			out.gauge("memory_"+v.name, float64(v.value), h.heap, thread, id)
		}
	}
	for _, p := range s.pools {
		out.gauge("buffers_num_alloc", float64(p.used), p.pool)
		out.gauge("buffers_num_free", float64(p.available), p.pool)
		out.gauge("buffers_cached", float64(p.cached), p.pool)
	}
}

func (c *collector) sendRules(out sender, s *snapshot) {
	for _, r := range s.rules {
		rule := strconv.Itoa(r.rule)
		out.counter("acl_rule_packets", r.Packets, r.list, rule)
		out.counter("acl_rule_bytes", r.Bytes, r.list, rule)
	}
}

func (c *collector) sendInterfaces(out sender, s *snapshot) {
	for _, i := range s.interfaces {
		name := i.logical
		if name == "" { // VPP had it before the agent knew of it
			name = cmp.Or(c.plugin.logicalName(i.index), i.internal)
		}
		index := strconv.FormatUint(uint64(i.index), 10)
		for _, v := range i.counters {
			out.counter("interfaces_"+v.name, v.value, name, index, i.internal)
		}
	}
}

// threadLabels returns VPP's name of a thread and its number. The segment has
// the numbers only; VPP runs the main thread and then the workers.
func threadLabels(thread int) (name, id string) {
	if thread == 0 {
		return "vpp_main", "0"
	}
	return fmt.Sprintf("vpp_wk_%d", thread-1), strconv.Itoa(thread)
}

// sender makes metrics.
type sender struct {
	descs map[string]*prometheus.Desc
	ch    chan<- prometheus.Metric
}

func (s sender) counter(name string, v uint64, labels ...string) {
	s.metric(name, prometheus.CounterValue, float64(v), labels...)
}

func (s sender) gauge(name string, v float64, labels ...string) {
	s.metric(name, prometheus.GaugeValue, v, labels...)
}

func (s sender) metric(name string, kind prometheus.ValueType, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(s.descs["vpp_"+name], kind, v, labels...)
	if err != nil { // a scrape says so
		m = prometheus.NewInvalidMetric(s.descs["vpp_"+name], err)
	}
	s.ch <- m
}
