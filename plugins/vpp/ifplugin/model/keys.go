package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/models"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// Keys of values derived from an interface or found in VPP. {iface} is the
// name of an interface and may contain slashes; names that CheckName accepts
// make no key ambiguous.
var (
	// UnnumberedKey carries Interface.Unnumbered of an interface that borrows an
	// address.
	UnnumberedKey = models.MustKeyTemplate("vpp/interface/unnumbered/{iface}")

	// BondedInterfaceKey carries the membership of an interface in a bond. The
	// slash at the end is part of the key.
	BondedInterfaceKey = models.MustKeyTemplate("vpp/bond/{bond}/interface/{iface}/")

	// IP6NDKey carries Interface.IP6ND of an interface that listens to router
	// advertisements.
	IP6NDKey = models.MustKeyTemplate("vpp/interface/ip6nd/{iface}")

	// DHCPClientKey is the wish for a DHCP client on an interface.
	DHCPClientKey = models.MustKeyTemplate("vpp/interface/dhcp-client/{iface}")

	// DHCPLeaseKey carries the DHCPLease that an interface obtained; it comes
	// from VPP by notification.
	DHCPLeaseKey = models.MustKeyTemplate("vpp/interface/dhcp-lease/{iface}")

	// AddressKey is one address of an interface; see AddressKeyFor. Prefix(iface)
	// is what a dependency on any address of the interface watches.
	AddressKey = models.MustKeyTemplate("vpp/interface/{iface}/address/{source}/{address}")

	// VrfKey is the membership of an interface in VRF tables; see VrfKeyFor.
	// Prefix(iface) matches inherited membership too.
	VrfKey = models.MustKeyTemplate("vpp/interface/{iface}/vrf/{vrf}/ip-version/{version}")

	// InheritedVrfKey is the membership of an unnumbered interface in the VRF
	// tables of the interface whose address it borrows.
	InheritedVrfKey = models.MustKeyTemplate("vpp/interface/{iface}/vrf/from-interface/{from}")

	// HasAddressKey is a property: the interface has at least one address.
	HasAddressKey = models.MustKeyTemplate("vpp/interface/{iface}/has-IP-address")

	// NeighborsKey is a property of interfaces that can have neighbours: none of them is lost while it
	// exists, except by an update of the interface; see LosesNeighbor.
	NeighborsKey = models.MustKeyTemplate("vpp/neighbors/interface/{iface}")

	// LinkStateKey reports the state of the link, UP or DOWN; it comes from VPP.
	LinkStateKey = models.MustKeyTemplate("vpp/interface/{iface}/link-state/{state}")

	// PhysicalKey exists while VPP has a device of the name, which is the one that
	// VPP gave ("GigabitEthernet0/8/0"); it comes from VPP.
	PhysicalKey = models.MustKeyTemplate("vpp/interface/physical/{device}")

	// RxModesKey carries the modes of the receive queues.
	RxModesKey = models.MustKeyTemplate("vpp/interface/{iface}/rx-modes")

	// RxPlacementKey carries the placement of one receive queue.
	RxPlacementKey = models.MustKeyTemplate("vpp/interface/{iface}/rx-placement/queue/{queue}")

	// StateKey is where InterfaceState is published. Not known to the scheduler.
	StateKey = models.MustKeyTemplate("vpp/status/v2/interface/{iface}")

	// ErrorKey is where errors about an interface are published. Not known to
	// the scheduler.
	ErrorKey = models.MustKeyTemplate("vpp/status/v2/interface/error/{iface}")
)

// MaxNameLength is the number of bytes in the longest name of an interface:
// VPP stores it in a tag of 64 bytes that ends with a zero.
const MaxNameLength = 63

// Names that stand where the name of an interface does in some keys, and
// elements that follow the name in others.
const (
	reservedNames    = "/unnumbered/ip6nd/dhcp-client/dhcp-lease/physical/"
	reservedElements = "/address/vrf/has-IP-address/link-state/rx-modes/rx-placement/interface/"
)

// CheckName returns an error if the name cannot be the name of an interface: it is
// empty, too long, or would make the keys above ambiguous.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("name is empty, expected 1 to %d bytes", MaxNameLength)
	}
	if len(name) > MaxNameLength {
		return fmt.Errorf("name %q has %d bytes, expected 1 to %d", name, len(name), MaxNameLength)
	}
	elements := strings.Split(name, "/")
	if strings.Contains(reservedNames, "/"+elements[0]+"/") {
		return fmt.Errorf("name %q starts with the reserved element %q", name, elements[0])
	}
	for _, e := range elements[1:] {
		if e != "" && strings.Contains(reservedElements, "/"+e+"/") {
			return fmt.Errorf("name %q contains the reserved element %q", name, e)
		}
	}
	return nil
}

