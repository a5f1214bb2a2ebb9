package fleetagent

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
)

var (
	revisionDesc = prometheus.NewDesc("ligato_fleet_revision",
		"revision of the fleet that the agent has confirmed last; 0: none", []string{"fleet"}, nil)
	failedDesc = prometheus.NewDesc("ligato_fleet_rollout_failed",
		"1 if the agent did not keep the revision of its last rollout: it refused it, failed, reverted, or is quarantined", []string{"fleet"}, nil)
	followedDesc = prometheus.NewDesc("ligato_fleet_followed",
		"1 if the agent follows its assignments; 0: etcd cannot be reached, or is another one", []string{"fleet"}, nil)
)

// collector exports the state of the agent in its fleet.
type collector struct {
	fleet    string
	memory   atomic.Pointer[rollout.Memory]
	followed atomic.Bool
}

// Describe implements prometheus.Collector.
func (*collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- revisionDesc
	ch <- failedDesc
	ch <- followedDesc
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, c.fleet)
	}
	if m := c.memory.Load(); m != nil {
		gauge(revisionDesc, float64(m.Confirmed))
		gauge(failedDesc, number(m.State.Unsuccessful()))
	}
	gauge(followedDesc, number(c.followed.Load()))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
