// Package tracing is the plugin that exports OpenTelemetry spans. It is
// disabled unless tracing.conf names an exporter. Every agent has its own
// provider; the global one of the library is not used.
//
// The library itself reads environment variables: OTEL_EXPORTER_OTLP_*
// (headers, compression), OTEL_RESOURCE_ATTRIBUTES and OTEL_BSP_*.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// Provider provides the tracers of plugins.
type Provider interface {
	// TracerProvider returns the provider of tracers, once the plugin is
	// initialised. If tracing is disabled, its spans do nothing.
	TracerProvider() trace.TracerProvider
}

// Plugin exports spans, in the background and in batches.
type Plugin struct {
	Deps
	defaults *Config
	output   io.Writer
	provider *sdktrace.TracerProvider // nil: disabled
	flush    time.Duration            // 0: flushTime

	connections *http.Transport // to the collector; nil: none
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// ServiceLabel provides the name of the agent in spans; nil: spans have no
	// name of the agent.
	ServiceLabel servicelabel.ReaderAPI `optional:"true"`
}

var _ Provider = (*Plugin)(nil)

const (
	// flushTime limits the time of sending the remaining spans when the agent
	// stops.
	flushTime = 3 * time.Second
	// exportTime limits the time of one attempt to send a batch.
	exportTime = 10 * time.Second
)

// ConfigSpec returns the defaults of tracing.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// Init creates the configured exporter. An unreachable collector is not an
// error; it is reported in the health tree.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
	if err != nil {
		return err
	}
	exporter, err := p.exporter(cfg)
	if err != nil {
		return fmt.Errorf("exporter %s: %w", cfg.Exporter, err)
	}
	if exporter == nil {
		return nil
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", "vpp-agent")}
	if p.ServiceLabel != nil {
		attributes = append(attributes, attribute.String("service.instance.id", p.ServiceLabel.GetAgentLabel()))
	}
	where := cfg.Exporter
	if cfg.Exporter == ExporterOTLP {
		where = tracesURL(cfg.Endpoint)
	}
	w := newWatched(exporter, where, p.Log, p.Health)
	p.Go(w.retry)
	p.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(w),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(attributes...)),
	)
	p.Log.Info("spans are exported", "exporter", cfg.Exporter, "ratio", cfg.Ratio)
	return nil
}

// exporter returns nil if tracing is disabled.
func (p *Plugin) exporter(cfg Config) (sdktrace.SpanExporter, error) {
	switch cfg.Exporter {
	case ExporterStdout:
		return stdouttrace.New(stdouttrace.WithWriter(cmp.Or[io.Writer](p.output, os.Stdout)))
	case ExporterOTLP:
		p.connections = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
		return otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(tracesURL(cfg.Endpoint)),
			otlptracehttp.WithHTTPClient(&http.Client{Transport: p.connections, Timeout: exportTime}))
	}
	return nil, nil
}

// tracesURL adds the path of traces to the URL of a collector that has no path.
func tracesURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return endpoint // cannot happen: the URL was validated
	}
	return u.JoinPath("v1", "traces").String()
}

// Disabled reports whether no exporter is configured.
func (p *Plugin) Disabled() bool { return p.provider == nil }

// TracerProvider implements Provider.
func (p *Plugin) TracerProvider() trace.TracerProvider {
	if p.provider == nil {
		return noop.NewTracerProvider()
	}
	return p.provider
}

// Close sends the remaining spans, as far as possible within flushTime.
func (p *Plugin) Close() error {
	if p.provider == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(p.flush, flushTime))
	defer cancel()
	if p.connections != nil {
		defer p.connections.CloseIdleConnections()
	}
	if err := p.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the remaining spans: %w", err)
	}
	return nil
}
