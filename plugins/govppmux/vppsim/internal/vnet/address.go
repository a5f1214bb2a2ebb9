package vnet

import (
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
)

// addressFamilies is what IP keeps per interface.
type addressFamilies struct {
	table     [families]uint32 // table IDs; IPv4 and IPv6 are bound separately
	addresses [families][]ifAddress
	prefixes  map[netip.Prefix]int // how many addresses share a connected prefix

	unnumbered   bool
	unnumberedTo uint32 // the interface whose addresses are borrowed

	linkLocal      netip.Addr // invalid while IPv6 is not enabled
	linkLocalLocks int
}

// ifAddress is an address with the length of its subnet; host bits are kept.
type ifAddress struct {
	prefix netip.Prefix
	stale  bool // not added again since sw_interface_address_replace_begin
}

// lookForAddress returns the position of an address on an interface. VPP finds
// addresses without looking at their length.
func (a *addressFamilies) lookForAddress(addr netip.Addr) int {
	return slices.IndexFunc(a.addresses[familyOf(addr)], func(x ifAddress) bool {
		return x.prefix.Addr() == addr
	})
}

// borrowed returns the addresses in effect on an interface: its own, or the
// addresses of the interface it is unnumbered to.
func (n *VNet) borrowed(i *swInterface, f family) []ifAddress {
	if i.unnumbered {
		if lender := n.ifs.at(i.unnumberedTo); lender != nil {
			return lender.addresses[f]
		}
		return nil
	}
	return i.addresses[f]
}

// own returns the addresses that dumps show: none on an unnumbered interface.
func (i *swInterface) own(f family) []ifAddress {
	if i.unnumbered {
		return nil
	}
	return i.addresses[f]
}

// canHaveAddresses: neither local0 nor a sub-interface without exact match.
func (i *swInterface) canHaveAddresses() bool {
	return i.index != 0 && (!i.isSub || i.sub.exactMatch())
}

// addAddress implements the adding half of sw_interface_add_del_address.
func (n *VNet) addAddress(i *swInterface, prefix netip.Prefix) retval {
	if !i.canHaveAddresses() {
		return api.UNSUPPORTED
	}
	addr, f := prefix.Addr(), familyOf(prefix.Addr())
	if f == ip6 && addr.IsLinkLocalUnicast() {
		if prefix.Bits() != 128 {
			return api.ADDRESS_LENGTH_MISMATCH
		}
		n.setLinkLocal(i, addr)
		return ok
	}
	if n.conflicts(i, prefix) {
		if f == ip4 {
			return api.ADDRESS_IN_USE
		}
		return api.DUPLICATE_IF_ADDRESS
	}
	if at := i.lookForAddress(addr); at >= 0 {
		if !i.addresses[f][at].stale {
			return api.DUPLICATE_IF_ADDRESS
		}
		i.addresses[f][at].stale = false
		return ok
	}
	if prefix.Bits() == 0 {
		return api.ADDRESS_LENGTH_MISMATCH
	}
	n.takeStale(i, addr)
	i.addresses[f] = append(i.addresses[f], ifAddress{prefix: prefix})
	n.subnets.add(i.table[f], prefix)
	if f == ip6 {
		n.enableLink(i)
	}
	if i.adminUp {
		n.addAddressRoutes(i, prefix)
	}
	return ok
}

// conflicts says whether a new address overlaps one in the same table. Several
// addresses of one subnet on one interface are fine.
func (n *VNet) conflicts(i *swInterface, prefix netip.Prefix) bool {
	f := familyOf(prefix.Addr())
	if !n.subnets.mayOverlap(i.table[f], prefix) {
		return false
	}
	for _, other := range n.ifs.all() {
		if other.table[f] != i.table[f] {
			continue
		}
		for _, x := range other.own(f) {
			if !x.prefix.Overlaps(prefix) || x.stale {
				continue
			}
			sameSubnet := other == i && x.prefix.Bits() == prefix.Bits()
			if !sameSubnet || x.prefix.Addr() == prefix.Addr() {
				return true
			}
		}
	}
	return false
}

// takeStale removes a stale address from the interface that had it, because
// another one gets it.
func (n *VNet) takeStale(i *swInterface, addr netip.Addr) {
	f := familyOf(addr)
	if !n.subnets.replacing {
		return
	}
	for _, other := range n.ifs.all() {
		if other == i || other.table[f] != i.table[f] {
			continue
		}
		if at := other.lookForAddress(addr); at >= 0 && other.addresses[f][at].stale {
			n.removeAddress(other, other.addresses[f][at].prefix)
		}
	}
}

// removeAddress implements the deleting half of sw_interface_add_del_address. The
// length decides only which connected prefix goes: with a wrong one the address is
// removed and its subnet's routes stay, as in VPP.
func (n *VNet) removeAddress(i *swInterface, prefix netip.Prefix) retval {
	if !i.canHaveAddresses() {
		return api.UNSUPPORTED
	}
	addr, f := prefix.Addr(), familyOf(prefix.Addr())
	if f == ip6 && addr.IsLinkLocalUnicast() {
		switch {
		case prefix.Bits() != 128:
			return api.ADDRESS_LENGTH_MISMATCH
		case i.linkLocal == addr:
			return api.ADDRESS_NOT_DELETABLE
		}
		return api.ADDRESS_NOT_FOUND_FOR_INTERFACE
	}
	at := i.lookForAddress(addr)
	if at < 0 {
		return api.ADDRESS_NOT_FOUND_FOR_INTERFACE
	}
	n.subnets.remove(i.table[f], i.addresses[f][at].prefix)
	i.addresses[f] = slices.Delete(i.addresses[f], at, at+1)
	if i.adminUp {
		n.removeAddressRoutes(i, prefix)
	}
	n.flushCovered(i.index, prefix)
	if f == ip6 {
		n.disableLink(i)
	}
	return ok
}

// removeAllAddresses removes both families' addresses.
func (n *VNet) removeAllAddresses(i *swInterface) {
	for f := range families {
		for _, a := range slices.Clone(i.own(f)) {
			n.removeAddress(i, a.prefix)
		}
	}
}

// addressesAdmin adds or removes the routes of an interface's addresses: they
// exist while it is enabled.
func (n *VNet) addressesAdmin(i *swInterface, up bool) {
	for f := range families {
		for _, a := range i.own(f) {
			if up {
				n.addAddressRoutes(i, a.prefix)
			} else {
				n.removeAddressRoutes(i, a.prefix)
			}
		}
	}
}

// addressesGone cleans up behind a deleted interface.
func (n *VNet) addressesGone(i *swInterface) {
	i.unnumbered = false
	n.removeAllAddresses(i)
	i.linkLocal, i.linkLocalLocks = netip.Addr{}, 0
	n.ip6RAs.linkDisabled(i)
	for f := range families {
		if i.table[f] != 0 {
			n.bindTable(i, f, 0)
		}
	}
}

// setUnnumbered makes an interface borrow the addresses of another one; both must
// be in the same tables.
func (n *VNet) setUnnumbered(i, lender *swInterface) retval {
	if i.table != lender.table {
		return api.UNEXPECTED_INTF_STATE
	}
	i.unnumbered, i.unnumberedTo = true, lender.index
	return ok
}
