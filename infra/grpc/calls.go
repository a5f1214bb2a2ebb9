package grpc

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// calls counts calls, and logs them if extended-logging is set. The metrics
// have the names of go-grpc-middleware, which dashboards for gRPC servers in Go
// expect. They include calls that are rejected before a handler is called, which
// interceptors do not see, except those without permission, which only rejected
// counts.
type calls struct {
	known func(service string) bool
	log   logging.Logger // nil disables the log of calls

	started, handled, received, sent *prometheus.CounterVec
	seconds                          *prometheus.HistogramVec
	connections                      prometheus.Gauge
	rejected                         prometheus.Counter
}

// newCalls registers the metrics, unless registry is nil.
func newCalls(registry prometheus.Registerer, known func(string) bool) (*calls, error) {
	labels := []string{"grpc_type", "grpc_service", "grpc_method"}
	c := &calls{
		known: known,
		started: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_started_total", Help: "calls that started"}, labels),
		handled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_handled_total", Help: "calls that ended, by code"}, append(labels, "grpc_code")),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_msg_received_total", Help: "messages of calls received from clients"}, labels),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_msg_sent_total", Help: "messages of calls sent to clients"}, labels),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "grpc_server_handling_seconds", Help: "duration of calls", Buckets: prometheus.DefBuckets}, labels),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "grpc_server_connections", Help: "open connections"}),
		rejected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "grpc_server_refused_total", Help: "calls rejected because of missing or unknown credentials or a missing permission"}),
	}
	if registry == nil {
		return c, nil
	}
	for _, m := range []prometheus.Collector{c.started, c.handled, c.received, c.sent, c.seconds, c.connections, c.rejected} {
		if err := registry.Register(m); err != nil {
			return nil, fmt.Errorf("register the metrics of the gRPC server: %w", err)
		}
	}
	return c, nil
}

func (c *calls) reject() { c.rejected.Inc() }

// call is the data of a call in its context.
type call struct {
	kind, service, method string
}

type callKey struct{}

func (c *calls) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	service, method, _ := strings.Cut(strings.TrimPrefix(info.FullMethodName, "/"), "/")
	if !c.known(service) { // names invented by clients must not become labels
		service, method = "unknown", "unknown"
		if strings.HasPrefix(info.FullMethodName, "/grpc.reflection.") {
			service, method = "grpc.reflection", "ServerReflectionInfo"
		}
	}
	return context.WithValue(ctx, callKey{}, &call{"unary", service, method})
}

func (c *calls) HandleRPC(ctx context.Context, s stats.RPCStats) {
	about, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	switch s := s.(type) {
	case *stats.Begin:
		about.kind = kind(s)
		c.started.WithLabelValues(about.kind, about.service, about.method).Inc()
	case *stats.InPayload:
		c.received.WithLabelValues(about.kind, about.service, about.method).Inc()
	case *stats.OutPayload:
		c.sent.WithLabelValues(about.kind, about.service, about.method).Inc()
	case *stats.End:
		code := status.Code(s.Error)
		c.handled.WithLabelValues(about.kind, about.service, about.method, code.String()).Inc()
		took := s.EndTime.Sub(s.BeginTime)
		c.seconds.WithLabelValues(about.kind, about.service, about.method).Observe(took.Seconds())
		if c.log != nil {
			c.log.Debug("gRPC call", "service", about.service, "method", about.method, "peer", caller(ctx),
				"code", code.String(), "took", took)
		}
	}
}

func kind(b *stats.Begin) string {
	switch {
	case b.IsClientStream && b.IsServerStream:
		return "bidi_stream"
	case b.IsClientStream:
		return "client_stream"
	case b.IsServerStream:
		return "server_stream"
	}
	return "unary"
}

func caller(ctx context.Context) string {
	_, addr := Caller(ctx)
	return addr
}

func (c *calls) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c *calls) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.connections.Inc()
	case *stats.ConnEnd:
		c.connections.Dec()
	}
}

// Caller returns the user who made the call with this context, empty if the
// server knows no users, and the peer address as host:port. The peers of a unix
// socket have no addresses; they are numbered, as in unix-socket:7.
func Caller(ctx context.Context) (user, addr string) {
	if a, ok := ctx.Value(accountKey{}).(*accounts.Account); ok {
		user = a.Name
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		addr = p.Addr.String()
	}
	return user, addr
}
