package rest

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// serverMetrics are the metrics of the server. Labels contain the patterns of
// endpoints instead of paths, so that clients cannot create labels.
type serverMetrics struct {
	requests    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	inFlight    prometheus.Gauge
	connections prometheus.Gauge
	notAfter    *prometheus.Desc
}

func newServerMetrics() *serverMetrics {
	return &serverMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_server_requests_total", Help: "completed requests, by endpoint (none: unknown or rejected before) and status",
		}, []string{"method", "pattern", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_server_request_duration_seconds", Help: "duration of requests, by endpoint", Buckets: prometheus.DefBuckets,
		}, []string{"method", "pattern"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "http_server_requests_in_flight", Help: "requests in progress"}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "http_server_connections", Help: "open connections"}),
		notAfter: prometheus.NewDesc("http_server_certificate_not_after_timestamp_seconds",
			"expiry of the certificate of the server, in seconds since 1970", nil, nil),
	}
}

// Describe implements prometheus.Collector; infra/metrics registers the server.
func (p *Plugin) Describe(ch chan<- *prometheus.Desc) {
	t := p.routes().metrics
	for _, c := range t.collectors() {
		c.Describe(ch)
	}
	ch <- t.notAfter
}

// Collect implements prometheus.Collector.
func (p *Plugin) Collect(ch chan<- prometheus.Metric) {
	t := p.routes().metrics
	for _, c := range t.collectors() {
		c.Collect(ch)
	}
	p.mu.Lock()
	certs := p.certs
	p.mu.Unlock()
	if certs != nil {
		ch <- prometheus.MustNewConstMetric(t.notAfter, prometheus.GaugeValue, float64(certs.NotAfter().Unix()))
	}
}

func (t *serverMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{t.requests, t.seconds, t.inFlight, t.connections}
}

// instrumented counts requests and sets the timeouts of responses.
func (p *Plugin) instrumented(next http.Handler) http.Handler {
	t := p.routes().metrics
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		a := p.cfg.newResponseWriter(w, begin)
		t.inFlight.Inc()
		defer func() { // also when a handler aborts the response
			t.inFlight.Dec()
			a.end()
			method, pattern := knownMethod(r.Method), pathOf(r.Pattern)
			t.requests.WithLabelValues(method, pattern, strconv.Itoa(a.code())).Inc()
			t.seconds.WithLabelValues(method, pattern).Observe(time.Since(begin).Seconds())
		}()
		next.ServeHTTP(a, r)
	})
}

// connected counts connections, for http.Server.ConnState.
func (t *serverMetrics) connected(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		t.connections.Inc()
	case http.StateClosed, http.StateHijacked:
		t.connections.Dec()
	}
}

// knownMethod prevents clients from creating labels.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}
