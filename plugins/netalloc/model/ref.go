package model

import "strings"

// gatewaySuffix ends a reference to the gateway of an allocation.
const gatewaySuffix = "/GW"

// ParseRef splits a reference to an allocated address. A reference that names
// no interface means the allocation of iface, the interface that it is used
// for. gateway tells that the gateway is meant rather than the address.
func ParseRef(ref, iface string) (network, allocatedFor string, gateway bool) {
	rest, gateway := strings.CutSuffix(strings.TrimPrefix(ref, RefPrefix), gatewaySuffix)
	network, allocatedFor, named := strings.Cut(rest, "/")
	if !named {
		allocatedFor = iface
	}
	return network, allocatedFor, gateway
}

// AllocationKey returns the key of the allocation that a reference means; see
// ParseRef.
func AllocationKey(ref, iface string) string {
	network, allocatedFor, _ := ParseRef(ref, iface)
	return IPAllocationModel.KeyFor("network/" + network + "/interface/" + allocatedFor)
}
