package descriptor

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	bondapi "go.fd.io/govpp/binapi/bond"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The membership of an interface in a bond is derived from the bond and waits
// for the interface. VPP ends it by itself when the interface is deleted.

type bondMemberDescriptor struct {
	vpp  *vppcalls.Calls
	ifs  index
	seed string
}

// NewBondMember describes the membership of interfaces in bonds.
func NewBondMember(vpp *vppcalls.Calls, ifs index, seed string) *kvs.KVDescriptor {
	d := &bondMemberDescriptor{vpp, ifs, seed}
	return kvs.Adapt(&kvs.Descriptor[*interfaces.BondLink_BondedInterface, kvs.Metadata]{
		Name:        BondMemberName,
		Southbound:  Southbound,
		KeySelector: model.BondedInterfaceKey.Matches,
		Dependencies: func(key string, _ *interfaces.BondLink_BondedInterface) []kvs.Dependency {
			args, ok := model.BondedInterfaceKey.Parse(key)
			if !ok {
				return nil
			}
			dep := item.DependsOnInterface("interface-exists", args[1])
			dep.Recreates = changesMAC
			return []kvs.Dependency{item.Needing(dep, "bond.bonded_interfaces.name",
				model.MAC("a bond"), model.Main("a bond"), model.NoBond("a bond"))}
		},
		Identities: func(key string, _ *interfaces.BondLink_BondedInterface) []string {
			args, ok := model.BondedInterfaceKey.Parse(key)
			if !ok {
				return nil
			}
			return []string{"bond-member/" + args[1]}
		},
		CreateContext: d.create,
		DeleteContext: d.remove,
	})
}

// changesMAC reports whether an update changes the MAC address of a member. It has to leave and join
// again then: VPP gives all members the address of the bond when they join, and a bond without an
// address of its own takes the address of its first member.
func changesMAC(before, after proto.Message) bool {
	was, _ := before.(*interfaces.Interface)
	is, _ := after.(*interfaces.Interface)
	return was.GetPhysAddress() != is.GetPhysAddress()
}

func (d *bondMemberDescriptor) parse(key string) (bond, member uint32, err error) {
	args, ok := model.BondedInterfaceKey.Parse(key)
	if !ok {
		return 0, 0, fmt.Errorf("%q is not the key of a member of a bond", key)
	}
	if bond, err = swIfIndex(d.ifs, args[0]); err != nil {
		return 0, 0, err
	}
	member, err = swIfIndex(d.ifs, args[1])
	return bond, member, err
}

func (d *bondMemberDescriptor) create(ctx context.Context, key string, m *interfaces.BondLink_BondedInterface) (kvs.Metadata, error) {
	bond, member, err := d.parse(key)
	if err != nil {
		return nil, err
	}
	wanted := &bondapi.BondAddMember{
		SwIfIndex: ifIndex(member), BondSwIfIndex: ifIndex(bond), IsPassive: m.GetIsPassive(), IsLongTimeout: m.GetIsLongTimeout(),
	}
	err = d.vpp.AddBondMember(ctx, wanted)
	if errors.Is(err, api.VALUE_EXIST) {
		err = conflict(d.inBond(ctx, wanted, err), field{"bond.bonded_interfaces.name", m.GetName()})
	}
	return nil, err
}

// inBond looks which bond the interface is in; it is no error if that is the
// wanted one.
func (d *bondMemberDescriptor) inBond(ctx context.Context, wanted *bondapi.BondAddMember, cause error) error {
	all, err := d.vpp.DumpBonds(ctx)
	if err != nil {
		return errors.Join(cause, err)
	}
	for idx, b := range all {
		for _, m := range b.Members {
			found := bondapi.BondAddMember{
				SwIfIndex: m.SwIfIndex, BondSwIfIndex: b.SwIfIndex, IsPassive: m.IsPassive, IsLongTimeout: m.IsLongTimeout,
			}
			switch {
			case found == *wanted:
				return nil
			case m.SwIfIndex == wanted.SwIfIndex:
				name, _, _ := d.ifs.LookupBySwIfIndex(idx)
				return fmt.Errorf("is in bond %q (ID %d) already: %w", name, b.ID, cause)
			}
		}
	}
	return cause
}

func (d *bondMemberDescriptor) remove(ctx context.Context, key string, _ *interfaces.BondLink_BondedInterface, _ kvs.Metadata) error {
	bond, member, err := d.parse(key)
	if err != nil {
		return err
	}
	if err := d.vpp.DetachBondMember(ctx, member); err != nil {
		return err
	}
	args, _ := model.BondedInterfaceKey.Parse(key)
	return d.returnMAC(ctx, args[0], bond, member)
}

// returnMAC gives a bond without members another MAC address, if it still has the address of its
// former member.
func (d *bondMemberDescriptor) returnMAC(ctx context.Context, name string, bond, member uint32) error {
	if m, ok := d.ifs.LookupByName(name); !ok || m.ChosenMAC != "" {
		return nil
	}
	has, err := d.vpp.DumpInterface(ctx, bond)
	if err != nil || has == nil {
		return err
	}
	had, err := d.vpp.DumpInterface(ctx, member)
	if err != nil || had == nil || has.MAC != had.MAC {
		return err
	}
	all, err := d.vpp.DumpBonds(ctx)
	if err != nil || len(all[bond].Members) > 0 {
		return err
	}
	return d.vpp.SetMAC(ctx, bond, madeUpMAC(d.seed, name))
}
