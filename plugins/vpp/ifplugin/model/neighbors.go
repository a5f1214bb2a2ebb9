package model

import (
	"net/netip"
	"slices"

	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// LosesNeighbor reports whether VPP drops the neighbour with an address, unless it is static, when an
// interface changes: VPP does so when the interface goes down, and together with an address of the
// interface that covers the neighbour. Addresses also go for reasons outside the interface; then
// the value with NeighborsKey goes, too.
func LosesNeighbor(old, i *interfaces.Interface, addr netip.Addr) bool {
	switch {
	case old.GetEnabled() && !i.GetEnabled():
		return true
	case old.GetSetDhcpClient() && !i.GetSetDhcpClient() && addr.Is4():
		return true // the address was leased
	case old.GetIp6Nd().GetAddressAutoconfig() && !i.GetIp6Nd().GetAddressAutoconfig() && addr.Is6():
		return true
	}
	for _, text := range old.GetIpAddresses() {
		if slices.Contains(i.GetIpAddresses(), text) {
			continue
		}
		p, err := netallocmodel.ParseAddress(text)
		if err == nil && p.Contains(addr) && !slices.ContainsFunc(i.GetIpAddresses(), func(other string) bool {
			q, err := netallocmodel.ParseAddress(other)
			return err == nil && q == p
		}) {
			return true
		}
	}
	return false
}
