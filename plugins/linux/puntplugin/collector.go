package puntplugin

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/internal/proxy"
)

// metric is a value of each proxy.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(proxy.Counters) float64
}

// collector shows what the proxies have done to Prometheus.
type collector struct {
	plugin  *Plugin
	metrics []metric
}

func newCollector(p *Plugin) *collector {
	c := &collector{plugin: p}
	agent := prometheus.Labels{"agent": p.ServiceLabel.GetAgentLabel()}
	add := func(name, help string, kind prometheus.ValueType, value func(proxy.Counters) float64) {
		c.metrics = append(c.metrics, metric{prometheus.NewDesc("linux_punt_proxy_"+name, help, []string{"proxy"}, agent), kind, value})
	}
	add("sessions", "Open connections, or clients that sent datagrams lately.", prometheus.GaugeValue,
		func(c proxy.Counters) float64 { return float64(c.Active) })
	add("sessions_total", "Connections, or clients that sent datagrams.", prometheus.CounterValue,
		func(c proxy.Counters) float64 { return float64(c.Sessions) })
	add("failed_sessions_total", "Attempts to reach the other side that failed.", prometheus.CounterValue,
		func(c proxy.Counters) float64 { return float64(c.Failed) })
	add("received_bytes_total", "Bytes that clients sent and the other side got.", prometheus.CounterValue,
		func(c proxy.Counters) float64 { return float64(c.Received) })
	add("sent_bytes_total", "Bytes that clients got.", prometheus.CounterValue,
		func(c proxy.Counters) float64 { return float64(c.Sent) })
	add("dropped_datagrams_total", "Datagrams that were not forwarded.", prometheus.CounterValue,
		func(c proxy.Counters) float64 { return float64(c.Dropped) })
	return c
}

// Describe sends the descriptions of the metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
}

// Collect sends the metrics.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for name, counters := range c.plugin.running.Counters() {
		for _, m := range c.metrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(counters), name)
		}
	}
}
