package model

import (
	"fmt"
	"strings"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// gatewaySuffix ends a reference to the gateway of a network.
const gatewaySuffix = "/GW"

// Ref is a reference to an allocated address, or to the gateway of its network.
type Ref struct {
	// Network and Interface name the allocation.
	Network, Interface string
	// Gateway means the gateway instead of the address.
	Gateway bool
}

// ParseRef reads a reference; iface is the interface that it is about if it names none.
func ParseRef(text, iface string) (Ref, error) {
	rest, ok := strings.CutPrefix(text, RefPrefix)
	if !ok {
		return Ref{}, fmt.Errorf("%q: expected %sNETWORK[/INTERFACE][/GW]", text, RefPrefix)
	}
	var r Ref
	rest, r.Gateway = strings.CutSuffix(rest, gatewaySuffix)
	r.Network, r.Interface, _ = strings.Cut(rest, "/")
	if r.Interface == "" {
		r.Interface = iface
	}
	if r.Network == "" || r.Interface == "" {
		return Ref{}, fmt.Errorf("%q: expected %sNETWORK[/INTERFACE][/GW]", text, RefPrefix)
	}
	return r, nil
}

// Key returns the key of the allocation.
func (r Ref) Key() string {
	return IPAllocationModel.KeyFor("network/" + r.Network + "/interface/" + r.Interface)
}

// Dependencies returns the dependency on the allocation that text refers to, with the label
// prefix followed by the text; none if text is no reference.
func Dependencies(prefix, text, iface string) []kvs.Dependency {
	if !IsRef(text) {
		return nil
	}
	r, err := ParseRef(text, iface)
	if err != nil {
		return nil // invalid
	}
	return []kvs.Dependency{{Label: prefix + text, Key: r.Key()}}
}
