// Package probe is the plugin that serves liveness and readiness probes. It
// replies from memory and never waits for a database or a data plane.
package probe

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// Plugin serves /liveness, /readiness and /health.
type Plugin struct {
	Deps
	cfg  Config
	base Config // of WithNonFatalPlugins and WithReadyDespite
	host infra.Host
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	HTTP rest.HTTPHandlers
}

// Config is the file probe.conf.
type Config struct {
	NonFatalPlugins   []string `json:"non-fatal-plugins" desc:"names of plugins whose failures do not make the agent unready; replaces the default list"`
	ReadyWhenDegraded bool     `json:"ready-when-degraded" desc:"be ready even while a plugin is degraded, for example while VPP is disconnected"`
	ReadyDespite      []string `json:"ready-despite" desc:"plugins (plugin) and parts of plugins (plugin/part) whose failures do not make the agent unready, although its state is DEGRADED or ERROR; replaces the default list"`
}

// ConfigSpec returns the defaults of probe.conf.
func (p *Plugin) ConfigSpec() any { return p.base }

// SetHost sets the agent whose health the plugin reports.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init reads the configuration and registers the endpoints.
func (p *Plugin) Init() error {
	if p.host == nil {
		return fmt.Errorf("plugin %s: needs an agent", p)
	}
	cfg, _, err := config.Load(p.Cfg, p.base)
	if err != nil {
		return err
	}
	p.cfg = cfg
	metrics, err := p.metrics()
	if err != nil {
		return err
	}
	return p.HTTP.Register(p.String(),
		rest.Endpoint{Path: "/liveness", Handler: p.liveness, Response: ExposedStatus{}, Doc: "200 unless a plugin failed; the body has the states of all plugins"},
		rest.Endpoint{Path: "/readiness", Handler: p.readiness, Response: ExposedStatus{}, Doc: "200 when the start is complete and all plugins are healthy or listed in ready-despite; otherwise 503 and the causes"},
		rest.Endpoint{Path: "/health", Handler: metrics, Doc: "the states as Prometheus metrics", Groups: []string{rest.GroupTelemetry}},
	)
}

func (p *Plugin) liveness(w http.ResponseWriter, _ *http.Request) {
	s := p.snapshot()
	p.answer(w, s, s.State != health.Error)
}

func (p *Plugin) readiness(w http.ResponseWriter, _ *http.Request) {
	s := p.snapshot()
	p.answer(w, s, p.Ready())
}

// Ready returns the result of /readiness.
func (p *Plugin) Ready() bool {
	if !p.host.Running() {
		return false
	}
	s := p.host.Health().StateWithout(slices.Concat(p.cfg.NonFatalPlugins, p.cfg.ReadyDespite)...)
	return s == health.OK || s == health.Degraded && p.cfg.ReadyWhenDegraded
}

// NonFatalPlugins returns the plugins whose failures do not affect the state of
// the agent. It is valid from Init on.
func (p *Plugin) NonFatalPlugins() []string { return p.cfg.NonFatalPlugins }

func (p *Plugin) snapshot() health.Snapshot {
	return p.host.Health().Snapshot(p.cfg.NonFatalPlugins...)
}

func (p *Plugin) answer(w http.ResponseWriter, s health.Snapshot, well bool) {
	status := http.StatusServiceUnavailable
	if well {
		status = http.StatusOK
	}
	rest.WriteJSON(w, status, expose(p.host.Build(), s, &p.cfg))
}
