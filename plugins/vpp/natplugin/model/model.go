// Package model places NAT44, NAT64 and NAT66 items of VPP in the key space.
package model

import (
	"net/netip"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// GlobalModel has at most one item. All other NAT44 items need it.
var GlobalModel = models.Of[*nat.Nat44Global]()

// DNATModel is the model of groups of static mappings.
var DNATModel = models.Of[*nat.DNat44]()

// InterfaceModel is the model of interfaces that take part in NAT.
var InterfaceModel = models.Of[*nat.Nat44Interface]()

// PoolModel is the model of address pools of NAT44. A pool without a name is named by its VRF table and addresses.
var PoolModel = models.Of[*nat.Nat44AddressPool]().Named(poolName)

// VrfTableModel is the model of VRF tables of NAT.
var VrfTableModel = models.Of[*nat.Nat44VrfTable]()

// VrfRouteModel is the model of routes between VRF tables of NAT.
var VrfRouteModel = models.Of[*nat.Nat44VrfRoute]()

// EndpointDependentKey is a property of the global item: NAT44 works in
// endpoint-dependent mode.
const EndpointDependentKey = "vpp/nat44/endpoint-dependent"

// GlobalInterfaceKey is an interface that the global item lists itself (the
// deprecated way); {feature} is "in" or "out".
var GlobalInterfaceKey = models.MustKeyTemplate("vpp/nat44/interface/{iface}/feature/{feature}")

// GlobalAddressKey is an address that the global item lists itself (the
// deprecated way); {twice-nat} is "on" or "off".
var GlobalAddressKey = models.MustKeyTemplate("vpp/nat44/address/{address}/twice-nat/{twice-nat}")

// TwiceNATPoolKey is a property of an address pool for twice-NAT; {range} is
// the first address, and the last after a hyphen if there is another.
var TwiceNATPoolKey = models.MustKeyTemplate("vpp/nat44/twiceNAT-pool/vrf/{vrf}/addresses/{range}")

// PoolKey is a property of an address pool for other NAT than twice-NAT, with {range} as in
// TwiceNATPoolKey.
var PoolKey = models.MustKeyTemplate("vpp/nat44/pool/vrf/{vrf}/addresses/{range}")

// PoolRange is how the addresses of a pool are written in keys: "{first}" or
// "{first}-{last}".
func PoolRange(p *nat.Nat44AddressPool) string {
	if p.GetLastIp() == "" || p.GetLastIp() == p.GetFirstIp() {
		return p.GetFirstIp()
	}
	return p.GetFirstIp() + "-" + p.GetLastIp()
}

// PoolAddresses is PoolRange with addresses as Go prints them, however they are written.
func PoolAddresses(p *nat.Nat44AddressPool) string {
	return PoolRange(&nat.Nat44AddressPool{FirstIp: CanonicalAddress(p.GetFirstIp()), LastIp: CanonicalAddress(p.GetLastIp())})
}

// CanonicalAddress returns an address as Go prints it.
func CanonicalAddress(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().String()
	}
	return text
}

func poolName(p *nat.Nat44AddressPool) string {
	if p.GetName() != "" {
		return p.GetName()
	}
	return "vrf/" + decimal(p.GetVrfId()) + "/address/" + PoolRange(p)
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
