// Command metrics is a plugin with metrics for Prometheus: a counter, a gauge that
// is computed when it is asked for, and a histogram.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/servers/metrics
//	curl -s http://127.0.0.1:9191/metrics | grep ^example_
//
// prints, besides the buckets of the histogram,
//
//	example_jobs_total{result="done"} 9
//	example_jobs_total{result="failed"} 1
//	example_queue_length 0
//
// Every agent has a registry of its own, so two agents in one process do not count
// together. Keep labels to a few known values: each combination is a series.
package main

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func main() {
	if err := newAgent(rest.NewPlugin()).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(server *rest.Plugin, opts ...agent.Option) *agent.Agent {
	w := &Worker{}
	w.SetName("worker")
	w.Metrics = metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = server }))
	return agent.NewAgent(append(opts, agent.AllPlugins(w))...)
}

// Worker is a plugin that works off jobs.
type Worker struct {
	Deps
	jobs    *prometheus.CounterVec
	seconds prometheus.Histogram
	waiting atomic.Int64
}

// Deps is what Worker needs.
type Deps struct {
	infra.PluginDeps
	Metrics metrics.Registerer
}

// Init registers the metrics; a name that is taken is an error here.
func (w *Worker) Init() error {
	w.jobs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "example_jobs_total", Help: "jobs that ended, by result",
	}, []string{"result"})
	w.seconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "example_job_seconds", Help: "how long jobs took", Buckets: prometheus.ExponentialBuckets(0.001, 4, 6),
	})
	length := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "example_queue_length", Help: "jobs that wait",
	}, func() float64 { return float64(w.waiting.Load()) })
	for _, c := range []prometheus.Collector{w.jobs, w.seconds, length} {
		if err := w.Metrics.Registry().Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// AfterInit works off ten jobs.
func (w *Worker) AfterInit() error {
	w.waiting.Store(10)
	for n := range 10 {
		timer := prometheus.NewTimer(w.seconds)
		result := "done"
		if n == 7 {
			result = "failed"
		}
		w.waiting.Add(-1)
		timer.ObserveDuration()
		w.jobs.WithLabelValues(result).Inc()
	}
	return nil
}
