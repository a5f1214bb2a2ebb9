package probe

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// collector exports the health tree as metrics; the values are 0 (INIT), 1
// (OK) and 2 (ERROR, DEGRADED).
type collector struct {
	p                               *Plugin
	service, ready, dependency, inf *prometheus.Desc
}

// metrics returns the handler of /health.
func (p *Plugin) metrics() (http.HandlerFunc, error) {
	c := collector{
		p:          p,
		service:    prometheus.NewDesc("service_health", "health of the agent: 0 INIT, 1 OK, 2 ERROR", []string{"service"}, nil),
		ready:      prometheus.NewDesc("service_ready", "whether the agent is ready, as /readiness reports it", []string{"service"}, nil),
		dependency: prometheus.NewDesc("service_dependency_health", "health of a plugin: 0 INIT, 1 OK, 2 ERROR", []string{"service", "dependency"}, nil),
		inf:        prometheus.NewDesc("service_info", "program and build of the agent", []string{"service", "build_version", "build_date"}, nil),
	}
	r := prometheus.NewRegistry()
	if err := r.Register(c); err != nil {
		return nil, fmt.Errorf("register the health metrics: %w", err)
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP, nil
}

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.service
	ch <- c.ready
	ch <- c.dependency
	ch <- c.inf
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	b, s := c.p.host.Build(), c.p.snapshot()
	gauge(c.inf, 1, b.App, b.Version, b.Date)
	gauge(c.service, s.State.Number(), b.App)
	ready := 0
	if c.p.Ready() {
		ready = 1
	}
	gauge(c.ready, ready, b.App)
	for _, p := range s.Plugins {
		gauge(c.dependency, p.State.Number(), b.App, p.Name)
	}
}
