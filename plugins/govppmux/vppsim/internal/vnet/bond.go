package vnet

import (
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	bond_api "go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
)

const bondDevice = "bond"

// bonds are the bonds and the interfaces in them.
type bonds struct {
	pool[bond]
	ids     instances
	members map[uint32]*bondMember // by sw_if_index
}

type bond struct {
	swIndex   uint32
	id        uint32
	mode      bond_api.BondMode
	lb        bond_api.BondLbAlgo
	numaOnly  bool
	customMAC bool
	members   []uint32 // in the order of joining
}

type bondMember struct {
	bond                 uint32 // pool index
	passive, longTimeout bool
	mac                  ethernet_types.MacAddress // of its own, while it has that of the bond
}

func (n *VNet) handleBonds() {
	wire.Handle(n.server, func(_ *wire.Call, req *bond_api.BondCreate2) *bond_api.BondCreate2Reply {
		index, rv := n.createBond(req)
		return &bond_api.BondCreate2Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *bond_api.BondDelete) *bond_api.BondDeleteReply {
		return &bond_api.BondDeleteReply{Retval: int32(n.deleteBond(req.SwIfIndex))}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *bond_api.BondAddMember) *bond_api.BondAddMemberReply {
		return &bond_api.BondAddMemberReply{Retval: int32(n.addBondMember(req))}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *bond_api.BondDetachMember) *bond_api.BondDetachMemberReply {
		rv := ok
		switch i := n.byIndex(req.SwIfIndex); {
		case i == nil && !n.before("24.02"):
			rv = api.INVALID_SW_IF_INDEX
		case i == nil || n.bonds.members[i.index] == nil:
			rv = api.INVALID_INTERFACE
		default:
			n.detachBondMember(i)
		}
		return &bond_api.BondDetachMemberReply{Retval: int32(rv)}
	})
	wire.HandleDump(n.server, n.bondDump)
	wire.HandleDump(n.server, n.bondMemberDump)
}

// createBond makes BondEthernet<id>, link up. Without a MAC address it makes one
// up, until the first member brings its own.
func (n *VNet) createBond(req *bond_api.BondCreate2) (interface_types.InterfaceIndex, api.VPPApiError) {
	if req.Mode < bond_api.BOND_API_MODE_ROUND_ROBIN || req.Mode > bond_api.BOND_API_MODE_LACP || req.Lb > bond_api.BOND_API_LB_ALGO_L23 {
		return 0, api.INVALID_ARGUMENT
	}
	b := &bond{id: req.ID, mode: req.Mode, lb: req.Lb, numaOnly: req.NumaOnly, customMAC: req.UseCustomMac}
	if b.id == none {
		b.id = n.bonds.next()
	}
	if !n.bonds.ids.claim(b.id) {
		return 0, api.INSTANCE_IN_USE
	}
	switch b.mode {
	case bond_api.BOND_API_MODE_ROUND_ROBIN:
		b.lb = bond_api.BOND_API_LB_ALGO_RR
	case bond_api.BOND_API_MODE_BROADCAST:
		b.lb = bond_api.BOND_API_LB_ALGO_BC
	case bond_api.BOND_API_MODE_ACTIVE_BACKUP:
		b.lb = bond_api.BOND_API_LB_ALGO_AB
	}
	hw := &hwInterface{
		name: fmt.Sprintf("BondEthernet%d", b.id), device: bondDevice, ethernet: true,
		mac: n.macOrRandom(req.MacAddress, !req.UseCustomMac),
	}
	hw.adminChanged = func(up bool) {
		if up && n.before("26.06") {
			n.setLink(hw, true)
		}
	}
	i := n.createHardware(hw)
	b.swIndex, hw.instance = i.index, n.bonds.add(b)
	if n.before("26.06") {
		n.setLink(hw, true)
	}
	return interface_types.InterfaceIndex(i.index), ok
}

