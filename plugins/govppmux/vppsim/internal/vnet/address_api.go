package vnet

import (
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
)

func (n *VNet) handleAddresses() {
	wire.Handle(n.server, n.swInterfaceAddDelAddress)
	wire.Handle(n.server, n.swInterfaceSetTable)
	wire.Handle(n.server, n.swInterfaceGetTable)
	wire.Handle(n.server, n.swInterfaceSetUnnumbered)
	wire.Handle(n.server, n.addressReplaceBegin)
	wire.Handle(n.server, n.addressReplaceEnd)
	wire.HandleDump(n.server, n.ipAddressDump)
	wire.HandleDump(n.server, n.ipUnnumberedDump)
}

func (n *VNet) swInterfaceAddDelAddress(_ *wire.Call, req *interfaces_api.SwInterfaceAddDelAddress) *interfaces_api.SwInterfaceAddDelAddressReply {
	rv := ok
	i := n.byIndex(req.SwIfIndex)
	prefix, valid := prefixOf(ip_types.Prefix(req.Prefix))
	switch {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.DelAll:
		n.removeAllAddresses(i)
	case !valid:
		rv = api.ADDRESS_LENGTH_MISMATCH
	case req.IsAdd:
		rv = n.addAddress(i, prefix)
	default:
		rv = n.removeAddress(i, prefix)
	}
	return &interfaces_api.SwInterfaceAddDelAddressReply{Retval: int32(rv)}
}

// swInterfaceSetTable: the table must exist, and the interface must not have
// addresses, borrowed ones included.
func (n *VNet) swInterfaceSetTable(_ *wire.Call, req *interfaces_api.SwInterfaceSetTable) *interfaces_api.SwInterfaceSetTableReply {
	rv := ok
	f := familyFlag(req.IsIPv6)
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case n.fibs.Table(f, req.VrfID) == nil, n.before("24.10") && !n.fibs.Table(f, req.VrfID).Multicast():
		rv = api.NO_SUCH_FIB
	case len(n.borrowed(i, f)) > 0:
		rv = api.ADDRESS_FOUND_FOR_INTERFACE
	default:
		n.bindTable(i, f, req.VrfID)
	}
	return &interfaces_api.SwInterfaceSetTableReply{Retval: int32(rv)}
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
func (n *VNet) swInterfaceSetUnnumbered(_ *wire.Call, req *interfaces_api.SwInterfaceSetUnnumbered) *interfaces_api.SwInterfaceSetUnnumberedReply {
	rv := ok
	i, lender := n.byIndex(req.UnnumberedSwIfIndex), n.byIndex(req.SwIfIndex)
	switch {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.IsAdd && lender == nil:
		rv = api.INVALID_SW_IF_INDEX_2
	case req.IsAdd:
		rv = n.setUnnumbered(i, lender)
	default:
		i.unnumbered, i.unnumberedTo = false, 0
	}
	return &interfaces_api.SwInterfaceSetUnnumberedReply{Retval: int32(rv)}
}

func (n *VNet) addressReplaceBegin(*wire.Call, *interfaces_api.SwInterfaceAddressReplaceBegin) *interfaces_api.SwInterfaceAddressReplaceBeginReply {
	n.subnets.replacing = true
	for _, i := range n.ifs.all() {
		for f := range families {
			for at := range i.addresses[f] {
				i.addresses[f][at].stale = true
			}
		}
	}
	return &interfaces_api.SwInterfaceAddressReplaceBeginReply{}
}

func (n *VNet) addressReplaceEnd(*wire.Call, *interfaces_api.SwInterfaceAddressReplaceEnd) *interfaces_api.SwInterfaceAddressReplaceEndReply {
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
	return &interfaces_api.SwInterfaceAddressReplaceEndReply{}
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
		if i.unnumbered && (uint32(req.SwIfIndex) == none || uint32(req.SwIfIndex) == i.index) {
			c.Send(&ip.IPUnnumberedDetails{
				SwIfIndex:   interface_types.InterfaceIndex(i.index),
				IPSwIfIndex: interface_types.InterfaceIndex(i.unnumberedTo),
			})
		}
	}
}
