// Package meter has the Prometheus metrics of the scheduler. Labels have at most as
// many values as there are descriptors, and no keys.
package meter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Source is what the metrics are read from when they are asked for.
type Source interface {
	Queue() api.QueueStatus
	RetriesPending() int
	CountStates() map[api.ValueState]int
	LastDrift() *api.DriftReport
	DescriptorOf(key string) string
	Hanging() []exec.Call
	Timeouts() map[string]uint64
	Suspects() []api.Suspect
	CountViolations() map[string]uint64
	CountUnread() int
}

// Meter collects. Observe and Waited must not be called concurrently.
type Meter struct {
	source Source

	processed  prometheus.Counter
	txns       *prometheus.CounterVec   // txn_type, result
	txnTime    *prometheus.HistogramVec // txn_type
	process    *prometheus.HistogramVec // slice
	wait       *prometheus.HistogramVec // txn_type
	operations *prometheus.CounterVec   // descriptor, operation, result
	callTime   *prometheus.HistogramVec // descriptor, operation
}

// The names of the predecessor are kept where it had the same metric.
const (
	namespace = "ligato"
	subsystem = "kvscheduler"
)

// buckets reach from 10 us, a call of a local southbound, to 20 s.
func buckets() []float64 { return prometheus.ExponentialBuckets(10e-6, 5, 10) }

// New returns a meter that was not registered yet.
func New(source Source) *Meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets()}, labels)
	}
	return &Meter{
		source: source,
		processed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "txn_processed", Help: "Transactions executed."}),
		txns:       counter("transactions_total", "Transactions executed, by type and result (ok, failed, reverted).", "txn_type", "result"),
		txnTime:    histogram("txn_duration_seconds", "Time from the start to the end of transactions.", "txn_type"),
		process:    histogram("txn_process_duration_seconds", "Time that parts of the processing of transactions took.", "slice"),
		wait:       histogram("queue_wait_seconds", "Time that transactions waited in the queue.", "txn_type"),
		operations: counter("operations_total", "Operations executed, by result (ok, failed, noop).", "descriptor", "operation", "result"),
		callTime:   histogram("operation_duration_seconds", "Time that operations took in their descriptor.", "descriptor", "operation"),
	}
}

// Register registers all metrics.
func (m *Meter) Register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.processed, m.txns, m.txnTime, m.process, m.wait, m.operations, m.callTime, current{m.source}} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// Waited notes how long a transaction waited in the queue.
func (m *Meter) Waited(t api.TxnType, d time.Duration) {
	m.wait.WithLabelValues(t.String()).Observe(d.Seconds())
}

// group is what the operations with the same labels have in common.
type group struct{ descriptor, operation string }

type tally struct {
	ok, failed, noop int
	time             prometheus.Observer
}

// Observe notes an executed transaction.
func (m *Meter) Observe(txn *api.RecordedTxn) {
	groups := map[group]*tally{}
	failed := 0
	for i := range txn.Executed {
		op := &txn.Executed[i]
		t := m.tally(groups, op)
		switch {
		case op.NewErrMsg != "":
			t.failed++
			failed++
		case op.NOOP:
			t.noop++
		default:
			t.ok++
		}
		if !op.NOOP && op.HasRun() {
			t.time.Observe(op.Took().Seconds())
		}
	}
	for g, t := range groups {
		for result, n := range map[string]int{"ok": t.ok, "failed": t.failed, "noop": t.noop} {
			if n > 0 {
				m.operations.WithLabelValues(g.descriptor, g.operation, result).Add(float64(n))
			}
		}
	}
	result := "ok"
	switch {
	case txn.Reverted:
		result = "reverted"
	case failed > 0:
		result = "failed"
	}
	m.processed.Inc()
	m.txns.WithLabelValues(txn.TxnType.String(), result).Inc()
	m.txnTime.WithLabelValues(txn.TxnType.String()).Observe(txn.Stop.Sub(txn.Start).Seconds())
	m.process.WithLabelValues("executeTransaction").Observe(txn.Stop.Sub(txn.Start).Seconds())
}

func (m *Meter) tally(groups map[group]*tally, op *api.RecordedTxnOp) *tally {
	g := group{m.source.DescriptorOf(op.Key), op.Operation.String()}
	t := groups[g]
	if t == nil {
		t = &tally{time: m.callTime.WithLabelValues(g.descriptor, g.operation)}
		groups[g] = t
	}
	return t
}

// current are the metrics that are read when they are asked for.
type current struct{ source Source }

