package model

import (
	"net/netip"
	"strings"
)

// ParseHost reads an address with or without prefix length, which has no meaning for a next hop,
// a gateway or a neighbour. The predecessor accepted both.
func ParseHost(text string) (netip.Addr, error) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		return p.Addr(), err
	}
	return netip.ParseAddr(text)
}

// ParseNetwork reads a destination network. Host bits are cleared, and an address without prefix
// length is a network of one address. The predecessor accepted these, too.
func ParseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}
