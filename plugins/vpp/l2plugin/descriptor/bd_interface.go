package descriptor

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// An interface in a bridge domain is derived from the bridge domain and waits
// for the interface. It must leave before the interface or the bridge domain is
// deleted: otherwise VPP keeps entries of its table that point nowhere and can
// be deleted no more. VPP keeps each interface in at most one bridge domain and
// moves it without a word, so a second one is refused here; the metadata are
// there to find it.

// memberCalls is what interfaces in bridge domains need of VPP.
type memberCalls interface {
	AddMember(id uint32, m vppcalls.Member) error
	RemoveMember(id uint32, m vppcalls.Member) error
}

// MetadataMaps gives the metadata of a descriptor once it is registered.
type MetadataMaps interface {
	GetMetadataMap(descriptor string) idxmap.Reader
}

// MemberMeta is the metadata of an interface in a bridge domain. It is never
// changed.
type MemberMeta struct {
	BridgeDomain, Interface string
}

// byInterface finds the bridge domain that an interface is in.
var byInterface = idxmap.Index[*MemberMeta, string]{
	Name: "interface",
	Keys: func(m *MemberMeta) []string {
		if m == nil {
			return nil
		}
		return []string{m.Interface}
	},
}

type bdInterfaceDescriptor struct {
	vpp memberCalls
	ifs Interfaces
	bds BridgeDomains
	// members returns those that exist.
	members func() (idxmap.Map[*MemberMeta], error)
}

// NewBDInterface describes the interfaces in bridge domains; maps gives it its
// own metadata.
func NewBDInterface(vpp memberCalls, ifs Interfaces, bds BridgeDomains, maps MetadataMaps) *kvs.KVDescriptor {
	d := &bdInterfaceDescriptor{vpp, ifs, bds, func() (idxmap.Map[*MemberMeta], error) {
		return idxmap.Of[*MemberMeta](maps.GetMetadataMap(BDInterfaceName))
	}}
	return kvs.Adapt(&kvs.Descriptor[*l2.BridgeDomain_Interface, *MemberMeta]{
		Name:         BDInterfaceName,
		Southbound:   Southbound,
		KeySelector:  model.BDInterfaceKey.Matches,
		WithMetadata: true,
		Dependencies: func(_ string, m *l2.BridgeDomain_Interface) []kvs.Dependency {
			return []kvs.Dependency{{Label: "interface-exists", Key: ifmodel.InterfaceModel.KeyFor(m.GetName())}}
		},
		Create: d.create,
		Delete: d.remove,
	})
}

func (d *bdInterfaceDescriptor) create(key string, m *l2.BridgeDomain_Interface) (*MemberMeta, error) {
	bd, id, member, err := d.resolve(key, m)
	if err != nil {
		return nil, err
	}
	members, err := d.members()
	if err != nil {
		return nil, err
	}
	for _, label := range byInterface.Lookup(members, m.GetName()) {
		if other, ok := members.Get(label); ok && other.BridgeDomain != bd {
			return nil, fmt.Errorf("interface %q is in bridge domain %q already", m.GetName(), other.BridgeDomain)
		}
	}
	return &MemberMeta{bd, m.GetName()}, d.vpp.AddMember(id, member)
}

func (d *bdInterfaceDescriptor) remove(key string, m *l2.BridgeDomain_Interface, _ *MemberMeta) error {
	_, id, member, err := d.resolve(key, m)
	if err != nil {
		return err
	}
	return d.vpp.RemoveMember(id, member)
}

func (d *bdInterfaceDescriptor) resolve(key string, m *l2.BridgeDomain_Interface) (bd string, id uint32, member vppcalls.Member, err error) {
	args, ok := model.BDInterfaceKey.Parse(key)
	if !ok {
		return "", 0, member, fmt.Errorf("%q is not the key of an interface in a bridge domain", key)
	}
	if id, err = d.bds.id(args[0]); err != nil {
		return "", 0, member, err
	}
	member = vppcalls.Member{BVI: m.GetBridgedVirtualInterface(), SplitHorizonGroup: uint8(m.GetSplitHorizonGroup())}
	member.SwIfIndex, err = swIfIndex(d.ifs, m.GetName())
	return args[0], id, member, err
}
