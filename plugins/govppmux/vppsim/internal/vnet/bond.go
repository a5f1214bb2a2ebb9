package vnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	bond_api "go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/ethernet_types"
)

const bondDevice = "bond"

// bonds are the bonds and the interfaces in them.
type bonds struct {
	*VNet
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
	mac                  ethernet_types.MacAddress // its own address, while it has the bond's
}

func newBonds(n *VNet) feature { return &bonds{VNet: n} }

func (bs *bonds) register(server *wire.Server) {
	handleCreate[bond_api.BondCreate2Reply](server, bs.createBond)
	handle[bond_api.BondDeleteReply](server, bs.deleteBond)
	handle[bond_api.BondAddMemberReply](server, bs.addBondMember)
	handle[bond_api.BondDetachMemberReply](server, bs.detachBondMember)
	wire.HandleDump(server, bs.bondDump)
	wire.HandleDump(server, bs.bondMemberDump)
}

func (bs *bonds) reset() {
	bs.pool, bs.ids, bs.members = pool[bond]{}, instances{}, make(map[uint32]*bondMember)
}

// createBond makes BondEthernet<id>, link up. Without a MAC address it makes one
// up, until the first member brings its own.
func (bs *bonds) createBond(req *bond_api.BondCreate2) (ifIndex, retval) {
	if req.Mode < bond_api.BOND_API_MODE_ROUND_ROBIN || req.Mode > bond_api.BOND_API_MODE_LACP || req.Lb > bond_api.BOND_API_LB_ALGO_L23 {
		return 0, api.INVALID_ARGUMENT
	}
	b := &bond{id: req.ID, mode: req.Mode, lb: req.Lb, numaOnly: req.NumaOnly, customMAC: req.UseCustomMac}
	if b.id == none {
		b.id = bs.next()
	}
	if !bs.ids.claim(b.id) {
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
		mac: bs.macOrRandom(req.MacAddress, !req.UseCustomMac),
	}
	hw.adminChanged = func(up bool) {
		if up && bs.before("26.06") {
			bs.setLink(hw, true)
		}
	}
	i := bs.createHardware(hw)
	b.swIndex, hw.instance = i.index, bs.add(b)
	if bs.before("26.06") {
		bs.setLink(hw, true)
	}
	return ifIndex(i.index), ok
}

// afterRequest makes the links of bonds that are up what their members offer, as VPP
// does from 26.06 on; before, they were up whatever those did.
func (bs *bonds) afterRequest() {
	if bs.before("26.06") {
		return
	}
	for _, b := range bs.all() {
		i := bs.ifs.at(b.swIndex)
		bs.setLink(i.hw, i.adminUp && slices.ContainsFunc(b.members, func(index uint32) bool { return bs.activeMember(b, index) }))
	}
}

func (bs *bonds) deleteBond(req *bond_api.BondDelete) retval {
	i := bs.byIndex(req.SwIfIndex)
	if i == nil || i.hw.device != bondDevice {
		return api.INVALID_SW_IF_INDEX
	}
	b := bs.at(i.hw.instance)
	for _, member := range slices.Clone(b.members) {
		bs.detach(bs.ifs.at(member))
	}
	bs.ids.release(b.id)
	bs.remove(i.hw.instance)
	bs.deleteHardware(i.hw)
	return ok
}

func (bs *bonds) addBondMember(req *bond_api.BondAddMember) retval {
	i, master := bs.byIndex(req.SwIfIndex), bs.byIndex(req.BondSwIfIndex)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case master == nil || master.isSub || master.hw.device != bondDevice:
		return api.INVALID_INTERFACE
	case bs.members[i.index] != nil:
		return api.VALUE_EXIST
	case i.hw.device == bondDevice:
		return api.INVALID_INTERFACE
	case !i.hw.ethernet:
		return bs.crash(i, "member of a bond without MAC address")
	}
	b := bs.at(master.hw.instance)
	bs.members[i.index] = &bondMember{
		bond: master.hw.instance, passive: req.IsPassive, longTimeout: req.IsLongTimeout, mac: i.hw.mac,
	}
	b.members = append(b.members, i.index)
	if len(b.members) == 1 && !b.customMAC {
		bs.setMAC(master, i.hw.mac)
	} else {
		bs.setMAC(i, master.hw.mac)
	}
	return ok
}

func (bs *bonds) detachBondMember(req *bond_api.BondDetachMember) retval {
	i := bs.byIndex(req.SwIfIndex)
	switch {
	case i == nil && !bs.before("24.02"):
		return api.INVALID_SW_IF_INDEX
	case i == nil || bs.members[i.index] == nil:
		return api.INVALID_INTERFACE
	}
	bs.detach(i)
	return ok
}

func (bs *bonds) interfaceRemoved(i *swInterface) { bs.detach(i) }

func (bs *bonds) dumpInterface(b *strings.Builder, i *swInterface) {
	if m := bs.members[i.index]; m != nil {
		fmt.Fprintf(b, "  member of bond %d\n", bs.at(m.bond).id)
	}
}

// detach takes an interface out of its bond and gives it its MAC address back.
func (bs *bonds) detach(i *swInterface) {
	m := bs.members[i.index]
	if m == nil {
		return
	}
	b := bs.at(m.bond)
	b.members = slices.DeleteFunc(b.members, func(index uint32) bool { return index == i.index })
	delete(bs.members, i.index)
	bs.setMAC(i, m.mac)
}

func (bs *bonds) bondDump(c *wire.Call, req *bond_api.SwBondInterfaceDump) {
	for _, b := range bs.all() {
		if !selects(req.SwIfIndex, b.swIndex) {
			continue
		}
		active := uint32(0)
		for _, member := range b.members {
			if bs.activeMember(b, member) {
				active++
			}
		}
		c.Send(&bond_api.SwBondInterfaceDetails{
			SwIfIndex: ifIndex(b.swIndex), ID: b.id, Mode: b.mode, Lb: b.lb, NumaOnly: b.numaOnly,
			ActiveMembers: active, Members: uint32(len(b.members)), InterfaceName: bs.ifs.at(b.swIndex).name(),
		})
	}
}

// activeMember reports that a member sends and receives. Without LACP from the
// other side no member does in that mode.
func (bs *bonds) activeMember(b *bond, index uint32) bool {
	i := bs.ifs.at(index)
	return i.adminUp && i.hw.linkUp && b.mode != bond_api.BOND_API_MODE_LACP
}

func (bs *bonds) bondMemberDump(c *wire.Call, req *bond_api.SwMemberInterfaceDump) {
	i := bs.byIndex(req.SwIfIndex)
	if i == nil || i.isSub || i.hw.device != bondDevice {
		return
	}
	b := bs.at(i.hw.instance)
	for _, index := range b.members {
		m := bs.members[index]
		c.Send(&bond_api.SwMemberInterfaceDetails{
			SwIfIndex: ifIndex(index), InterfaceName: bs.ifs.at(index).name(),
			IsPassive: m.passive, IsLongTimeout: m.longTimeout, IsLocalNuma: bs.activeMember(b, index),
		})
	}
}
