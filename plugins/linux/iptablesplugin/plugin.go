// Package iptablesplugin is the plugin for rule chains of iptables and ip6tables: it
// registers their descriptor.
package iptablesplugin

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/followers"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
)

// Plugin handles rule chains.
type Plugin struct {
	Deps

	defaults *Config
	cfg      Config
	enabled  bool
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler Scheduler
	// Namespaces opens network namespaces.
	Namespaces nsplugin.API
	// Interfaces tells which tables other programs change.
	Interfaces followers.Interfaces
	// ServiceLabel tells the chains of agents apart.
	ServiceLabel Labeller
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	api.Registrar
	api.Notifier
}

// Labeller knows the label of the agent.
type Labeller interface{ GetAgentLabel() string }

var (
	_ infra.Plugin   = (*Plugin)(nil)
	_ infra.PostInit = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of linux-iptablesplugin.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// Init registers the descriptor.
func (p *Plugin) Init() (err error) {
	if p.cfg, _, err = config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig())); err != nil {
		return err
	}
	if p.cfg.Disabled || !p.Namespaces.Enabled() {
		p.Log.Info("packet filters of Linux are left alone, as configured")
		return nil
	}
	d := descriptor.New(packetfilter.Deps{Namespaces: p.Namespaces, Label: p.ServiceLabel.GetAgentLabel(), Log: p.Log})
	if err := p.Scheduler.RegisterKVDescriptor(d); err != nil {
		return fmt.Errorf("register descriptor: %w", err)
	}
	p.Interfaces.Follow(p.follower())
	p.enabled = true
	return nil
}

func (p *Plugin) follower() packetfilter.Follower {
	return packetfilter.NewFollower(p.Scheduler, p.Log, descriptor.Name, model.RuleChainModel.KeyFor)
}

// AfterInit begins to follow the namespaces of the chains.
func (p *Plugin) AfterInit() error {
	if !p.enabled {
		return nil
	}
	if err := p.follower().Start(p.Interfaces, p.Go); err != nil {
		return fmt.Errorf("follow namespaces: %w", err)
	}
	return nil
}
