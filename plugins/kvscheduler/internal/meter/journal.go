package meter

import "github.com/prometheus/client_golang/prometheus"

// Journal is what the metrics of a state directory are made of; it does not
// block for long.
type Journal interface {
	// Written counts writes, those that failed, and bytes; size is that of the
	// file in bytes.
	Written() (writes, failed, bytes uint64, size int64)
}

// RegisterJournal registers the metrics of a state directory.
func RegisterJournal(r prometheus.Registerer, j Journal) error { return r.Register(journal{j}) }

type journal struct{ Journal }

// Describe sends the descriptions of the metrics.
func (j journal) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(j, ch) }

// Collect sends the metrics.
func (j journal) Collect(ch chan<- prometheus.Metric) {
	send := func(name, help string, kind prometheus.ValueType, v float64) {
		desc := prometheus.NewDesc(prometheus.BuildFQName(namespace, subsystem, name), help, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, kind, v)
	}
	writes, failed, bytes, size := j.Written()
	send("state_writes_total", "Writes to the state directory.", prometheus.CounterValue, float64(writes))
	send("state_write_errors_total", "Writes to the state directory that failed.", prometheus.CounterValue, float64(failed))
	send("state_written_bytes_total", "Keys and values written to the state directory.", prometheus.CounterValue, float64(bytes))
	send("state_file_bytes", "Size of the file in the state directory.", prometheus.GaugeValue, float64(size))
}
