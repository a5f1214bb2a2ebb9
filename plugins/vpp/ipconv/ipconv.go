// Package ipconv converts addresses between their text and the form they have
// in the VPP binary API.
package ipconv

import (
	"fmt"
	"net"
	"net/netip"

	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/ip_types"
)

// Address converts an address for VPP.
func Address(a netip.Addr) ip_types.Address {
	a = a.Unmap()
	if a.Is4() {
		return ip_types.Address{Af: ip_types.ADDRESS_IP4, Un: ip_types.AddressUnionIP4(a.As4())}
	}
	return ip_types.Address{Af: ip_types.ADDRESS_IP6, Un: ip_types.AddressUnionIP6(a.As16())}
}

// FromAddress converts an address from VPP.
func FromAddress(a ip_types.Address) netip.Addr {
	if a.Af == ip_types.ADDRESS_IP6 {
		return netip.AddrFrom16(a.Un.GetIP6())
	}
	return netip.AddrFrom4(a.Un.GetIP4())
}

// Prefix converts a network for VPP. One of IPv4 addresses that are mapped into IPv6 stays one of IPv6.
func Prefix(p netip.Prefix) ip_types.Prefix {
	a := Address(p.Addr())
	if p.Addr().Is4In6() {
		a = ip_types.Address{Af: ip_types.ADDRESS_IP6, Un: ip_types.AddressUnionIP6(p.Addr().As16())}
	}
	return ip_types.Prefix{Address: a, Len: uint8(p.Bits())}
}

// FromPrefix converts a network from VPP.
func FromPrefix(p ip_types.Prefix) netip.Prefix {
	return netip.PrefixFrom(FromAddress(p.Address), int(p.Len))
}

// Interface converts the address of an interface, which has host bits, for VPP.
func Interface(p netip.Prefix) ip_types.AddressWithPrefix {
	return ip_types.AddressWithPrefix(Prefix(p))
}

// FromInterface converts the address of an interface from VPP.
func FromInterface(p ip_types.AddressWithPrefix) netip.Prefix {
	return FromPrefix(ip_types.Prefix(p))
}

// Family returns the address family of a for VPP.
func Family(ipv6 bool) ip_types.AddressFamily {
	if ipv6 {
		return ip_types.ADDRESS_IP6
	}
	return ip_types.ADDRESS_IP4
}

// ParseAddr reads an address in any spelling; IPv4 mapped into IPv6 becomes
// IPv4, and a zone is refused.
func ParseAddr(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q: expected an IP address", text)
	}
	return a.Unmap(), nil
}

// ParsePrefix reads an address with prefix length; the host bits are kept. IPv4 mapped into IPv6
// becomes IPv4.
func ParsePrefix(text string) (netip.Prefix, error) {
	const mapped = 96 // bits before an IPv4 address
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q: expected an IP address with prefix length", text)
	case !p.Addr().Is4In6():
		return p, nil
	case p.Bits() < mapped:
		return netip.Prefix{}, fmt.Errorf("%q: expected a prefix length from %d to 128 for an IPv4 address that is mapped into IPv6", text, mapped)
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped), nil
}

// SameAddr reports whether two texts mean the same address. Texts that are no
// addresses are compared as they stand.
func SameAddr(a, b string) bool {
	if a == b {
		return true
	}
	pa, errA := ParseAddr(a)
	pb, errB := ParseAddr(b)
	return errA == nil && errB == nil && pa == pb
}

// SamePrefix is SameAddr for addresses with prefix length.
func SamePrefix(a, b string) bool {
	if a == b {
		return true
	}
	pa, errA := ParsePrefix(a)
	pb, errB := ParsePrefix(b)
	return errA == nil && errB == nil && pa == pb
}

// ParseMAC reads a MAC address of 6 bytes in any of the usual notations.
func ParseMAC(text string) (ethernet_types.MacAddress, error) {
	var out ethernet_types.MacAddress
	hw, err := net.ParseMAC(text)
	if err != nil || len(hw) != len(out) {
		return out, fmt.Errorf("%q: expected a MAC address of 6 bytes", text)
	}
	copy(out[:], hw)
	return out, nil
}

// SameMAC reports whether two texts mean the same MAC address. Texts that are
// none are compared as they stand.
func SameMAC(a, b string) bool {
	if a == b {
		return true
	}
	ma, errA := ParseMAC(a)
	mb, errB := ParseMAC(b)
	return errA == nil && errB == nil && ma == mb
}
