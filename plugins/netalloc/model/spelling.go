package model

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParseHost reads an address with or without prefix length, which has no meaning for a next hop,
// a gateway or a neighbour. IPv4 mapped into IPv6 is IPv4. The predecessor accepted both.
func ParseHost(text string) (netip.Addr, error) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		return p.Addr().Unmap(), err
	}
	a, err := netip.ParseAddr(text)
	return a.Unmap(), err
}

// ParseNetwork reads a destination network. Host bits are cleared, and an address without prefix
// length is a network of one address. The predecessor accepted these, too. A network of IPv4
// addresses that are mapped into IPv6 is one of IPv6.
func ParseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// ParseAddress reads an address of an interface: with the prefix length of its network, or
// without one, then it is alone in its network. IPv4 mapped into IPv6 is IPv4. The predecessor
// accepted these, too.
func ParseAddress(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	const mapped = 96 // bits before an IPv4 address
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q: expected an IP address, with or without prefix length, such as 10.0.0.1/24", text)
	case !p.Addr().Is4In6():
		return p, nil
	case p.Bits() < mapped:
		return netip.Prefix{}, fmt.Errorf("%q: expected a prefix length from %d to 128 for an IPv4 address that is mapped into IPv6", text, mapped)
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped), nil
}
