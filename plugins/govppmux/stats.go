package govppmux

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// Stats are counters of the plugin over all sessions.
type Stats struct {
	// Requests sent, and messages received for them.
	Requests uint64 `json:"requests"`
	Replies  uint64 `json:"repliesReceived"`
	// InFlight is the number of requests without a reply now.
	InFlight int `json:"requestsInFlight"`
	// Timeouts, Disconnected and Rejected are failed requests: without a reply
	// in time, pending when the connection ended, made without a connection.
	Timeouts     uint64 `json:"timeouts"`
	Disconnected uint64 `json:"disconnected"`
	Rejected     uint64 `json:"rejected"`
	// Late are messages received for requests that had ended.
	Late uint64 `json:"lateReplies"`
	// Events received.
	Events uint64 `json:"events"`
	// WindowWaits is how often a caller waited for the window of requests in flight.
	WindowWaits uint64 `json:"windowWaits"`
	// Batches, BytesOut and BytesIn count what went over the socket.
	Batches  uint64 `json:"batches"`
	BytesOut uint64 `json:"bytesOut"`
	BytesIn  uint64 `json:"bytesIn"`
	// ConnectAttempts, and sessions that ended without being asked to.
	ConnectAttempts uint64 `json:"connectAttempts"`
	Reconnects      uint64 `json:"sessionsLost"`
}

// Done returns the number of requests that got their reply.
func (s Stats) Done() uint64 {
	pending := uint64(max(s.InFlight, 0)) + s.Timeouts + s.Disconnected
	if pending > s.Requests {
		return 0
	}
	return s.Requests - pending
}

// Failed returns the number of requests that failed.
func (s Stats) Failed() uint64 { return s.Timeouts + s.Disconnected + s.Rejected }

// totals adds up the counters of connections.
type totals struct {
	attempts, reconnects atomic.Uint64

	mu      sync.Mutex
	past    binapi.Stats
	current *binapi.Conn

	// Messages of past connections by name.
	sent, received map[string]uint64
}

func (t *totals) begin(conn *binapi.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = conn
}

func (t *totals) end(conn *binapi.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == conn {
		t.past, t.current = plus(t.past, conn.Stats()), nil
		sent, received := conn.Messages()
		t.sent, t.received = added(t.sent, sent), added(t.received, received)
	}
}

// messages returns how many messages of each kind were sent and received.
func (t *totals) messages() (sent, received map[string]uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil {
		return added(t.sent, nil), added(t.received, nil)
	}
	sent, received = t.current.Messages()
	return added(t.sent, sent), added(t.received, received)
}

// added returns the sums of counts.
func added(a, b map[string]uint64) map[string]uint64 {
	sum := make(map[string]uint64, len(a)+len(b))
	for _, counts := range []map[string]uint64{a, b} {
		for name, n := range counts {
			sum[name] += n
		}
	}
	return sum
}

func (t *totals) sum() binapi.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil {
		return t.past
	}
	sum := plus(t.past, t.current.Stats())
	sum.InFlight = t.current.Stats().InFlight
	return sum
}

// plus adds the counters; what was in flight in the past has ended.
func plus(a, b binapi.Stats) binapi.Stats {
	return binapi.Stats{
		Requests: a.Requests + b.Requests, Replies: a.Replies + b.Replies,
		Timeouts: a.Timeouts + b.Timeouts, Disconnected: a.Disconnected + b.Disconnected,
		Late: a.Late + b.Late, Events: a.Events + b.Events, Waits: a.Waits + b.Waits,
		Batches: a.Batches + b.Batches, BytesOut: a.BytesOut + b.BytesOut, BytesIn: a.BytesIn + b.BytesIn,
	}
}

// Stats returns the counters.
func (p *Plugin) Stats() Stats {
	s := p.totals.sum()
	return Stats{
		Requests: s.Requests, Replies: s.Replies, InFlight: s.InFlight,
		Timeouts: s.Timeouts, Disconnected: s.Disconnected, Rejected: p.rejected.Load(),
		Late: s.Late, Events: s.Events, WindowWaits: s.Waits,
		Batches: s.Batches, BytesOut: s.BytesOut, BytesIn: s.BytesIn,
		ConnectAttempts: p.totals.attempts.Load(), Reconnects: p.totals.reconnects.Load(),
	}
}

// localStats is a LocalVPP that knows its stats segment.
type localStats interface{ StatsSocket() string }

// StatsSocket returns the unix socket of the stats segment of VPP; empty if the
// VPP is one that the agent runs itself and that has none. It is known after
// Init.
func (p *Plugin) StatsSocket() string {
	if p.Local == nil || p.Local.Socket() == "" {
		return p.cfg.StatsSocketPath
	}
	if local, ok := p.Local.(localStats); ok {
		return local.StatsSocket()
	}
	return ""
}

// collector shows the counters to Prometheus, under the names that dashboards
// of the predecessor know where there was such a counter.
type collector struct{ plugin *Plugin }

const metricPrefix = "ligato_govppmux_"

type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value float64
	label []string
}

func (c collector) metrics() []metric {
	s := c.plugin.Stats()
	up := 0.0
	session, _ := c.plugin.state.get()
	if session.Up {
		up = 1
	}
	counter := func(name, help string, v uint64) metric {
		return metric{prometheus.NewDesc(metricPrefix+name, help, nil, nil), prometheus.CounterValue, float64(v), nil}
	}
	gauge := func(name, help string, v float64) metric {
		return metric{prometheus.NewDesc(metricPrefix+name, help, nil, nil), prometheus.GaugeValue, v, nil}
	}
	failed := prometheus.NewDesc(metricPrefix+"requests_failed_total", "Requests without a reply, by reason.", []string{"error"}, nil)
	return []metric{
		gauge("up", "Whether VPP is connected.", up),
		counter("channels_created_total", "Sessions with VPP; the predecessor counted channels.", session.Epoch),
		gauge("channels", "Sessions with VPP now.", up),
		counter("requests_total", "Requests sent to VPP.", s.Requests),
		counter("requests_done_total", "Requests with a reply.", s.Done()),
		gauge("requests", "Requests without a reply now.", float64(s.InFlight)),
		counter("replies_received_total", "Messages received for requests.", s.Replies),
		{failed, prometheus.CounterValue, float64(s.Timeouts), []string{"timeout"}},
		{failed, prometheus.CounterValue, float64(s.Disconnected), []string{"disconnected"}},
		{failed, prometheus.CounterValue, float64(s.Rejected), []string{"not connected"}},
		counter("late_replies_total", "Messages received for requests that had ended.", s.Late),
		counter("events_total", "Events received.", s.Events),
		counter("window_waits_total", "How often a request waited for the window.", s.WindowWaits),
		counter("batches_total", "Writes to the socket.", s.Batches),
		counter("sent_bytes_total", "Bytes written to the socket.", s.BytesOut),
		counter("received_bytes_total", "Bytes read from the socket.", s.BytesIn),
		counter("connect_attempts_total", "Attempts to connect to VPP.", s.ConnectAttempts),
		counter("sessions_lost_total", "Sessions that ended without being asked to.", s.Reconnects),
	}
}

// Describe sends the descriptions of the metrics.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, ch)
}

// Collect sends the metrics.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.metrics() {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value, m.label...)
	}
}
