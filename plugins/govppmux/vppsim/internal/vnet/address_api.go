package vnet

import (
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
)

func (n *VNet) handleAddresses() {
	handle[interfaces_api.SwInterfaceAddDelAddressReply](n.server, n.swInterfaceAddDelAddress)
	handle[interfaces_api.SwInterfaceSetTableReply](n.server, n.swInterfaceSetTable)
	wire.Handle(n.server, n.swInterfaceGetTable)
	handle[interfaces_api.SwInterfaceSetUnnumberedReply](n.server, n.swInterfaceSetUnnumbered)
	handle[interfaces_api.SwInterfaceAddressReplaceBeginReply](n.server, n.addressReplaceBegin)
	handle[interfaces_api.SwInterfaceAddressReplaceEndReply](n.server, n.addressReplaceEnd)
	wire.HandleDump(n.server, n.ipAddressDump)
	wire.HandleDump(n.server, n.ipUnnumberedDump)
}

func (n *VNet) swInterfaceAddDelAddress(req *interfaces_api.SwInterfaceAddDelAddress) retval {
	i := n.byIndex(req.SwIfIndex)
	prefix, valid := prefixOf(ip_types.Prefix(req.Prefix))
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case req.DelAll:
		n.removeAllAddresses(i)
	case !valid:
		return api.ADDRESS_LENGTH_MISMATCH
	case req.IsAdd:
		return n.addAddress(i, prefix)
	default:
		return n.removeAddress(i, prefix)
	}
	return ok
}

// swInterfaceSetTable: the table must exist, and the interface must not have
// addresses, borrowed ones included.
func (n *VNet) swInterfaceSetTable(req *interfaces_api.SwInterfaceSetTable) retval {
	f := familyFlag(req.IsIPv6)
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case n.fibs.Table(f, req.VrfID) == nil, n.before("24.10") && !n.fibs.Table(f, req.VrfID).Multicast():
		return api.NO_SUCH_FIB
	case len(n.borrowed(i, f)) > 0:
		return api.ADDRESS_FOUND_FOR_INTERFACE
	default:
		n.bindTable(i, f, req.VrfID)
	}
	return ok
}

func (n *VNet) swInterfaceGetTable(_ *wire.Call, req *interfaces_api.SwInterfaceGetTable) *interfaces_api.SwInterfaceGetTableReply {
	i := n.byIndex(req.SwIfIndex)
	if i == nil {
		return &interfaces_api.SwInterfaceGetTableReply{Retval: int32(api.INVALID_SW_IF_INDEX), VrfID: none}
	}
	return &interfaces_api.SwInterfaceGetTableReply{VrfID: i.table[familyFlag(req.IsIPv6)]}
}

// swInterfaceSetUnnumbered: the names in the message are the wrong way round,
// unnumbered_sw_if_index borrows from sw_if_index.
func (n *VNet) swInterfaceSetUnnumbered(req *interfaces_api.SwInterfaceSetUnnumbered) retval {
	i, lender := n.byIndex(req.UnnumberedSwIfIndex), n.byIndex(req.SwIfIndex)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case req.IsAdd && lender == nil:
		return api.INVALID_SW_IF_INDEX_2
	case req.IsAdd:
		return n.setUnnumbered(i, lender)
	default:
		i.unnumbered, i.unnumberedTo = false, 0
	}
	return ok
}

func (n *VNet) addressReplaceBegin(*interfaces_api.SwInterfaceAddressReplaceBegin) retval {
	n.subnets.replacing = true
	for _, i := range n.ifs.all() {
		for f := range families {
			for at := range i.addresses[f] {
				i.addresses[f][at].stale = true
			}
		}
	}
	return ok
}

func (n *VNet) addressReplaceEnd(*interfaces_api.SwInterfaceAddressReplaceEnd) retval {
	for _, i := range n.ifs.all() {
		var stale []netip.Prefix
		for f := range families {
			for _, a := range i.addresses[f] {
				if a.stale {
					stale = append(stale, a.prefix)
				}
			}
		}
		for _, prefix := range stale {
			n.removeAddress(i, prefix)
		}
	}
	n.subnets.replacing = false
	return ok
}

func (n *VNet) ipAddressDump(c *wire.Call, req *ip.IPAddressDump) {
	i := n.byIndex(req.SwIfIndex)
	if i == nil {
		return
	}
	for _, a := range i.own(familyFlag(req.IsIPv6)) {
		c.Send(&ip.IPAddressDetails{
			SwIfIndex: req.SwIfIndex,
			Prefix:    ip_types.AddressWithPrefix(apiPrefix(a.prefix)),
		})
	}
}

func (n *VNet) ipUnnumberedDump(c *wire.Call, req *ip.IPUnnumberedDump) {
	for _, i := range n.ifs.all() {
		if i.unnumbered && selects(req.SwIfIndex, i.index) {
			c.Send(&ip.IPUnnumberedDetails{
				SwIfIndex:   ifIndex(i.index),
				IPSwIfIndex: ifIndex(i.unnumberedTo),
			})
		}
	}
}
