package descriptor

import (
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	allocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// VPP drops the neighbours that are not static with the address of the interface that covers them, and
// when the interface goes down. Those that are configured depend on a property of the interface, which
// goes and comes again for each reason outside the interface: its addresses are removed and added again
// with its membership in a VRF table and with the allocations that they refer to, and a sub-interface goes
// down with its parent. Changes of the interface itself are the matter of model.LosesNeighbor.

// neighborsOf returns the property of an interface. Its value is what the property depends on besides
// the membership in a table, which all of them have: a property that gains or loses that dependency in the
// transaction that changes the membership would have the interface created again.
func neighborsOf(i *interfaces.Interface) kvs.KeyValuePair {
	v := &interfaces.Interface{}
	if l := i.GetSub(); i.GetType() == interfaces.Interface_SUB_INTERFACE && l.GetParentName() != "" {
		v.Link = &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: l.GetParentName(), SubId: l.GetSubId()}}
	}
	if i.GetUnnumbered() == nil {
		for _, addr := range i.GetIpAddresses() {
			if allocmodel.IsRef(addr) {
				v.IpAddresses = append(v.IpAddresses, addr)
			}
		}
	}
	return kvs.KeyValuePair{Key: model.NeighborsKey.Key(i.GetName()), Value: v}
}

// NewNeighbors describes the property of interfaces that their neighbours depend on.
func NewNeighbors() *kvs.KVDescriptor {
	return kvs.Adapt(&kvs.Descriptor[*interfaces.Interface, kvs.Metadata]{
		Name:         NeighborsName,
		Southbound:   Southbound,
		Unrecorded:   true,
		KeySelector:  model.NeighborsKey.Matches,
		Dependencies: neighborsDependencies,
	})
}

func neighborsDependencies(key string, v *interfaces.Interface) []kvs.Dependency {
	iface := ifaceOf(model.NeighborsKey.Parse(key))
	deps := inSomeTable(iface)
	for _, ref := range v.GetIpAddresses() {
		deps = append(deps, allocmodel.Dependencies("", ref, iface)...)
	}
	if parent := v.GetSub().GetParentName(); parent != "" {
		dep := item.DependsOnInterface("parent-interface-exists", parent)
		dep.Recreates = func(old, parent proto.Message) bool {
			before, _ := old.(*interfaces.Interface)
			after, _ := parent.(*interfaces.Interface)
			return before.GetEnabled() && !after.GetEnabled()
		}
		deps = append(deps, dep)
	}
	return deps
}