// Describe sends the descriptions of the metrics.
func (c current) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect sends the metrics.
func (c current) Collect(ch chan<- prometheus.Metric) {
	metric := func(t prometheus.ValueType, name, help string, v float64, labels []string) {
		var names, values []string
		for i := 0; i < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, labels[i+1])
		}
		desc := prometheus.NewDesc(prometheus.BuildFQName(namespace, subsystem, name), help, names, nil)
		ch <- prometheus.MustNewConstMetric(desc, t, v, values...)
	}
	gauge := func(name, help string, v float64, labels ...string) {
		metric(prometheus.GaugeValue, name, help, v, labels)
	}
	count := func(name, help string, v float64, labels ...string) {
		metric(prometheus.CounterValue, name, help, v, labels)
	}
	collectQueue(c.source.Queue(), gauge, count)
	gauge("retries_pending", "Retries that wait for their time.", float64(c.source.RetriesPending()))
	counts := c.source.CountStates()
	for number, name := range kvscheduler.ValueState_name {
		if state := api.ValueState(number); state != kvscheduler.ValueState_NONEXISTENT {
			gauge("values", "Values by state, with derived ones.", float64(counts[state]), "state", name)
		}
	}
	quarantined, suspects := 0, c.source.Suspects()
	for i := range suspects {
		if suspects[i].Quarantined {
			quarantined++
		}
	}
	gauge("quarantined_values", "Values with which nothing is done, because they bring their southbound down.", float64(quarantined))
	gauge("suspected_values", "Values that wait to be tried alone, or are held back by a search, because their southbound went down.", float64(len(suspects)-quarantined))
	hanging := map[string]int{}
	for _, call := range c.source.Hanging() {
		hanging[call.Descriptor]++
	}
	for descriptor, n := range c.source.Timeouts() { // those that hang are among them
		gauge("callbacks_hanging", "Callbacks that were given up and have not returned.", float64(hanging[descriptor]), "descriptor", descriptor)
		count("callback_timeouts_total", "Callbacks that did not return in time.", float64(n), "descriptor", descriptor)
	}
	for descriptor, n := range c.source.CountViolations() {
		count("contract_breaches_total", "How often a descriptor broke its contract.", float64(n), "descriptor", descriptor)
	}
	gauge("unread_descriptors", "Descriptors that could not be read, so that nothing is known of their values.", float64(c.source.CountUnread()))
	report := c.source.LastDrift()
	if report == nil {
		return
	}
	gauge("drift_detection_timestamp_seconds", "When drift was looked for last.", float64(report.Stop.UnixMilli())/1000)
	for _, kind := range api.DriftKinds() {
		gauge("drift_values", "Values that drifted, as found last.", float64(report.Count(kind)), "kind", string(kind))
	}
}

type sample func(name, help string, v float64, labels ...string)

// collectQueue reports the lengths of the queues.
func collectQueue(queue api.QueueStatus, gauge, count sample) {
	gauge("queue_length", "Entries of the queue that wait.", float64(queue.Length))
	gauge("queue_capacity", "Transactions of the northbound that can wait.", float64(queue.Capacity))
	gauge("queue_oldest_seconds", "How long the entry that came first has been waiting.", queue.OldestAge.Seconds())
	for _, class := range api.QueueClasses() {
		gauge("queue_waiting", "Entries of the queue that wait, by class.", float64(queue.Waiting[class]), "class", class)
	}
	if queue.Running != nil {
		gauge("queue_running_seconds", "Age of the transaction in execution.", queue.Running.For.Seconds())
	}
	if ch := queue.Changes; ch != nil {
		count("txn_dropped", "The same as changes_refused_total, under the name of the predecessor.", float64(ch.Refused))
		gauge("changes_waiting", "Changes of the northbound that wait before the queue.", float64(ch.Waiting))
		gauge("changes_clients_waiting", "Waiting changes of clients, whose number is limited.", float64(ch.Clients))
		gauge("changes_capacity", "Changes of clients that can wait; one more is refused.", float64(ch.Capacity))
		gauge("changes_oldest_seconds", "How long the change that came first has been waiting.", ch.OldestAge.Seconds())
		count("changes_refused_total", "Changes of clients that found no room.", float64(ch.Refused))
		count("changes_canceled_total", "Changes that were given up while they waited.", float64(ch.Canceled))
	}
}

// RegisterJournal registers the metrics of a state directory. stats must not block for long.
func RegisterJournal(r prometheus.Registerer, stats func() ownership.Stats) error {
	return r.Register(journal{stats})
}

type journal struct{ stats func() ownership.Stats }

// Describe sends the descriptions of the metrics.
func (j journal) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(j, ch) }

// Collect sends the metrics.
func (j journal) Collect(ch chan<- prometheus.Metric) {
	send := func(name, help string, kind prometheus.ValueType, v float64) {
		desc := prometheus.NewDesc(prometheus.BuildFQName(namespace, subsystem, name), help, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, kind, v)
	}
	st := j.stats()
	send("state_writes_total", "Writes to the state directory.", prometheus.CounterValue, float64(st.Writes))
	send("state_write_errors_total", "Writes to the state directory that failed.", prometheus.CounterValue, float64(st.Errors))
	send("state_written_bytes_total", "Keys and values written to the state directory.", prometheus.CounterValue, float64(st.Bytes))
	send("state_file_bytes", "Size of the file in the state directory.", prometheus.GaugeValue, float64(st.Size))
}
