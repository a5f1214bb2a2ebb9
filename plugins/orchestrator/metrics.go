package orchestrator

import "github.com/prometheus/client_golang/prometheus"

var guardedDesc = prometheus.NewDesc("ligato_orchestrator_store_guarded_items",
	"items whose change is held back because the content of the store may be the result of an accident (guard-deletes); 0 if the store is followed", []string{"source"}, nil)

// collector exports the state of the stores.
type collector struct{ p *Plugin }

func (collector) Describe(ch chan<- *prometheus.Desc) { ch <- guardedDesc }

func (c collector) Collect(ch chan<- prometheus.Metric) {
	c.p.mu.RLock()
	defer c.p.mu.RUnlock()
	for _, s := range c.p.stores {
		n := 0
		if s.guard != nil {
			n = len(s.guard.differing)
		}
		ch <- prometheus.MustNewConstMetric(guardedDesc, prometheus.GaugeValue, float64(n), s.name)
	}
}
