// Package skeleton is a plugin with one descriptor whose values have no
// metadata; copy it to begin your own:
//
//  1. Rename skeleton and Item, and write your message in model/item.proto.
//  2. Say in model/model.go which keys the values have.
//  3. Declare in descriptor/item.go what you need of your southbound, and write
//     the callbacks.
//  4. Run "go generate ./..." and the tests.
//
// If the southbound gives out numbers or the like, begin with with_metadata.
package skeleton

import (
	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/without_metadata/skeleton/descriptor"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name Item --value-type *model.Item --import ./model --output-dir descriptor

// Plugin handles items.
type Plugin struct {
	Deps
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler is the part of the KV Scheduler that descriptors are given to.
	Scheduler api.Registrar
	Device    descriptor.Device
}

// Init registers the descriptor.
func (p *Plugin) Init() error {
	return p.Scheduler.RegisterKVDescriptor(descriptor.NewItemDescriptor(p.Device))
}
