// Package descriptor teaches the KV Scheduler how to handle bridge domains,
// their members and forwarding entries.
package descriptor

import (
	"errors"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/model"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/southbound"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// BridgeDomainDescriptorName is the name of the descriptor.
const BridgeDomainDescriptorName = "mock-bridge-domain"

// Southbound is what the plugin needs of the switch.
type Southbound interface {
	domainCalls
	memberCalls
	entryCalls
}

type domainCalls interface {
	AddDomain(name string) error
	DeleteDomain(name string) error
	Domains() map[string][]string
}

type bridgeDomainDescriptor struct{ sb domainCalls }

// NewBridgeDomainDescriptor returns the descriptor of bridge domains. A bridge
// domain has no dependencies: its members are derived values, and each waits
// for its own interface.
func NewBridgeDomainDescriptor(sb domainCalls) *api.KVDescriptor {
	d := &bridgeDomainDescriptor{sb}
	return adapter.NewBridgeDomainDescriptor(api.Describe(model.ModelBridgeDomain, adapter.BridgeDomainDescriptor{
		Name:            BridgeDomainDescriptorName,
		Validate:        d.validate,
		ValueComparator: d.equivalent,
		DerivedValues:   d.members,
		Create:          func(_ string, bd *model.BridgeDomain) (any, error) { return nil, sb.AddDomain(bd.Name) },
		Delete:          func(_ string, bd *model.BridgeDomain, _ any) error { return unlessGone(sb.DeleteDomain(bd.Name)) },
		Retrieve:        d.retrieve,
	}))
}

// unlessGone: what is gone already was deleted successfully.
func unlessGone(err error) error {
	if errors.Is(err, southbound.ErrNotFound) {
		return nil
	}
	return err
}

func (d *bridgeDomainDescriptor) validate(_ string, bd *model.BridgeDomain) error {
	if bd.Name == "" {
		return api.NewInvalidValueError(errors.New("expected a name"), "name")
	}
	seen := map[string]bool{}
	for _, i := range bd.Interfaces {
		if seen[i.Name] {
			return api.NewInvalidValueError(errors.New("an interface is given twice"), "interfaces.name")
		}
		seen[i.Name] = true
	}
	return nil
}

// equivalent returns true: members are created and deleted on their own, and a
// bridge domain has nothing else to change.
func (d *bridgeDomainDescriptor) equivalent(_ string, a, b *model.BridgeDomain) bool {
	return a.Name == b.Name
}

func (d *bridgeDomainDescriptor) members(_ string, bd *model.BridgeDomain) (derived []api.KeyValuePair) {
	for _, i := range bd.Interfaces {
		derived = append(derived, api.KeyValuePair{Key: model.BDInterfaceKey.Key(bd.Name, i.Name), Value: i})
	}
	return derived
}

func (d *bridgeDomainDescriptor) retrieve([]adapter.BridgeDomainKVWithMetadata) (found []adapter.BridgeDomainKVWithMetadata, err error) {
	domains := d.sb.Domains()
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		bd := &model.BridgeDomain{Name: name}
		for _, member := range domains[name] {
			bd.Interfaces = append(bd.Interfaces, &model.BridgeDomain_Interface{Name: member})
		}
		found = append(found, adapter.BridgeDomainKVWithMetadata{
			Key: model.ModelBridgeDomain.Key(bd), Value: bd, Origin: api.FromNB,
		})
	}
	return found, nil
}
