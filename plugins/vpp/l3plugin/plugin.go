// Package l3plugin is the plugin for layer 3 items of VPP: VRF tables, routes,
// neighbours and their ageing, proxy ARP, cross-connects, DHCP proxies, tunnel
// endpoints and virtual routers.
package l3plugin

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
)

// Plugin handles layer 3 items of VPP.
type Plugin struct {
	Deps

	tables descriptor.VrfTables
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
	err := p.IfPlugin.Resolving(p.Scheduler).RegisterKVDescriptor(
		descriptor.NewVrfTable(calls),
		descriptor.NewRoute(calls, ifs),
		descriptor.NewARP(vpp, ifs),
		descriptor.NewProxyARP(vpp, ifs),
		descriptor.NewProxyARPInterface(vpp, ifs),
		descriptor.NewIPScanNeighbor(calls),
		descriptor.NewL3XConnect(vpp, ifs),
		descriptor.NewDHCPProxy(vpp),
		descriptor.NewTeib(vpp, ifs),
		descriptor.NewVRRP(vpp, ifs),
	)
	if err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	p.tables, err = descriptor.NewVrfTables(p.Scheduler.GetMetadataMap(descriptor.VrfTableName))
	if err != nil {
		return fmt.Errorf("index of VRF tables: %w", err)
	}
	return nil
}

// VrfTables returns the VRF tables that exist in VPP.
func (p *Plugin) VrfTables() descriptor.VrfTables { return p.tables }
