package vppcalls

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// BondDevice is the device class of bonds.
const BondDevice = "bond"

var (
	createBond = session.Require(&Operations, "interface BOND_INTERFACE", "", (*bond.BondCreate2)(nil), (*bond.BondCreate2Reply)(nil))
	addMember  = session.Require(&Operations, "interface BOND_INTERFACE: members", "",
		(*bond.BondAddMember)(nil), (*bond.BondAddMemberReply)(nil))
)

// BondParams describe a bond to create.
type BondParams struct {
	// ID is the number in its name.
	ID uint32
	// Mode and LoadBalance are in the numbers of VPP.
	Mode, LoadBalance uint32
	// MAC of the bond and of all of its members; nil for the one of the first
	// member.
	MAC *MAC
}

// Bond is a bond as VPP has it.
type Bond struct {
	ID, Mode, LoadBalance uint32
	Members               []BondMember
}

// BondMember is an interface in a bond.
type BondMember struct {
	SwIfIndex uint32
	// Passive members wait for the other side to speak LACP first.
	Passive bool
	// LongTimeout is 90 seconds instead of 3 without LACP from the other side.
	LongTimeout bool
}

// CreateBond creates a bond without members. The error is api.INSTANCE_IN_USE if
// there is one of the ID.
func (c *Calls) CreateBond(ctx context.Context, p BondParams) (swIfIndex uint32, err error) {
	mac, random := optionalMAC(p.MAC)
	reply := &bond.BondCreate2Reply{}
	err = c.call(ctx, createBond, &bond.BondCreate2{
		ID: p.ID, Mode: bond.BondMode(p.Mode), Lb: bond.BondLbAlgo(p.LoadBalance), UseCustomMac: !random, MacAddress: mac,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

// DeleteBond deletes a bond; its members stay. If it does not exist, that is a
// success. VPP before 24.02 does not look whether it exists, and deletes local0
// instead (bond_delete in src/vnet/bonding/bond_api.c), so this does.
func (c *Calls) DeleteBond(ctx context.Context, swIfIndex uint32) error {
	if found, err := c.dumpBonds(ctx, swIfIndex); err != nil || len(found) == 0 {
		return err
	}
	err := c.vpp.Call(ctx, &bond.BondDelete{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}, &bond.BondDeleteReply{})
	if session.Gone(err) {
		return nil
	}
	return err
}

// AddBondMember puts an interface into a bond. The error is api.VALUE_EXIST if
// it is in one.
func (c *Calls) AddBondMember(ctx context.Context, bondIndex uint32, m BondMember) error {
	return c.call(ctx, addMember, &bond.BondAddMember{
		SwIfIndex:     interface_types.InterfaceIndex(m.SwIfIndex),
		BondSwIfIndex: interface_types.InterfaceIndex(bondIndex),
		IsPassive:     m.Passive, IsLongTimeout: m.LongTimeout,
	}, &bond.BondAddMemberReply{})
}

// DetachBondMember takes an interface out of its bond. If it is in none, or does
// not exist, that is a success.
func (c *Calls) DetachBondMember(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &bond.BondDetachMember{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &bond.BondDetachMemberReply{})
	if session.Gone(err) || errors.Is(err, api.INVALID_INTERFACE) {
		return nil
	}
	return err
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
		b := Bond{ID: d.ID, Mode: uint32(d.Mode), LoadBalance: uint32(d.Lb)}
		members, err := session.Dump[*bond.SwMemberInterfaceDetails](ctx, c.vpp, &bond.SwMemberInterfaceDump{SwIfIndex: d.SwIfIndex})
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			b.Members = append(b.Members, BondMember{
				SwIfIndex: uint32(m.SwIfIndex), Passive: m.IsPassive, LongTimeout: m.IsLongTimeout,
			})
		}
		out[uint32(d.SwIfIndex)] = b
	}
	return out, nil
}
