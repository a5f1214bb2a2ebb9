// Package item is what the descriptors of VPP items have in common: how fields of values are
// checked and translated, what items depend on, and all of a descriptor for items that VPP
// keeps as entries of a table (Entry).
package item

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Southbound names the session that VPP values live in.
const Southbound = "vpp"

// InterfaceName is the descriptor of interfaces, whose metadata are needed to recognise them.
const InterfaceName = "vpp-interface"

// NoInterface is the index that stands for no interface.
const NoInterface = ^uint32(0)

// Interfaces are the interfaces that exist in VPP.
type Interfaces interface {
	LookupByName(name string) (*ifaceidx.IfMeta, bool)
	// LookupBySwIfIndex returns an interface by its index, without asking VPP.
	LookupBySwIfIndex(swIfIndex uint32) (name string, m *ifaceidx.IfMeta, ok bool)
	// Snapshot reports which of them VPP has now, by their indexes.
	Snapshot(ctx context.Context) *ifaceidx.Snapshot
}

// MissingError is the error of a value that names something that is not in VPP.
type MissingError struct {
	// What it is ("interface"), and its name.
	What, Name string
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s %q is not known to exist in VPP", e.What, e.Name)
}

// isMissing reports whether a value cannot be in VPP, because it names something that is not.
func isMissing(err error) bool { return errors.As(err, new(*MissingError)) }

// SwIfIndex returns the index of the interface with a name.
func SwIfIndex(ifs Interfaces, name string) (uint32, error) {
	m, ok := ifs.LookupByName(name)
	if !ok {
		return 0, &MissingError{"interface", name}
	}
	return m.SwIfIndex, nil
}

// Invalid is the error of Validate for one field.
func Invalid(field, format string, args ...any) error {
	return kvs.NewInvalidValueError(fmt.Errorf(format, args...), field)
}

// DependsOnInterface is the dependency on the interface with a name.
func DependsOnInterface(label, name string) kvs.Dependency {
	return kvs.Dependency{Label: label, Key: ifmodel.InterfaceModel.KeyFor(name)}
}

// Needing returns a dependency on an interface that has to meet needs; field is where its name
// is, for the error.
func Needing(dep kvs.Dependency, field string, needs ...ifmodel.Need) kvs.Dependency {
	if len(needs) == 0 {
		return dep
	}
	dep.Accepts = func(provider proto.Message) error {
		i, ok := provider.(*interfaces.Interface)
		if !ok {
			return nil
		}
		for _, need := range needs {
			if err := need(i); err != nil {
				return Invalid(field, "%w", err)
			}
		}
		return nil
	}
	return dep
}

// DependsOnTable is the dependency on a VRF table of the version of IP of addr; none is needed
// on table 0, which always exists.
func DependsOnTable(label string, id uint32, addr netip.Addr) []kvs.Dependency {
	if id == 0 {
		return nil
	}
	return []kvs.Dependency{{Label: label, Key: l3model.VrfTableKey(id, Protocol(addr))}}
}

// TableIdentity is the identity of a VRF table, which VPP has once for all items that make it; see
// kvs.Descriptor.
func TableIdentity(id uint32, protocol l3.VrfTable_Protocol) string {
	return fmt.Sprintf("VRF table/%d/%s", id, protocol)
}

// Protocol returns the version of IP of an address, as VRF tables have it.
func Protocol(addr netip.Addr) l3.VrfTable_Protocol {
	if addr.Is6() {
		return l3.VrfTable_IPV6
	}
	return l3.VrfTable_IPV4
}
