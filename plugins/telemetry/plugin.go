// Package telemetry exports the counters of VPP to Prometheus: interfaces, rules of ACLs, nodes and
// their errors, buffers, memory, threads. It reads them from the stats segment
// of VPP, without work for VPP's main thread.
//
// The plugin reads on request, and every 15 seconds for the history of the last hour, which is in
// memory (history.go). A scrape reads the segment if the cached
// counters are older than polling-interval, so the segment is read at most once per
// interval, regardless of the number of scrapes. Every read opens the
// segment again: a VPP that restarted, stopped or was replaced needs no
// detection. While none can be read there are no series but vpp_stats_up, which
// is 0, and no scrape waits longer than a second. An object that is gone in VPP
// is gone in the next snapshot, with all its series.
package telemetry

import (
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// Plugin reads the stats segment of VPP. Its methods may be called concurrently.
type Plugin struct {
	Deps

	cfg      Config
	now      func() time.Time
	cache    cache
	history  history
	sampling time.Duration // between two samples of the history

	buffers   health.Reporter // nil: not reported yet
	exhausted string          // the pools that are out of buffers; empty: none
}

// HealthBuffers is the part of the health that says whether VPP has buffers for packets.
const HealthBuffers = "buffers"

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// VPP has the path of the stats segment.
	VPP StatsSocket
	// Metrics publishes what is read, if there is a registry.
	Metrics metrics.Registerer `optional:"true"`
	// Label names the agent in the label "agent" of all series, if there is one.
	Label AgentLabel `optional:"true"`
	// Names provides the configured names of interfaces; without it, and for
	// interfaces that the agent does not know, the label is VPP's name.
	Names InterfaceNames `optional:"true"`
	// HTTP serves rates and the history of the last hour; nil: there is none.
	HTTP rest.HTTPHandlers `optional:"true"`
	// Rules provides the configured names of access control lists; without it there are no
	// counters of rules.
	Rules ACLRules `optional:"true"`
}

// StatsSocket reports where the stats segment of VPP is.
type StatsSocket interface {
	// StatsSocket returns the path of the unix socket, "" if VPP has none. It is
	// called for every read.
	StatsSocket() string
}

// AgentLabel reports the name of the agent.
type AgentLabel interface{ GetAgentLabel() string }

// InterfaceNames knows the interfaces of the configuration. It may be called at
// any time, concurrently.
type InterfaceNames interface {
	// InterfaceName returns the name that the configuration gives to the
	// interface with the index in VPP (sw_if_index).
	InterfaceName(index uint32) (name string, ok bool)
}

// ACLRules knows the access control lists of the configuration. It may be called at any time,
// concurrently.
type ACLRules interface {
	// ACLRule returns the name of the list with an index in VPP, and which of its rules in the
	// configuration VPP has at a position; both begin with 0.
	ACLRule(list uint32, position int) (name string, rule int, ok bool)
}

// ConfigSpec returns the defaults of telemetry.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init reads the configuration and registers the metrics. VPP need not be there.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, DefaultConfig())
	if err != nil {
		return err
	}
	p.cfg = cfg
	if cfg.PollingInterval != cfg.interval() {
		p.Log.Warn("polling-interval is too short, the default is used", "configured", cfg.PollingInterval, "used", cfg.interval())
	}
	if cfg.Disabled {
		return nil
	}
	if p.HTTP != nil {
		if err := p.HTTP.Register(p.String(), p.endpoints()...); err != nil {
			return err
		}
		p.Go(p.keepHistory)
	}
	if cfg.PrometheusDisabled || p.Metrics == nil {
		return nil
	}
	if err := p.Metrics.Registry().Register(newCollector(p)); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// Disabled reports whether the configuration disables the plugin.
func (p *Plugin) Disabled() bool { return p.cfg.Disabled }

// Close ends the history; reads are part of the requests that cause them.
func (p *Plugin) Close() error { return p.PluginDeps.Close() }