// bondsFollow makes the links of bonds that are up what their members offer, as VPP
// does from 26.06 on; before, they were up whatever those did.
func (n *VNet) bondsFollow() {
	if n.before("26.06") {
		return
	}
	for _, b := range n.bonds.all() {
		i := n.ifs.at(b.swIndex)
		n.setLink(i.hw, i.adminUp && slices.ContainsFunc(b.members, func(index uint32) bool { return n.activeMember(b, index) }))
	}
}

func (n *VNet) deleteBond(index interface_types.InterfaceIndex) api.VPPApiError {
	i := n.byIndex(index)
	if i == nil || i.hw.device != bondDevice {
		return api.INVALID_SW_IF_INDEX
	}
	b := n.bonds.at(i.hw.instance)
	for _, member := range slices.Clone(b.members) {
		n.detachBondMember(n.ifs.at(member))
	}
	n.bonds.ids.release(b.id)
	n.bonds.remove(i.hw.instance)
	n.deleteHardware(i.hw)
	return ok
}

func (n *VNet) addBondMember(req *bond_api.BondAddMember) api.VPPApiError {
	i, master := n.byIndex(req.SwIfIndex), n.byIndex(req.BondSwIfIndex)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case master == nil || master.isSub || master.hw.device != bondDevice:
		return api.INVALID_INTERFACE
	case n.bonds.members[i.index] != nil:
		return api.VALUE_EXIST
	case i.hw.device == bondDevice:
		return api.INVALID_INTERFACE
	}
	b := n.bonds.at(master.hw.instance)
	n.bonds.members[i.index] = &bondMember{
		bond: master.hw.instance, passive: req.IsPassive, longTimeout: req.IsLongTimeout, mac: i.hw.mac,
	}
	b.members = append(b.members, i.index)
	if len(b.members) == 1 && !b.customMAC {
		n.setMAC(master, i.hw.mac)
	} else {
		n.setMAC(i, master.hw.mac)
	}
	return ok
}

// detachBondMember takes an interface out of its bond and gives it its MAC
// address back.
func (n *VNet) detachBondMember(i *swInterface) {
	m := n.bonds.members[i.index]
	if m == nil {
		return
	}
	b := n.bonds.at(m.bond)
	b.members = slices.DeleteFunc(b.members, func(index uint32) bool { return index == i.index })
	delete(n.bonds.members, i.index)
	n.setMAC(i, m.mac)
}

func (n *VNet) bondDump(c *wire.Call, req *bond_api.SwBondInterfaceDump) {
	for _, b := range n.bonds.all() {
		if uint32(req.SwIfIndex) != none && uint32(req.SwIfIndex) != b.swIndex {
			continue
		}
		active := uint32(0)
		for _, member := range b.members {
			if n.activeMember(b, member) {
				active++
			}
		}
		c.Send(&bond_api.SwBondInterfaceDetails{
			SwIfIndex: interface_types.InterfaceIndex(b.swIndex), ID: b.id, Mode: b.mode, Lb: b.lb, NumaOnly: b.numaOnly,
			ActiveMembers: active, Members: uint32(len(b.members)), InterfaceName: n.ifs.at(b.swIndex).name(),
		})
	}
}

// activeMember reports that a member sends and receives. Without LACP from the
// other side no member does in that mode.
func (n *VNet) activeMember(b *bond, index uint32) bool {
	i := n.ifs.at(index)
	return i.adminUp && i.hw.linkUp && b.mode != bond_api.BOND_API_MODE_LACP
}

func (n *VNet) bondMemberDump(c *wire.Call, req *bond_api.SwMemberInterfaceDump) {
	i := n.byIndex(req.SwIfIndex)
	if i == nil || i.isSub || i.hw.device != bondDevice {
		return
	}
	b := n.bonds.at(i.hw.instance)
	for _, index := range b.members {
		m := n.bonds.members[index]
		c.Send(&bond_api.SwMemberInterfaceDetails{
			SwIfIndex: interface_types.InterfaceIndex(index), InterfaceName: n.ifs.at(index).name(),
			IsPassive: m.passive, IsLongTimeout: m.longTimeout, IsLocalNuma: n.activeMember(b, index),
		})
	}
}
