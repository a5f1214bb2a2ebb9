// Package model places netalloc items in the key space, and knows how other
// items write a reference to an allocated address.
package model

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// IPAllocationModel is the model of address allocations.
var IPAllocationModel = models.Of[*netalloc.IPAllocation]()

// NeighborGwKey is the key of a property: the gateway of the network lies in
// the subnet of the address that the interface was given, so it is reachable
// without a route.
var NeighborGwKey = models.MustKeyTemplate("netalloc/neigh-gw/network/{network}/interface/{iface}")

// RefPrefix starts a reference to an allocated address, which may stand where
// other items expect an address: "alloc:{network}[/{interface}][/GW]".
const RefPrefix = "alloc:"

// IsRef reports whether the text is a reference rather than an address.
func IsRef(addr string) bool { return strings.HasPrefix(addr, RefPrefix) }

// SourceName is how the source of an address is written in a key: "static",
// "alloc_ref", "from_dhcp" or "existing".
func SourceName(s netalloc.IPAddressSource) string { return strings.ToLower(s.String()) }

// ParseSource is the inverse of SourceName. The undefined source is refused.
func ParseSource(name string) (netalloc.IPAddressSource, bool) {
	v, ok := netalloc.IPAddressSource_value[strings.ToUpper(name)]
	s := netalloc.IPAddressSource(v)
	return s, ok && s != netalloc.IPAddressSource_UNDEFINED_SOURCE && SourceName(s) == name
}

// NetworkKeyPart is how a destination network is written in the key of a
// route: "{network}/{prefix length}" with the host bits cleared, or the
// reference as it stands. A text that is neither gives "<invalid>/0", as the
// predecessor has it.
func NetworkKeyPart(dst string) string { return string(AppendNetworkKeyPart(nil, dst)) }

// AppendNetworkKeyPart appends NetworkKeyPart to a key, without memory of its own.
func AppendNetworkKeyPart(key []byte, dst string) []byte {
	if IsRef(dst) {
		return append(key, dst...)
	}
	if p, err := netip.ParsePrefix(dst); err == nil && !p.Addr().Is4In6() {
		return p.Masked().AppendTo(key)
	}
	_, network, err := net.ParseCIDR(dst) // also knows other ways to write it
	if err != nil {
		return append(key, models.InvalidPart+"/0"...)
	}
	ones, _ := network.Mask.Size()
	return fmt.Appendf(key, "%s/%d", network.IP, ones)
}
