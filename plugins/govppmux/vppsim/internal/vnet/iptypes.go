package vnet

import (
	"net/netip"

	"go.fd.io/govpp/binapi/ip_types"
)

// addrOf converts an address of the API.
func addrOf(a ip_types.Address) netip.Addr {
	if a.Af == ip_types.ADDRESS_IP6 {
		return netip.AddrFrom16(a.Un.GetIP6())
	}
	return netip.AddrFrom4(a.Un.GetIP4())
}

// prefixOf converts a prefix of the API, host bits included; false if the length
// is impossible.
func prefixOf(p ip_types.Prefix) (netip.Prefix, bool) {
	prefix := netip.PrefixFrom(addrOf(p.Address), int(p.Len))
	return prefix, prefix.IsValid()
}

func apiAddr(a netip.Addr) ip_types.Address {
	if a.Is4() {
		return ip_types.Address{Af: ip_types.ADDRESS_IP4, Un: ip_types.AddressUnionIP4(a.As4())}
	}
	return ip_types.Address{Af: ip_types.ADDRESS_IP6, Un: ip_types.AddressUnionIP6(a.As16())}
}

func apiPrefix(p netip.Prefix) ip_types.Prefix {
	return ip_types.Prefix{Address: apiAddr(p.Addr()), Len: uint8(p.Bits())}
}
