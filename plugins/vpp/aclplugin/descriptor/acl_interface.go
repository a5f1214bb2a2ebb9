package descriptor

import (
	"context"
	"fmt"
	"slices"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// The use of a list on an interface is derived from the list and waits for the interface. VPP
// wants all lists of an interface in one request, in the order in which it looks at them. So
// the uses of an interface that change together are one request, which keeps the lists that
// are not ours. An interface has one list of MAC/IP rules, which VPP would replace.

// Directions in keys.
const (
	ingress = "ingress"
	egress  = "egress"
)

// applyCalls is what the use of lists needs of VPP.
type applyCalls interface {
	Apply(ctx context.Context, swIfIndexes []uint32, change func(has vppcalls.Applied) vppcalls.Applied) []error
	ApplyMAC(ctx context.Context, m vppcalls.AppliedMAC) error
	RemoveMAC(ctx context.Context, m vppcalls.AppliedMAC) error
}

type aclInterfaceDescriptor struct {
	vpp   applyCalls
	ifs   item.Interfaces
	lists Lists
}

type (
	useValue  = kvs.BatchValue[*acl.ACL_Interfaces, kvs.Metadata]
	useResult = kvs.BatchResult[kvs.Metadata]
)

// NewACLInterface describes the use of lists on interfaces.
func NewACLInterface(vpp applyCalls, ifs item.Interfaces, lists Lists) *kvs.KVDescriptor {
	d := &aclInterfaceDescriptor{vpp, ifs, lists}
	apply := func(ctx context.Context, values []useValue) []useResult { return d.change(ctx, values, true) }
	return kvs.Adapt(&kvs.Descriptor[*acl.ACL_Interfaces, kvs.Metadata]{
		Name:        ACLInterfaceName,
		Southbound:  item.Southbound,
		KeySelector: model.InterfaceKey.Matches,
		Dependencies: func(_ string, v *acl.ACL_Interfaces) []kvs.Dependency {
			name, _ := interfaceOf(v)
			return []kvs.Dependency{item.DependsOnInterface("interface-exists", name)}
		},
		CreateBatch: apply,
		UpdateBatch: apply,
		DeleteBatch: func(ctx context.Context, values []useValue) []useResult { return d.change(ctx, values, false) },
		Concurrency: concurrency,
	})
}

// interfaceOf returns the interface of a derived value, and whether it is for sent packets.
func interfaceOf(v *acl.ACL_Interfaces) (name string, out bool) {
	for _, name := range v.GetEgress() {
		return name, true
	}
	for _, name := range v.GetIngress() {
		return name, false
	}
	return "", false
}

// use is a value of a batch.
type use struct {
	list   *Meta
	egress bool
	at     int // in the batch
}

// change applies lists to interfaces, or takes them away.
func (d *aclInterfaceDescriptor) change(ctx context.Context, values []useValue, add bool) []useResult {
	results := make([]useResult, len(values))
	var indexes []uint32
	uses := map[uint32][]use{} // of lists of IP rules, by interface
	for i := range values {
		index, u, err := d.resolve(&values[i], add)
		u.at = i
		switch {
		case err != nil || u.list == nil:
			results[i].Err = err
		case u.list.L2:
			results[i].Err = d.changeMAC(ctx, index, u.list.Index, add)
		default:
			if uses[index] == nil {
				indexes = append(indexes, index)
			}
			uses[index] = append(uses[index], u)
		}
	}
	if len(indexes) == 0 {
		return results
	}
	errs := d.vpp.Apply(ctx, indexes, func(has vppcalls.Applied) vppcalls.Applied {
		for _, u := range uses[has.SwIfIndex] {
			lists := &has.Ingress
			if u.egress {
				lists = &has.Egress
			}
			*lists = with(*lists, u.list.Index, add)
		}
		has.Ingress, has.Egress = d.sorted(has.Ingress), d.sorted(has.Egress)
		return has
	})
	for n, err := range errs {
		for _, u := range uses[indexes[n]] {
			results[u.at].Err = err
		}
	}
	return results
}

// resolve translates a value; of a list or interface that VPP does not have there is nothing
// to remove, so that the use has no list.
func (d *aclInterfaceDescriptor) resolve(v *useValue, add bool) (swIfIndex uint32, u use, err error) {
	value := v.Old
	if add {
		value = v.New
	}
	args, ok := model.InterfaceKey.Parse(v.Key)
	if !ok {
		return 0, u, fmt.Errorf("%q is not the key of an access control list on an interface", v.Key)
	}
	name, out := interfaceOf(value)
	u.egress = out
	list, known := d.lists.LookupByName(args[0])
	swIfIndex, err = item.SwIfIndex(d.ifs, name)
	switch {
	case !add && (!known || err != nil):
		return 0, u, nil
	case !known:
		return 0, u, fmt.Errorf("access control list %q is not known to exist in VPP", args[0])
	}
	u.list = list
	return swIfIndex, u, err
}

func (d *aclInterfaceDescriptor) changeMAC(ctx context.Context, swIfIndex, list uint32, add bool) error {
	m := vppcalls.AppliedMAC{SwIfIndex: swIfIndex, List: list}
	if !add {
		return d.vpp.RemoveMAC(ctx, m)
	}
	if err := d.vpp.ApplyMAC(ctx, m); err != nil {
		return fmt.Errorf("interfaces.ingress: %w", err)
	}
	return nil
}

// with returns lists with one added at the end, unless they have it, or with one removed.
func with(lists []uint32, list uint32, add bool) []uint32 {
	switch at := slices.Index(lists, list); {
	case at < 0 && add:
		return append(lists, list)
	case at >= 0 && !add:
		return slices.Delete(lists, at, at+1)
	}
	return lists
}

// sorted puts the lists that are ours in their order; the others stay in their places.
func (d *aclInterfaceDescriptor) sorted(lists []uint32) []uint32 {
	type ours struct {
		index uint32
		name  string
		order int32
	}
	var sorted []ours
	var places []int
	for place, index := range lists {
		name, known := d.lists.LookupByID(ListID{index, false})
		if m, _ := d.lists.LookupByName(name); known && m != nil && !m.Foreign {
			sorted, places = append(sorted, ours{index, name, m.Order}), append(places, place)
		}
	}
	slices.SortFunc(sorted, func(a, b ours) int { return compareOrder(a.order, a.name, b.order, b.name) })
	for n, place := range places {
		lists[place] = sorted[n].index
	}
	return lists
}
