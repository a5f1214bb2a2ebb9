// Package descriptor teaches the KV Scheduler how to handle items.
package descriptor

import (
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/without_metadata/skeleton/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/without_metadata/skeleton/model"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// ItemDescriptorName is the name of the descriptor.
const ItemDescriptorName = "skeleton-item"

// Record is an item as the device knows it.
type Record struct {
	Name string
	Size uint32
}

// ErrNoItem is returned by a Device for a name that it does not know.
var ErrNoItem = errors.New("no such item")

// Device is the southbound: only what this descriptor needs of it, so that a
// test can replace it.
type Device interface {
	AddItem(name string, size uint32) error
	DeleteItem(name string) error
	ListItems() ([]Record, error)
}

type itemDescriptor struct{ device Device }

// NewItemDescriptor returns the descriptor of items on a device. The fields
// about keys follow from the model. The device cannot change an item, so there
// is no Update: every change deletes the item and creates it again.
func NewItemDescriptor(device Device) *api.KVDescriptor {
	d := &itemDescriptor{device}
	return adapter.NewItemDescriptor(api.Describe(model.ModelItem, adapter.ItemDescriptor{
		Name:         ItemDescriptorName,
		Validate:     d.validate,
		Dependencies: d.dependencies,
		Create:       d.create,
		Delete:       d.delete,
		Retrieve:     d.retrieve,
	}))
}

// validate refuses values that the device could never have.
func (d *itemDescriptor) validate(_ string, item *model.Item) error {
	if item.Name == "" {
		return api.NewInvalidValueError(errors.New("expected a name"), "name")
	}
	return nil
}

// dependencies are what must exist before the item.
func (d *itemDescriptor) dependencies(_ string, item *model.Item) []api.Dependency {
	if item.Parent == "" {
		return nil
	}
	return []api.Dependency{api.DependsOn(model.ModelItem.KeyFor(item.Parent))}
}

func (d *itemDescriptor) create(_ string, item *model.Item) (any, error) {
	if err := d.device.AddItem(item.Name, item.Size); err != nil {
		return nil, fmt.Errorf("add item: %w", err)
	}
	return nil, nil
}

// delete succeeds if the item is gone already.
func (d *itemDescriptor) delete(_ string, item *model.Item, _ any) error {
	if err := d.device.DeleteItem(item.Name); err != nil && !errors.Is(err, ErrNoItem) {
		return fmt.Errorf("delete item: %w", err)
	}
	return nil
}

// retrieve reads all items back. The device does not know parents: they are
// taken from what the scheduler expects to exist.
func (d *itemDescriptor) retrieve(correlate []adapter.ItemKVWithMetadata) ([]adapter.ItemKVWithMetadata, error) {
	records, err := d.device.ListItems()
	if err != nil {
		return nil, fmt.Errorf("list items: %w", err)
	}
	parents := map[string]string{}
	for _, kv := range correlate {
		parents[kv.Key] = kv.Value.Parent
	}
	found := make([]adapter.ItemKVWithMetadata, len(records))
	for i, r := range records {
		key := model.ModelItem.KeyFor(r.Name)
		found[i] = adapter.ItemKVWithMetadata{
			Key:    key,
			Value:  &model.Item{Name: r.Name, Size: r.Size, Parent: parents[key]},
			Origin: api.Recorded, // no other process makes items on this device; FromNB where one may
		}
	}
	return found, nil
}
