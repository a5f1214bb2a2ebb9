// Package descriptor teaches the KV Scheduler how to handle interfaces.
package descriptor

import (
	"errors"
	"math/bits"

	"github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/metaidx"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/model"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/southbound"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// InterfaceDescriptorName is the name of the descriptor.
const InterfaceDescriptorName = "mock-interface"

// defaultRingSize stands for 0.
const defaultRingSize = 256

// Southbound is what the descriptor needs of the switch.
type Southbound interface {
	AddInterface(southbound.Interface) (index uint32, err error)
	SetEnabled(index uint32, enabled bool) error
	DeleteInterface(index uint32) error
	Interfaces() []southbound.Interface
}

type interfaceDescriptor struct{ sb Southbound }

// NewInterfaceDescriptor returns the descriptor of interfaces.
func NewInterfaceDescriptor(sb Southbound) *api.KVDescriptor {
	d := &interfaceDescriptor{sb}
	return adapter.NewInterfaceDescriptor(api.Describe(model.ModelInterface, adapter.InterfaceDescriptor{
		Name:               InterfaceDescriptorName,
		WithMetadata:       true,
		Validate:           d.validate,
		ValueComparator:    d.equivalent,
		UpdateWithRecreate: d.mustRecreate,
		Create:             d.create,
		Update:             d.update,
		Delete:             d.delete,
		Retrieve:           d.retrieve,
	}))
}

func (d *interfaceDescriptor) validate(_ string, i *model.Interface) error {
	switch {
	case i.Name == "":
		return api.NewInvalidValueError(errors.New("expected a name"), "name")
	case i.RxRingSize != 0 && bits.OnesCount32(i.RxRingSize) != 1:
		return api.NewInvalidValueError(errors.New("expected a power of 2"), "rx_ring_size")
	case i.RxRingSize != 0 && i.Type != model.Interface_TAP:
		return api.NewInvalidValueError(errors.New("only a TAP has a ring"), "type", "rx_ring_size")
	}
	return nil
}

func ringSize(i *model.Interface) uint32 {
	if i.Type == model.Interface_TAP && i.RxRingSize == 0 {
		return defaultRingSize
	}
	return i.RxRingSize
}

func (d *interfaceDescriptor) equivalent(_ string, a, b *model.Interface) bool {
	return a.Name == b.Name && a.Type == b.Type && a.Enabled == b.Enabled && ringSize(a) == ringSize(b)
}

// mustRecreate: neither type nor ring can be changed in place.
func (d *interfaceDescriptor) mustRecreate(_ string, a, b *model.Interface, _ *metaidx.InterfaceMetadata) bool {
	return a.Type != b.Type || ringSize(a) != ringSize(b)
}

func (d *interfaceDescriptor) create(_ string, i *model.Interface) (*metaidx.InterfaceMetadata, error) {
	index, err := d.sb.AddInterface(southbound.Interface{Name: i.Name, Kind: i.Type.String(), RingSize: ringSize(i)})
	if err != nil {
		return nil, err
	}
	if i.Enabled {
		if err := d.sb.SetEnabled(index, true); err != nil {
			return nil, errors.Join(err, d.sb.DeleteInterface(index)) // leave nothing half-made
		}
	}
	return &metaidx.InterfaceMetadata{Index: index}, nil
}

func (d *interfaceDescriptor) update(_ string, _, i *model.Interface, meta *metaidx.InterfaceMetadata) (*metaidx.InterfaceMetadata, error) {
	return meta, d.sb.SetEnabled(meta.Index, i.Enabled)
}

func (d *interfaceDescriptor) delete(_ string, _ *model.Interface, meta *metaidx.InterfaceMetadata) error {
	if err := d.sb.DeleteInterface(meta.Index); err != nil && !errors.Is(err, southbound.ErrNotFound) {
		return err
	}
	return nil
}

func (d *interfaceDescriptor) retrieve([]adapter.InterfaceKVWithMetadata) (found []adapter.InterfaceKVWithMetadata, err error) {
	for _, i := range d.sb.Interfaces() {
		found = append(found, adapter.InterfaceKVWithMetadata{
			Key: model.ModelInterface.KeyFor(i.Name),
			Value: &model.Interface{
				Name: i.Name, Type: model.Interface_Type(model.Interface_Type_value[i.Kind]),
				Enabled: i.Enabled, RxRingSize: i.RingSize,
			},
			Metadata: &metaidx.InterfaceMetadata{Index: i.Index},
			Origin:   api.FromNB,
		})
	}
	return found, nil
}
