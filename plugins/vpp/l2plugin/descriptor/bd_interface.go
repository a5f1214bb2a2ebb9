package descriptor

import (
	"context"
	"fmt"

	"go.fd.io/govpp/binapi/interface_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// An interface in a bridge domain is derived from the bridge domain and waits
// for the interface. It must leave before the interface or the bridge domain is
// deleted: otherwise VPP keeps entries of its table that point nowhere and can
// be deleted no more. VPP keeps each interface in at most one bridge domain and
// moves it without a word, so a second one is refused here.

type bdInterfaceDescriptor struct {
	vpp *vppcalls.Calls
	ifs item.Interfaces
	bds BridgeDomains
}

// NewBDInterface describes the interfaces in bridge domains.
func NewBDInterface(vpp *vppcalls.Calls, ifs item.Interfaces, bds BridgeDomains) *kvs.KVDescriptor {
	d := &bdInterfaceDescriptor{vpp, ifs, bds}
	return kvs.Adapt(&kvs.Descriptor[*l2.BridgeDomain_Interface, kvs.Metadata]{
		Name:        BDInterfaceName,
		Southbound:  item.Southbound,
		KeySelector: model.BDInterfaceKey.Matches,
		Dependencies: func(_ string, m *l2.BridgeDomain_Interface) []kvs.Dependency {
			var needs []ifmodel.Need
			if m.GetBridgedVirtualInterface() {
				needs = append(needs, ifmodel.MAC("a bridged virtual interface"))
			}
			dep := item.DependsOnInterface("interface-exists", m.GetName())
			return []kvs.Dependency{item.Needing(dep, "interfaces.bridged_virtual_interface", needs...)}
		},
		Identities:    func(_ string, m *l2.BridgeDomain_Interface) []string { return attachment(m.GetName()) },
		CreateContext: d.create,
		DeleteContext: d.remove,
	})
}

// attachment is the identity of the one thing that an interface can be attached to: a bridge
// domain or a cross-connect.
func attachment(iface string) []string { return []string{"l2-attachment/" + iface} }

func (d *bdInterfaceDescriptor) create(ctx context.Context, key string, m *l2.BridgeDomain_Interface) (kvs.Metadata, error) {
	id, member, err := d.resolve(key, m)
	if err != nil {
		return nil, err
	}
	if err := d.checkLoopbacks(id, m.GetName()); err != nil {
		return nil, err
	}
	return nil, attachmentError(ctx, d.ifs, "interfaces.name", m.GetName(), d.vpp.AddMember(ctx, id, member))
}

// checkLoopbacks refuses an interface with which a bridge domain would flood a frame for ever; see
// model.LoopbackOf.
func (d *bdInterfaceDescriptor) checkLoopbacks(id uint32, name string) error {
	of := loopbackOf(d.ifs)
	if of(name) == "" {
		return nil
	}
	for _, index := range d.vpp.Members(id) {
		if other, _, _ := d.ifs.LookupBySwIfIndex(uint32(index)); of.FloodForEver(name, other) {
			return fmt.Errorf("interfaces.name: %q: %s", name, model.FloodProblem(other))
		}
	}
	return nil
}

func (d *bdInterfaceDescriptor) remove(ctx context.Context, key string, m *l2.BridgeDomain_Interface, _ kvs.Metadata) error {
	id, member, err := d.resolve(key, m)
	if err != nil {
		return err
	}
	return d.vpp.RemoveMember(ctx, id, member)
}

func (d *bdInterfaceDescriptor) resolve(key string, m *l2.BridgeDomain_Interface) (id uint32, member vppcalls.Member, err error) {
	args, ok := model.BDInterfaceKey.Parse(key)
	if !ok {
		return 0, member, fmt.Errorf("%q is not the key of an interface in a bridge domain", key)
	}
	id, known := d.bds.id(args[0])
	if !known {
		return 0, member, fmt.Errorf("bridge domain %q is not known to exist in VPP", args[0])
	}
	member = vppcalls.Member{BVI: m.GetBridgedVirtualInterface(), SplitHorizonGroup: uint8(m.GetSplitHorizonGroup())}
	member.Tagged = isTagged(d.ifs, m.GetName())
	index, err := item.SwIfIndex(d.ifs, m.GetName())
	member.SwIfIndex = interface_types.InterfaceIndex(index)
	return id, member, err
}
