package constraints

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"

	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
)

func addressConstraints() []Constraint {
	return []Constraint{
		{"address-overlap", true, "Addresses of different interfaces in one VRF are in different networks, and the addresses of one interface in networks that are equal or disjoint.", addressOverlap},
		{"unnumbered-chain", true, "An interface borrows addresses from one that has its own, not from one that borrows them, too.", unnumberedChain},
		{"unnumbered-vrf", false, "An interface that borrows addresses has no VRF, or the VRF of the lender, in which it is anyway.", unnumberedVRF},
		{"unnumbered-layer2", false, "An interface does not borrow addresses from a member of a bridge domain or cross-connect.", unnumberedLayer2},
		{"vrf-table", false, "The VRF of an interface has a table.", vrfTable},
		{"network-address", false, "The IPv4 address of an interface is neither the first one of its network, which stands for the network, nor the last one, which is for broadcasts.", networkAddress},
		{"disabled-with-addresses", false, "An interface with addresses is enabled.", disabledWithAddresses},
	}
}

// network is a prefix that an interface of VPP has, in a table.
type network struct {
	vrf    uint32
	prefix netip.Prefix // masked
	addr   netip.Prefix // as it was written
	of     *iface
	index  int // of the address in the interface
}

// later reports whether a network comes after another one in the text.
func (n *network) later(other *network) bool {
	return cmp.Or(cmp.Compare(n.of.place, other.of.place), cmp.Compare(n.index, other.index)) > 0
}

// networks returns all networks, so that those that contain others come before them.
func (f *facts) networks() []*network {
	var all []*network
	for _, i := range f.ifs {
		for n, text := range i.v.GetIpAddresses() {
			p, err := netallocmodel.ParseAddress(text)
			if err != nil || p.Addr().IsLinkLocalUnicast() && p.Addr().Is6() { // invalid, or a reference; VPP keeps link-local ones elsewhere
				continue
			}
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits())
			all = append(all, &network{i.v.GetVrf(), p.Masked(), p, i, n})
		}
	}
	slices.SortStableFunc(all, func(a, b *network) int {
		return cmp.Or(cmp.Compare(a.vrf, b.vrf), cmp.Compare(a.prefix.Addr().BitLen(), b.prefix.Addr().BitLen()),
			a.prefix.Addr().Compare(b.prefix.Addr()), cmp.Compare(a.prefix.Bits(), b.prefix.Bits()))
	})
	return all
}

// networkAddress reports hosts with the address of a network, or with its broadcast address.
func networkAddress(f *facts, report reporter) {
	const pointToPoint = 31 // such networks have no other addresses
	for _, n := range f.networks() {
		if !n.addr.Addr().Is4() || n.addr.Bits() >= pointToPoint || n.addr.Bits() == 0 {
			continue
		}
		what := ""
		switch {
		case n.addr.Addr() == n.prefix.Addr():
			what = "the address of the network"
		case !n.prefix.Contains(n.addr.Addr().Next()):
			what = "the broadcast address of the network"
		default:
			continue
		}
		report(n.of.key, fmt.Sprintf("ip_addresses[%d]", n.index), "", "%s is %s, expected the address of a host", n.addr, what)
	}
}

// level is one of the nested networks at a place of the address space.
type level struct {
	first  *network // that has it
	second *network // the first one of another interface; may be nil
}

// conflict returns the network at the level that excludes another one, or nil.
func (l *level) conflict(n *network) *network {
	switch {
	case l.first.prefix != n.prefix || l.first.of != n.of:
		return l.first
	case l.second != nil:
		return l.second
	}
	return nil
}

// addressOverlap holds the networks that contain the present one. There are at most as
// many as an address has bits.
func addressOverlap(f *facts, report reporter) {
	var levels []level
	for _, n := range f.networks() {
		for len(levels) > 0 {
			if top := levels[len(levels)-1].first; top.vrf == n.vrf && top.prefix.Bits() <= n.prefix.Bits() && top.prefix.Contains(n.prefix.Addr()) {
				break
			}
			levels = levels[:len(levels)-1]
		}
		for _, l := range slices.Backward(levels) {
			other := l.conflict(n)
			if other == nil {
				continue
			}
			a, b := other, n
			if a.later(b) {
				a, b = b, a
			}
			if a.of == b.of {
				report(b.of.key, fmt.Sprintf("ip_addresses[%d]", b.index), "", "%s overlaps %s of the same interface, which has another prefix length", b.addr, a.addr)
			} else {
				report(b.of.key, fmt.Sprintf("ip_addresses[%d]", b.index), a.of.key, "%s overlaps %s of interface %s in VRF %d", b.addr, a.addr, a.of.v.GetName(), n.vrf)
			}
			break
		}
		switch top := len(levels) - 1; {
		case top < 0 || levels[top].first.prefix != n.prefix:
			levels = append(levels, level{first: n})
		case levels[top].second == nil && levels[top].first.of != n.of:
			levels[top].second = n
		}
	}
}

// lender returns the interface that i borrows addresses from; nil if it is unknown.
func (f *facts) lender(i *iface) *iface {
	if l := f.byName[i.v.GetUnnumbered().GetInterfaceWithIp()]; l != i {
		return l
	}
	return nil
}

const lenderField = "unnumbered.interface_with_ip"

func unnumberedChain(f *facts, report reporter) {
	for _, i := range f.ifs {
		if l := f.lender(i); l != nil && l.v.GetUnnumbered() != nil {
			report(i.key, lenderField, l.key, "%s borrows its addresses from %s, so it has none to lend", l.v.GetName(), l.v.GetUnnumbered().GetInterfaceWithIp())
		}
	}
}

func unnumberedVRF(f *facts, report reporter) {
	for _, i := range f.ifs {
		if l := f.lender(i); l != nil && i.v.GetVrf() != 0 && l.v.GetVrf() != i.v.GetVrf() {
			report(i.key, "vrf", l.key, "%d has no effect: the interface is in VRF %d, as %s whose addresses it borrows", i.v.GetVrf(), l.v.GetVrf(), l.v.GetName())
		}
	}
}

func unnumberedLayer2(f *facts, report reporter) {
	for _, i := range f.ifs {
		l := f.lender(i)
		if l == nil {
			continue
		}
		if a := l.layer2(); a != nil {
			report(i.key, lenderField, a.key, "%s is %s, where its addresses have no effect", l.v.GetName(), a.text(f))
		}
	}
}

func vrfTable(f *facts, report reporter) {
	for _, i := range f.ifs {
		if id := i.v.GetVrf(); !f.tables[id] && i.v.GetUnnumbered() == nil && !isTunnel(i) {
			report(i.key, "vrf", "", "there is no VRF table %d: the interface waits for it", id)
		}
	}
}

// isTunnel reports whether the VRF of an interface is the VRF of its outer packets.
func isTunnel(i *iface) bool {
	return i.v.GetType() == interfaces.Interface_VXLAN_TUNNEL || i.v.GetType() == interfaces.Interface_IPIP_TUNNEL
}

func disabledWithAddresses(f *facts, report reporter) {
	for _, i := range f.ifs {
		if field := i.addressing(); field != "" && !i.v.GetEnabled() {
			report(i.key, field, "", "the interface has addresses, but enabled is not set: it is down")
		}
	}
}
