package vnet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"
)

// ipsecSPD is a security policy database. Its policies go with it, and their uses of
// associations stay.
type ipsecSPD struct {
	id       uint32
	policies [policyKinds][]*ipsecPolicy
}

// ipsecSPDs are the databases and their uses on interfaces, which stay when the interface is
// deleted.
type ipsecSPDs struct {
	*VNet
	pool[ipsecSPD]
	byInterface map[uint32]uint32 // the index of the database by sw_if_index
}

func newIpsecSPDs(n *VNet) feature {
	n.ipsecSPDs = &ipsecSPDs{VNet: n}
	return n.ipsecSPDs
}

func (ss *ipsecSPDs) register(server *wire.Server) {
	handle[ipsec.IpsecSpdAddDelReply](server, func(req *ipsec.IpsecSpdAddDel) retval {
		index, has := ss.lookup(req.SpdID)
		switch {
		case req.IsAdd && has != nil:
			return api.ENTRY_ALREADY_EXISTS
		case req.IsAdd:
			ss.add(&ipsecSPD{id: req.SpdID})
		case has == nil:
			return api.NO_SUCH_ENTRY
		default:
			maps.DeleteFunc(ss.byInterface, func(_, used uint32) bool { return used == index })
			ss.remove(index)
		}
		return ok
	})
	handle[ipsec.IpsecInterfaceAddDelSpdReply](server, ss.useOnInterface)
	wire.HandleDump(server, func(c *wire.Call, _ *ipsec.IpsecSpdsDump) {
		for _, spd := range ss.all() {
			c.Send(&ipsec.IpsecSpdsDetails{SpdID: spd.id, Npolicies: uint32(len(slices.Concat(spd.policies[:]...)))})
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *ipsec.IpsecSpdInterfaceDump) {
		for _, index := range slices.Sorted(maps.Keys(ss.byInterface)) {
			if spd := ss.byInterface[index]; req.SpdIndexValid == 0 || req.SpdIndex == spd {
				c.Send(&ipsec.IpsecSpdInterfaceDetails{SpdIndex: spd, SwIfIndex: ifIndex(index)})
			}
		}
	})
}

func (ss *ipsecSPDs) reset() { ss.pool, ss.byInterface = pool[ipsecSPD]{}, make(map[uint32]uint32) }

func (ss *ipsecSPDs) lookup(id uint32) (uint32, *ipsecSPD) {
	return ss.find(func(spd *ipsecSPD) bool { return spd.id == id })
}

// useOnInterface ends the use of another database too.
func (ss *ipsecSPDs) useOnInterface(req *ipsec.IpsecInterfaceAddDelSpd) retval {
	if ss.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	index, spd := ss.lookup(req.SpdID)
	_, used := ss.byInterface[uint32(req.SwIfIndex)]
	switch {
	case spd == nil:
		return api.SYSCALL_ERROR_1
	case req.IsAdd && used:
		return api.SYSCALL_ERROR_2
	case req.IsAdd:
		ss.byInterface[uint32(req.SwIfIndex)] = index
	default:
		delete(ss.byInterface, uint32(req.SwIfIndex))
	}
	return ok
}

func (ss *ipsecSPDs) commands() []cmdline.Command {
	return []cmdline.Command{{Path: "show ipsec spd bindings", Run: func(in *cmdline.Input) error {
		in.Line("SPD Bindings:")
		for _, index := range slices.Sorted(maps.Keys(ss.byInterface)) {
			name := ss.InterfaceName(index)
			switch { // format_vnet_sw_if_index_name in src/vnet/interface_format.c
			case name == "" && ss.before("24.02"):
				name = "DELETED"
			case name == "":
				name = fmt.Sprintf("DELETED (%d)", index)
			}
			in.Line("  %d -> %s", int32(ss.at(ss.byInterface[index]).id), name)
		}
		return nil
	}}}
}

func (ss *ipsecSPDs) dump(b *strings.Builder) {
	var lines []string
	for _, spd := range ss.all() {
		lines = append(lines, fmt.Sprintf("ipsec spd %d\n", spd.id))
	}
	for index, spd := range ss.byInterface {
		lines = append(lines, fmt.Sprintf("ipsec spd %d on %s\n", ss.at(spd).id, ss.orStaleIf(index)))
	}
	dumpSorted(b, lines)
}

// ipsecPolicy is a policy; VPP lists IPv6 addresses that start with 12 zero bytes as IPv4
// addresses.
type ipsecPolicy struct {
	entry ipsec_types.IpsecSpdEntryV2
	index uint32
}
