package model

import (
	"fmt"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Need is what an item requires of the interface that it names. It returns what the interface
// must be and is not; nil if it fits. It depends only on fields whose change recreates the
// interface.
type Need func(i *interfaces.Interface) error

// MAC requires a MAC address; what is the item, for the error. VPP does not check it where it
// takes the address, and crashes.
func MAC(what string) Need {
	return func(i *interfaces.Interface) error {
		if kind := WithoutMAC(i); kind != "" {
			return fmt.Errorf("%s needs an interface with a MAC address, such as a loopback; %q is %s", what, i.GetName(), kind)
		}
		return nil
	}
}

// NoBond requires an interface that is not a bond; what is the item, for the error.
func NoBond(what string) Need {
	return func(i *interfaces.Interface) error {
		if i.GetType() == interfaces.Interface_BOND_INTERFACE {
			return fmt.Errorf("%s needs an interface that is no bond; %q is one", what, i.GetName())
		}
		return nil
	}
}

// Wireguard requires a WireGuard interface.
func Wireguard(i *interfaces.Interface) error {
	if i.GetType() != interfaces.Interface_WIREGUARD_TUNNEL {
		return fmt.Errorf("a peer needs an interface of type WIREGUARD_TUNNEL; %q is of type %s", i.GetName(), i.GetType())
	}
	return nil
}

// Main requires an interface that is not a sub-interface; what is the item, for the error.
func Main(what string) Need {
	return func(i *interfaces.Interface) error {
		if i.GetType() == interfaces.Interface_SUB_INTERFACE {
			return fmt.Errorf("%s needs an interface that is no sub-interface; %q is one", what, i.GetName())
		}
		return nil
	}
}

// localName is the interface that every VPP has. It has no MAC address.
const localName = "local0"

// WithoutMAC returns what kind of interface without a MAC address it is; "" if it has one. A
// sub-interface has the address of its parent, which must have one.
func WithoutMAC(i *interfaces.Interface) string {
	if i.GetName() == localName {
		return "an interface of VPP itself"
	}
	switch i.GetType() {
	case interfaces.Interface_TAP:
		return when(i.GetTap().GetEnableTunnel(), "a TAP with enable_tunnel")
	case interfaces.Interface_MEMIF:
		return when(i.GetMemif().GetMode() == interfaces.MemifLink_IP, "a memif of mode IP")
	case interfaces.Interface_GRE_TUNNEL:
		return when(i.GetGre().GetTunnelType() == interfaces.GreLink_L3, "a GRE tunnel of type L3")
	case interfaces.Interface_VXLAN_TUNNEL:
		return when(i.GetVxlan().GetGpe() != nil, "a VXLAN-GPE tunnel")
	}
	return withoutMAC[i.GetType()]
}

// withoutMAC are the types of interfaces that never have a MAC address.
var withoutMAC = map[interfaces.Interface_Type]string{
	//lint:ignore SA1019 deprecated, but part of the wire schema
	interfaces.Interface_IPSEC_TUNNEL:     "an IPsec interface",
	interfaces.Interface_IPIP_TUNNEL:      "an IPIP tunnel",
	interfaces.Interface_GTPU_TUNNEL:      "a GTP-U tunnel",
	interfaces.Interface_WIREGUARD_TUNNEL: "a WireGuard interface",
	interfaces.Interface_MPLS_TUNNEL:      "an MPLS tunnel",
}

func when(is bool, kind string) string {
	if is {
		return kind
	}
	return ""
}
