// Package skeleton is a plugin with one descriptor whose values have metadata;
// copy it to begin your own:
//
//  1. Rename skeleton and Item, and write your message in model/item.proto.
//  2. Say in model/model.go which keys the values have.
//  3. Declare in descriptor/item.go what you need of your southbound, and write
//     the callbacks.
//  4. Put into metaidx what is known of a value only once it exists.
//  5. Run "go generate ./..." and the tests.
//
// Where there is no metadata begin with without_metadata.
package skeleton

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton/descriptor"
	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton/metaidx"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name Item --value-type *model.Item --meta-type *metaidx.ItemMetadata --import ./model --import ./metaidx --output-dir descriptor

// Plugin handles items.
type Plugin struct {
	Deps
	items idxmap.Map[*metaidx.ItemMetadata]
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
	if err := p.Scheduler.RegisterKVDescriptor(descriptor.NewItemDescriptor(p.Device)); err != nil {
		return err
	}
	items, err := idxmap.Of[*metaidx.ItemMetadata](p.Scheduler.GetMetadataMap(descriptor.ItemDescriptorName))
	if err != nil {
		return fmt.Errorf("metadata of items: %w", err)
	}
	p.items = items
	return nil
}

// Items is the metadata of all existing items by name, for other plugins. It
// is valid after Init.
func (p *Plugin) Items() idxmap.Map[*metaidx.ItemMetadata] { return p.items }
