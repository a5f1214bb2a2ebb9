// Package metrics is the plugin that serves Prometheus metrics. Every agent has
// its own registry, so that a process may have several agents.
package metrics

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// Registerer provides the registry in which plugins register their collectors.
type Registerer interface {
	// Registry returns the registry served under /metrics. It can be used as
	// soon as the plugin exists, also before its Init.
	Registry() prometheus.Registerer
}

// Plugin serves the metrics under /metrics, including the metrics of the Go
// runtime and of the process.
type Plugin struct {
	Deps

	once     sync.Once
	registry *prometheus.Registry
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	HTTP rest.HTTPHandlers
}

var _ Registerer = (*Plugin)(nil)

// Registry returns the registry, see Registerer.
func (p *Plugin) Registry() prometheus.Registerer { return p.reg() }

func (p *Plugin) reg() *prometheus.Registry {
	p.once.Do(func() { p.registry = prometheus.NewRegistry() })
	return p.registry
}

// Init registers the endpoint and the collectors of the process.
func (p *Plugin) Init() error {
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := p.reg().Register(c); err != nil {
			return fmt.Errorf("register the collectors of the process: %w", err)
		}
	}
	if server, ok := p.HTTP.(prometheus.Collector); ok { // the server cannot depend on this plugin, which depends on it
		if err := p.reg().Register(server); err != nil {
			return fmt.Errorf("register the metrics of the HTTP server: %w", err)
		}
	}
	handler := promhttp.HandlerFor(p.reg(), promhttp.HandlerOpts{
		ErrorLog: logging.StdLog(p.Log),
		Registry: p.reg(),
	})
	return p.HTTP.Register(p.String(), rest.Endpoint{
		Path: "/metrics", Handler: handler.ServeHTTP, Doc: "Prometheus metrics", Groups: []string{rest.GroupTelemetry},
	})
}
