package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

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
