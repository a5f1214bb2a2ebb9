package vppcalls

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// BondDevice is the device class of bonds.
const BondDevice = "bond"

var (
	createBond = session.Require("interface BOND_INTERFACE", "", (*bond.BondCreate2)(nil), (*bond.BondCreate2Reply)(nil))
	addMember  = session.Require("interface BOND_INTERFACE: members", "",
		(*bond.BondAddMember)(nil), (*bond.BondAddMemberReply)(nil))
)

// Bond is a bond as VPP has it, with its members.
type Bond struct {
	*bond.SwBondInterfaceDetails
	Members []*bond.SwMemberInterfaceDetails
}

// CreateBond creates a bond without members. The error is api.INSTANCE_IN_USE if
// there is one of the ID.
func (c *Calls) CreateBond(ctx context.Context, b *bond.BondCreate2) (swIfIndex uint32, err error) {
	reply := &bond.BondCreate2Reply{}
	err = c.call(ctx, createBond, b, reply)
	return uint32(reply.SwIfIndex), err
}

// DeleteBond deletes a bond; its members stay. If it does not exist, that is a
// success. VPP before 24.02 does not look whether it exists, and deletes local0
// instead (bond_delete in src/vnet/bonding/bond_api.c), so this does.
func (c *Calls) DeleteBond(ctx context.Context, swIfIndex uint32) error {
	if found, err := c.dumpBonds(ctx, swIfIndex); err != nil || len(found) == 0 {
		return err
	}
	return c.remove(ctx, &bond.BondDelete{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}, &bond.BondDeleteReply{})
}

// AddBondMember puts an interface into a bond. The error is api.VALUE_EXIST if
// it is in one.
func (c *Calls) AddBondMember(ctx context.Context, m *bond.BondAddMember) error {
	return c.call(ctx, addMember, m, &bond.BondAddMemberReply{})
}

// DetachBondMember takes an interface out of its bond. If it is in none, or does
// not exist, that is a success.
func (c *Calls) DetachBondMember(ctx context.Context, swIfIndex uint32) error {
	return c.remove(ctx, &bond.BondDetachMember{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &bond.BondDetachMemberReply{}, api.INVALID_INTERFACE)
}

func (c *Calls) dumpBonds(ctx context.Context, swIfIndex uint32) ([]*bond.SwBondInterfaceDetails, error) {
	return session.Dump[*bond.SwBondInterfaceDetails](ctx, c.vpp, &bond.SwBondInterfaceDump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	})
}

// DumpBonds returns all bonds by the index of the interface, with their members.
func (c *Calls) DumpBonds(ctx context.Context) (map[uint32]Bond, error) {
	found, err := c.dumpBonds(ctx, NoInterface)
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Bond, len(found))
	for _, d := range found {
		members, err := session.Dump[*bond.SwMemberInterfaceDetails](ctx, c.vpp, &bond.SwMemberInterfaceDump{SwIfIndex: d.SwIfIndex})
		if err != nil {
			return nil, err
		}
		out[uint32(d.SwIfIndex)] = Bond{d, members}
	}
	return out, nil
}
