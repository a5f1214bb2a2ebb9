package controller

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	rolloutsDesc = prometheus.NewDesc("ligato_fleet_controller_rollouts",
		"rollouts that have not ended, by role: the controller executes them, or follows another one that does", []string{"fleet", "role"}, nil)
	errorsDesc = prometheus.NewDesc("ligato_fleet_controller_errors_total",
		"reads and writes of etcd that failed", []string{"fleet"}, nil)
)

// collector exports what the controller does.
type collector struct {
	plugin *Plugin
	errors atomic.Int64
}

// Describe implements prometheus.Collector.
func (*collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- rolloutsDesc
	ch <- errorsDesc
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.plugin.mu.Lock()
	executes, follows := c.plugin.counts()
	c.plugin.mu.Unlock()
	fleet := c.plugin.cfg.Fleet
	ch <- prometheus.MustNewConstMetric(rolloutsDesc, prometheus.GaugeValue, float64(executes), fleet, "executes")
	ch <- prometheus.MustNewConstMetric(rolloutsDesc, prometheus.GaugeValue, float64(follows), fleet, "follows")
	ch <- prometheus.MustNewConstMetric(errorsDesc, prometheus.CounterValue, float64(c.errors.Load()), fleet)
}