// AddressKeyFor returns the key of an address. The address is an address with
// prefix length, written in its usual form whatever the spelling, or a
// reference to an allocation, written as it stands.
func AddressKeyFor(iface, address string, source netalloc.IPAddressSource) string {
	if p, err := netallocmodel.ParseAddress(address); err == nil {
		address = p.String()
	}
	return AddressKey.Key(iface, netallocmodel.SourceName(source), address)
}

// ParseAddressKey is the inverse of AddressKeyFor; ok is false for keys of
// other values.
func ParseAddressKey(key string) (iface, address string, source netalloc.IPAddressSource, ok bool) {
	args, ok := parse(AddressKey, key)
	if !ok {
		return "", "", 0, false
	}
	if source, ok = netallocmodel.ParseSource(args[1]); !ok {
		return "", "", 0, false
	}
	return args[0], args[2], source, true
}

// noVersion is the version of IP of an interface without addresses.
const noVersion = "none"

// VrfKeyFor returns the key of the membership of an interface in the VRF table
// for IPv4, for IPv6, or in both. An interface that has neither is in table 0; its key
// names the table that it is configured with.
func VrfKeyFor(iface string, vrf uint32, ipv4, ipv6 bool) string {
	version := ""
	switch {
	case ipv4 && ipv6:
		version = "both"
	case ipv4:
		version = "v4"
	case ipv6:
		version = "v6"
	default:
		version = noVersion
	}
	return VrfKey.Key(iface, strconv.FormatUint(uint64(vrf), 10), version)
}

// ParseVrfKey is the inverse of VrfKeyFor; ok is false for keys of other
// values, inherited membership included.
func ParseVrfKey(key string) (iface string, vrf uint32, ipv4, ipv6, ok bool) {
	args, ok := parse(VrfKey, key)
	if !ok {
		return "", 0, false, false, false
	}
	id, err := strconv.ParseUint(args[1], 10, 32)
	if err != nil {
		return "", 0, false, false, false
	}
	switch args[2] {
	case "v4":
		ipv4 = true
	case "v6":
		ipv6 = true
	case "both":
		ipv4, ipv6 = true, true
	case noVersion:
	default:
		return "", 0, false, false, false
	}
	return args[0], uint32(id), ipv4, ipv6, true
}

// IsTableKey selects the keys of memberships for at least one version of IP.
func IsTableKey(key string) bool {
	_, _, ipv4, ipv6, ok := ParseVrfKey(key)
	return ok && (ipv4 || ipv6) || InheritedVrfKey.Matches(key)
}

// ParseInheritedVrfKey returns the interface that inherits and the one that it
// inherits from; ok is false for keys of other values.
func ParseInheritedVrfKey(key string) (iface, from string, ok bool) {
	args, ok := parse(InheritedVrfKey, key)
	if !ok {
		return "", "", false
	}
	return args[0], args[1], true
}

// LinkStateKeyFor returns the key that exists while the link is up or down.
func LinkStateKeyFor(iface string, up bool) string {
	state := "DOWN"
	if up {
		state = "UP"
	}
	return LinkStateKey.Key(iface, state)
}

// ParseLinkStateKey is the inverse of LinkStateKeyFor; ok is false for keys of
// other values.
func ParseLinkStateKey(key string) (iface string, up, ok bool) {
	args, ok := parse(LinkStateKey, key)
	if !ok || args[1] != "UP" && args[1] != "DOWN" {
		return "", false, false
	}
	return args[0], args[1] == "UP", true
}

// RxPlacementKeyFor returns the key of the placement of one receive queue.
func RxPlacementKeyFor(iface string, queue uint32) string {
	return RxPlacementKey.Key(iface, strconv.FormatUint(uint64(queue), 10))
}

// parse splits a key that starts with the name of an interface, unless it
// belongs to the keys in whose place of a name there is a fixed element.
func parse(t models.KeyTemplate, key string) ([]string, bool) {
	for _, fixed := range []models.KeyTemplate{UnnumberedKey, IP6NDKey, DHCPClientKey, DHCPLeaseKey, PhysicalKey} {
		if fixed.Matches(key) {
			return nil, false
		}
	}
	return t.Parse(key)
}
