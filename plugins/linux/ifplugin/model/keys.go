package model

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/models"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// Keys of what is found in the kernel, in the namespace of the agent. {host}
// is the name of an interface in the kernel, which has no slashes.
var (
	// HostInterfaceKey exists while the interface exists and is administratively up,
	// whether it has a carrier or not; it comes
	// from the kernel by notification. See ParseHostInterfaceKey: the template
	// alone also matches the two keys below.
	HostInterfaceKey = models.MustKeyTemplate("linux/interface/host-name/{host}")

	// HostAddressKey exists while the interface has the address.
	HostAddressKey = models.MustKeyTemplate("linux/interface/host-name/{host}/address/{address}")

	// HostVrfKey exists while the interface belongs to the VRF; {vrf} is the name
	// of the VRF in the kernel.
	HostVrfKey = models.MustKeyTemplate("linux/interface/host-name/{host}/vrf-host-name/{vrf}")
)

// Keys of values derived from a configured interface. {iface} is its logical
// name, which may contain slashes; names that CheckName accepts make no key
// ambiguous.
var (
	// StateKey is a property: the administrative state of the interface, UP or
	// DOWN.
	StateKey = models.MustKeyTemplate("linux/interface/state/{iface}/{state}")

	// AddressKey is one address of an interface; see AddressKeyFor. Prefix(iface)
	// is what a dependency on any address of the interface watches.
	AddressKey = models.MustKeyTemplate("linux/interface/{iface}/address/{source}/{address}")

	// VrfKey is the membership of an interface in a VRF; {vrf} is the logical
	// name of the VRF interface.
	VrfKey = models.MustKeyTemplate("linux/interface/{iface}/vrf/{vrf}")

	// PublishedStateKey is where InterfaceState is published. Not known to the scheduler.
	PublishedStateKey = models.MustKeyTemplate("linux/status/v2/interface/{iface}")

	// PortKey is the membership of an interface in a bridge or bond; it has one
	// at most, which may change.
	PortKey = models.MustKeyTemplate("linux/interface-port/{iface}")

	// BridgeVlansKey is the VLANs of a port of a bridge, or of a bridge.
	BridgeVlansKey = models.MustKeyTemplate("linux/interface-vlans/{iface}")

	// SysctlKey is a kernel parameter of an interface; {name} is the name of the
	// value.
	SysctlKey = models.MustKeyTemplate("linux/interface-sysctl/{name}/{iface}")
)

const (
	reservedNames    = "/host-name/state/"
	reservedElements = "/address/vrf/dest-address/"
)

// CheckName returns an error if the name cannot be the logical name of an
// interface: it is empty or would make the keys above ambiguous.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("name is empty")
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

// ParseHostInterfaceKey returns the name of the interface in the kernel; ok is
// false for keys of other values, addresses and VRFs of the interface included.
func ParseHostInterfaceKey(key string) (host string, ok bool) {
	args, ok := HostInterfaceKey.Parse(key)
	if !ok || strings.Contains(args[0], "/") {
		return "", false
	}
	return args[0], true
}

// HostAddressKeyFor returns the key that exists while the interface of the
// kernel has the address, written in its usual form whatever the spelling.
func HostAddressKeyFor(host, address string) string {
	return HostAddressKey.Key(host, usualForm(address))
}

// StateKeyFor returns the key that exists while the interface is up or down.
func StateKeyFor(iface string, up bool) string {
	state := "DOWN"
	if up {
		state = "UP"
	}
	return StateKey.Key(iface, state)
}

// ParseStateKey is the inverse of StateKeyFor; ok is false for keys of other
// values.
func ParseStateKey(key string) (iface string, up, ok bool) {
	rest, ok := strings.CutPrefix(key, StateKey.Prefix())
	if !ok {
		return "", false, false
	}
	end := strings.LastIndexByte(rest, '/')
	if end <= 0 || rest[end+1:] != "UP" && rest[end+1:] != "DOWN" {
		return "", false, false
	}
	if iface = rest[:end]; iface == models.InvalidPart {
		iface = ""
	}
	return iface, rest[end+1:] == "UP", true
}

// AddressKeyFor returns the key of an address. The address is an address with
// prefix length, written in its usual form whatever the spelling, or a
// reference to an allocation, written as it stands.
func AddressKeyFor(iface, address string, source netalloc.IPAddressSource) string {
	return AddressKey.Key(iface, netallocmodel.SourceName(source), usualForm(address))
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

// ParseVrfKey returns the logical names of an interface and of the VRF that it
// belongs to; ok is false for keys of other values.
func ParseVrfKey(key string) (iface, vrf string, ok bool) {
	args, ok := parse(VrfKey, key)
	if !ok {
		return "", "", false
	}
	return args[0], args[1], true
}

// parse splits a key that starts with the logical name of an interface.
func parse(t models.KeyTemplate, key string) ([]string, bool) {
	if strings.HasPrefix(key, HostInterfaceKey.Prefix()) || strings.HasPrefix(key, StateKey.Prefix()) {
		return nil, false
	}
	return t.Parse(key)
}

func usualForm(address string) string {
	if p, err := netallocmodel.ParseAddress(address); err == nil {
		return p.String()
	}
	return address
}
