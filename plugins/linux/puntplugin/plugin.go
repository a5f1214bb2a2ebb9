// Package puntplugin is the plugin for proxies between ports and Unix sockets, which run in the
// process of the agent.
package puntplugin

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/internal/proxy"
)

// Plugin runs proxies.
type Plugin struct {
	Deps

	cfg     Config
	running descriptor.Running
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler api.Registrar
	// Namespaces opens network namespaces.
	Namespaces nsplugin.API
	// ServiceLabel is a label of the metrics.
	ServiceLabel Labeller
	// Metrics publishes what the proxies have done, if there is a registry.
	Metrics metrics.Registerer `optional:"true"`
}

// Labeller knows the label of the agent.
type Labeller interface{ GetAgentLabel() string }

var _ infra.Plugin = (*Plugin)(nil)

// ConfigSpec returns the defaults of linux-puntplugin.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init registers the descriptor and the metrics.
func (p *Plugin) Init() (err error) {
	if p.cfg, _, err = config.Load(p.Cfg, DefaultConfig()); err != nil {
		return err
	}
	if p.Metrics != nil {
		if err := p.Metrics.Registry().Register(newCollector(p)); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	if p.cfg.Disabled || !p.Namespaces.Enabled() {
		p.Log.Info("proxies are not run, as configured")
		return nil
	}
	d := descriptor.New(descriptor.Deps{Namespaces: p.Namespaces, Running: &p.running, Log: p.Log, Settings: proxy.Settings{
		Sessions: p.cfg.Sessions, DialTimeout: p.cfg.DialTimeout, Idle: p.cfg.Idle,
	}})
	if err := p.Scheduler.RegisterKVDescriptor(d); err != nil {
		return fmt.Errorf("register descriptor: %w", err)
	}
	return nil
}

// Close ends all proxies.
func (p *Plugin) Close() error {
	p.running.Close()
	return nil
}
