// Package l2plugin is the plugin for layer 2 items of VPP: bridge domains, the
// interfaces in them, entries of their tables, and cross-connects.
package l2plugin

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
)

// Plugin handles layer 2 items of VPP.
type Plugin struct {
	Deps

	bds descriptor.BridgeDomains
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler kvs.Registrar
	// IfPlugin knows the interfaces and the session with VPP.
	IfPlugin ifplugin.API
}

var _ infra.Plugin = (*Plugin)(nil)

// Init registers the descriptors.
func (p *Plugin) Init() error {
	vpp, ifs := p.IfPlugin.Southbound(), p.IfPlugin.Interfaces()
	calls := vppcalls.New(vpp)
	p.IfPlugin.Offer(descriptor.Capabilities()...)
	if err := p.IfPlugin.Resolving(p.Scheduler).RegisterKVDescriptor(descriptor.NewBridgeDomain(calls, ifs)); err != nil {
		return fmt.Errorf("register descriptor: %w", err)
	}
	bds, err := descriptor.NewBridgeDomains(p.Scheduler.GetMetadataMap(descriptor.BridgeDomainName))
	if err != nil {
		return fmt.Errorf("index of bridge domains: %w", err)
	}
	p.bds = bds
	err = p.IfPlugin.Resolving(p.Scheduler).RegisterKVDescriptor(
		descriptor.NewBDInterface(calls, ifs, bds),
		descriptor.NewFIB(vpp, ifs, bds),
		descriptor.NewXConnect(vpp, ifs),
	)
	if err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	return nil
}

// BridgeDomains returns the bridge domains that exist in VPP.
func (p *Plugin) BridgeDomains() descriptor.BridgeDomains { return p.bds }
