// Package l3plugin is the plugin for routes, neighbours, policy rules and
// nexthop objects of Linux: it registers their descriptors.
package l3plugin

import (
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Plugin handles routes and neighbours.
type Plugin struct {
	Deps

	cfg     Config
	enabled bool
	// allocated are the addresses that values may refer to.
	allocated netalloc.Addresses
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler Scheduler
	// Namespaces opens network namespaces.
	Namespaces nsplugin.API
	// Interfaces says where configured interfaces are in the kernel.
	Interfaces Interfaces
	// NetAlloc allocates addresses; without it no value may refer to one.
	NetAlloc netalloc.API `optional:"true"`
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	api.Registrar
	api.Notifier
}

// Interfaces is the part of the plugin for interfaces that is used.
type Interfaces interface {
	Index() ifaceidx.Index
	OnRemoved(ifplugin.PathFunc)
	Follow(ifplugin.Follower)
	Look(ns *namespace.NetNamespace)
}

var (
	_ infra.Plugin   = (*Plugin)(nil)
	_ infra.PostInit = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of linux-l3plugin.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init registers the descriptors.
func (p *Plugin) Init() (err error) {
	if p.cfg, _, err = config.Load(p.Cfg, DefaultConfig()); err != nil {
		return err
	}
	if p.cfg.Disabled || !p.Namespaces.Enabled() {
		p.Log.Info("routes and neighbours of Linux are left alone, as configured")
		return nil
	}
	deps := descriptor.Deps{Namespaces: p.Namespaces, Index: p.Interfaces.Index(), Nexthops: p.nexthops().Index, Log: p.Log}
	if p.NetAlloc != nil {
		p.allocated = p.NetAlloc.Addresses()
		deps.Allocated = p.allocated
	}
	if err := p.Scheduler.RegisterKVDescriptor(
		descriptor.NewARP(deps), descriptor.NewRoute(deps), descriptor.NewRule(deps), descriptor.NewNexthop(deps)); err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	p.Interfaces.OnRemoved(p.removed)
	p.Interfaces.Follow(p.rules())
	p.Interfaces.Follow(p.nexthops())
	p.enabled = true
	return nil
}

// AfterInit begins to follow the namespaces of policy rules and nexthop objects.
func (p *Plugin) AfterInit() error {
	if !p.enabled {
		return nil
	}
	if err := errors.Join(p.rules().FollowNamespaces(p.Interfaces, p.Go), p.nexthops().FollowNamespaces(p.Interfaces, p.Go)); err != nil {
		return fmt.Errorf("follow namespaces: %w", err)
	}
	return nil
}

// removed reports what the kernel may have lost. The scheduler reads it, so what
// the agent itself removed, or another process added, is no loss.
func (p *Plugin) removed(iface string, e netlinkapi.Event) {
	switch e.Kind {
	case netlinkapi.CarrierLost:
		if all, err := p.nexthops().Index(); err == nil {
			p.nexthops().Report(descriptor.NexthopsByInterface.Lookup(all, iface)...)
		}
	case netlinkapi.NeighbourRemoved:
		if all, err := p.neighbours().Index(); err == nil {
			p.neighbours().Report(descriptor.ARPsByAddress.Lookup(all, descriptor.ARPMetadata{Interface: iface, IP: e.IP.Unmap()})...)
		}
	default:
		p.report(descriptor.KeysOfRemoved(iface, e, p.allocated))
	}
}

// report passes on what may be lost.
func (p *Plugin) report(keys []string) {
	if err := p.Scheduler.ReportLost(keys...); err != nil {
		p.Log.Debug("lost values were not reported", "keys", keys, "error", err)
	}
}
