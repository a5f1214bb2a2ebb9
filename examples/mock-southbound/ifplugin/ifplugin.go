// Package ifplugin configures the interfaces of the mock southbound; it is a
// small replica of the VPP interface plugin.
package ifplugin

import (
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name Interface --value-type *model.Interface --meta-type *metaidx.InterfaceMetadata --import ./model --import ./metaidx --output-dir descriptor

// Plugin handles interfaces.
type Plugin struct {
	Deps
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	Scheduler  api.Registrar
	Southbound descriptor.Southbound
}

// Init registers the descriptor.
func (p *Plugin) Init() error {
	return p.Scheduler.RegisterKVDescriptor(descriptor.NewInterfaceDescriptor(p.Southbound))
}
