// Package l3plugin is the plugin for routes and neighbours of Linux: it
// registers their descriptors.
package l3plugin

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Plugin handles routes and neighbours.
type Plugin struct {
	Deps

	defaults *Config
	cfg      Config
}

// Deps is what the plugin needs.
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
	DumpValuesByDescriptor(descriptor string, view api.View) ([]api.KVWithMetadata, error)
}

// Interfaces is the part of the plugin for interfaces that is used.
type Interfaces interface {
	Index() ifaceidx.Index
	OnRemoved(ifplugin.PathFunc)
	OnMissed(func(ns *namespace.NetNamespace))
}

var _ infra.Plugin = (*Plugin)(nil)

// ConfigSpec returns the defaults of linux-l3plugin.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// Init registers the descriptors.
func (p *Plugin) Init() (err error) {
	if p.cfg, _, err = config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig())); err != nil {
		return err
	}
	if p.cfg.Disabled || !p.Namespaces.Enabled() {
		p.Log.Info("routes and neighbours of Linux are left alone, as configured")
		return nil
	}
	deps := descriptor.Deps{Namespaces: p.Namespaces, Index: p.Interfaces.Index(), Log: p.Log}
	if p.NetAlloc != nil {
		deps.Allocated = p.NetAlloc.Addresses()
	}
	if err := p.Scheduler.RegisterKVDescriptor(descriptor.NewARP(deps), descriptor.NewRoute(deps), descriptor.NewRule(deps)); err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	p.Interfaces.OnRemoved(p.removed)
	p.Interfaces.OnMissed(p.missed)
	return nil
}

// missed reports the routes in a namespace that keep packets, since events were missed. What
// else was lost is found by the states of the interfaces, on which it depends.
func (p *Plugin) missed(ns *namespace.NetNamespace) {
	all, err := p.Scheduler.DumpValuesByDescriptor(descriptor.RouteName, api.CachedView)
	if err != nil {
		p.Log.Debug("routes were not listed", "error", err)
	}
	var keys []string
	for _, kv := range all {
		r, ok := kv.Value.(*l3.Route)
		if !ok || r.GetType() == l3.Route_UNICAST {
			continue
		}
		if meta, known := p.Interfaces.Index().Get(r.GetOutgoingInterface()); known && nsmodel.Equal(meta.Namespace, ns) {
			keys = append(keys, kv.Key)
		}
	}
	if err := p.Scheduler.ReportLost(keys...); err != nil {
		p.Log.Debug("lost values were not reported", "keys", keys, "error", err)
	}
}

// removed reports what the kernel may have lost. The scheduler reads it, so what
// the agent itself removed, or another process added, is no loss.
func (p *Plugin) removed(iface string, e netlinkapi.Event) {
	keys := descriptor.KeysOfRemoved(iface, e)
	if err := p.Scheduler.ReportLost(keys...); err != nil {
		p.Log.Debug("lost values were not reported", "keys", keys, "error", err)
	}
}
