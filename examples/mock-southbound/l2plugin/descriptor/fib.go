package descriptor

import (
	"errors"

	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/model"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/southbound"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// FIBDescriptorName is the name of the descriptor.
const FIBDescriptorName = "mock-fib"

type entryCalls interface {
	AddEntry(southbound.Entry) error
	DeleteEntry(southbound.Entry) error
	Entries() []southbound.Entry
}

// NewFIBDescriptor returns the descriptor of forwarding entries. An entry
// depends on the membership of its interface, and by it on both the interface
// and the bridge domain.
func NewFIBDescriptor(sb entryCalls) *api.KVDescriptor {
	return adapter.NewFIBDescriptor(api.Describe(model.ModelFIBEntry, adapter.FIBDescriptor{
		Name: FIBDescriptorName,
		Validate: func(_ string, e *model.FIBEntry) error {
			if e.PhysAddress == "" || e.BridgeDomain == "" || e.OutgoingInterface == "" {
				return api.NewInvalidValueError(errors.New("expected all three"), "phys_address", "bridge_domain", "outgoing_interface")
			}
			return nil
		},
		Dependencies: func(_ string, e *model.FIBEntry) []api.Dependency {
			return []api.Dependency{{
				Label: "bridged-interface", Key: model.BDInterfaceKey.Key(e.BridgeDomain, e.OutgoingInterface)}}
		},
		Create: func(_ string, e *model.FIBEntry) (any, error) { return nil, sb.AddEntry(entry(e)) },
		Delete: func(_ string, e *model.FIBEntry, _ any) error { return unlessGone(sb.DeleteEntry(entry(e))) },
		Retrieve: func([]adapter.FIBKVWithMetadata) (found []adapter.FIBKVWithMetadata, err error) {
			for _, e := range sb.Entries() {
				v := &model.FIBEntry{PhysAddress: e.Address, BridgeDomain: e.Domain, OutgoingInterface: e.Interface}
				found = append(found, adapter.FIBKVWithMetadata{Key: model.ModelFIBEntry.Key(v), Value: v, Origin: api.FromNB})
			}
			return found, nil
		},
		RetrieveDependencies: []string{BridgeDomainDescriptorName},
	}))
}

func entry(e *model.FIBEntry) southbound.Entry {
	return southbound.Entry{Domain: e.BridgeDomain, Address: e.PhysAddress, Interface: e.OutgoingInterface}
}
