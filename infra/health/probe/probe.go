// Package probe is the plugin that answers whether the agent is alive and
// ready. Its answers come from memory: asking never waits for a database or a
// data plane.
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
	base Config // of UseConf
	host infra.Host
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
	HTTP rest.HTTPHandlers
}

// Config is the file probe.conf.
type Config struct {
	NonFatalPlugins   []string `json:"non-fatal-plugins" desc:"names of plugins whose trouble does not make the agent as a whole unready; the list replaces the one that holds without"`
	ReadyWhenDegraded bool     `json:"ready-when-degraded" desc:"answer ready also while a plugin is degraded, for example while VPP is disconnected"`
	ReadyDespite      []string `json:"ready-despite" desc:"plugins (plugin) and parts of plugins (plugin/part) whose trouble does not make the agent unready; it still makes the agent DEGRADED or ERROR. The list replaces the default"`
}

// ConfigSpec returns the defaults of probe.conf.
func (p *Plugin) ConfigSpec() any { return p.base }

// SetHost tells the plugin which agent it answers for.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init reads the configuration and adds the endpoints.
func (p *Plugin) Init() error {
	if p.host == nil {
		return fmt.Errorf("plugin %s: runs under an agent only", p)
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
		rest.Endpoint{Path: "/liveness", Handler: p.liveness, Doc: "200 unless a plugin failed; the states of all plugins"},
		rest.Endpoint{Path: "/readiness", Handler: p.readiness, Doc: "200 when the start is complete and all plugins are well, or ready-despite tolerates their trouble; 503 and the causes otherwise"},
		rest.Endpoint{Path: "/health", Handler: metrics, Doc: "the states in the format of Prometheus", Groups: []string{rest.GroupTelemetry}},
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

// Ready tells what /readiness answers.
func (p *Plugin) Ready() bool {
	if !p.host.Running() {
		return false
	}
	s := p.host.Health().StateWithout(slices.Concat(p.cfg.NonFatalPlugins, p.cfg.ReadyDespite)...)
	return s == health.OK || s == health.Degraded && p.cfg.ReadyWhenDegraded
}

// NonFatalPlugins are the plugins whose trouble does not count for the agent as a
// whole; from Init on.
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
