// Package l2plugin configures the bridge domains and forwarding entries of the
// mock southbound; it is a small replica of the VPP L2 plugin. It knows
// interfaces by their keys only.
package l2plugin

import (
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/descriptor"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name BridgeDomain --value-type *model.BridgeDomain --import ./model --output-dir descriptor
//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name BDInterface --value-type *model.BridgeDomain_Interface --import ./model --output-dir descriptor
//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name FIB --value-type *model.FIBEntry --import ./model --output-dir descriptor

// Plugin handles bridge domains and forwarding entries.
type Plugin struct {
	Deps
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	Scheduler  api.Registrar
	Southbound descriptor.Southbound
}

// Init registers the descriptors.
func (p *Plugin) Init() error {
	return p.Scheduler.RegisterKVDescriptor(
		descriptor.NewBridgeDomainDescriptor(p.Southbound),
		descriptor.NewBDInterfaceDescriptor(p.Southbound),
		descriptor.NewFIBDescriptor(p.Southbound),
	)
}
