// Package itemplugin is the plugin of Linux items that need nothing but the scheduler, network
// namespaces and interfaces: a Spec says what it registers.
package itemplugin

import (
	"context"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/followers"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
)

// Spec is the part in which such plugins differ.
type Spec struct {
	// Name of the plugin.
	Name string
	// Config is the configuration without a file, a struct.
	Config Config
	// Register registers the descriptors with to.Add, and what follows their values with to.Follow.
	Register func(to *Registrar) error
}

// Config is the configuration of a plugin.
type Config interface {
	// LeavesAlone reports whether the plugin does nothing.
	LeavesAlone() bool
}

// Registrar is what Register works with.
type Registrar struct {
	// Scheduler handles the values.
	Scheduler Scheduler
	// Namespaces opens network namespaces.
	Namespaces nsplugin.API
	// Label is the label of the agent.
	Label string
	// Log is the log of the plugin.
	Log logging.PluginLogger

	plugin *Plugin
}

// Add registers descriptors.
func (r *Registrar) Add(descriptors ...*api.KVDescriptor) error {
	if err := r.Scheduler.RegisterKVDescriptor(descriptors...); err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	return nil
}

// Follower reports values that another process may have changed; see followers.Values.
type Follower interface {
	ifplugin.Follower
	FollowNamespaces(interfaces followers.Interfaces, run func(func(ctx context.Context))) error
}

// Follow makes f follow the values of a descriptor that was added.
func (r *Registrar) Follow(f Follower) {
	r.plugin.Interfaces.Follow(f)
	r.plugin.followers = append(r.plugin.followers, f)
}

// Plugin handles the items of a Spec.
type Plugin struct {
	Deps

	spec      Spec
	followers []Follower
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler Scheduler
	// Namespaces opens network namespaces.
	Namespaces nsplugin.API
	// Interfaces reports what other processes change in namespaces.
	Interfaces followers.Interfaces
	// ServiceLabel has the label of the agent, which marks its items.
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

// ConfigSpec returns the defaults of the configuration.
func (p *Plugin) ConfigSpec() any { return p.spec.Config }

// Init registers the descriptors.
func (p *Plugin) Init() error {
	cfg, _, err := config.LoadAny(p.Cfg, p.spec.Config)
	if err != nil {
		return err
	}
	if cfg.(Config).LeavesAlone() || !p.Namespaces.Enabled() {
		p.Log.Info("items are left alone, as configured")
		return nil
	}
	return p.spec.Register(&Registrar{
		Scheduler: p.Scheduler, Namespaces: p.Namespaces, Label: p.ServiceLabel.GetAgentLabel(), Log: p.Log, plugin: p,
	})
}

// AfterInit begins to follow the namespaces of the items.
func (p *Plugin) AfterInit() error {
	for _, f := range p.followers {
		if err := f.FollowNamespaces(p.Interfaces, p.Go); err != nil {
			return fmt.Errorf("follow namespaces: %w", err)
		}
	}
	return nil
}
