package catalogue

import (
	"strings"

	"google.golang.org/protobuf/proto"

	lldp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/lldp"
)

func lldpGlobal() Item {
	return Item{
		Name:       "vpp.lldp.global",
		Make:       func() proto.Message { return &lldp.Global{SystemName: "router", Hold: 4, Interval: 10} },
		Capability: "LLDP",
		Spellings:  []Change{To(func(g *lldp.Global) { g.Hold = 0 })},
		Updates: []Change{
			To(func(g *lldp.Global) { g.SystemName, g.Hold = "other", 100 }),
			To(func(g *lldp.Global) { g.Interval = 0 }),
		},
		Refusals: map[string]Change{
			"system_name: 256 bytes, expected at most 255": To(func(g *lldp.Global) { g.SystemName = strings.Repeat("x", 256) }),
			"hold: 101, expected 0 to 100":                 To(func(g *lldp.Global) { g.Hold = 101 }),
			"interval: 3601, expected 0 to 3600":           To(func(g *lldp.Global) { g.Interval = 3601 }),
		},
		Without: map[string]string{
			"Needs": "it is for all interfaces", "Recreates": "VPP changes all", "Conflicts": "there is one value",
			"Retrieve": "VPP does not report it", "ByHand": "VPP does not report it", "Restart": "VPP does not report it",
		},
	}
}

func lldpInterface() Item {
	return Item{
		Name: "vpp.lldp.interface",
		Make: func() proto.Message {
			return &lldp.Interface{Interface: "lldp", PortDescription: "uplink", ManagementIpv4: "10.75.0.1", ManagementIpv6: "2001:db8:75::1"}
		},
		Needs:      func() []proto.Message { return []proto.Message{Loopback("lldp")} },
		Capability: "LLDP on interface",
		Spellings:  []Change{To(func(i *lldp.Interface) { i.ManagementIpv6 = "2001:0db8:75:0::1" })},
		Recreates: []Change{
			To(func(i *lldp.Interface) { i.PortDescription, i.ManagementIpv4 = "", "" }),
			To(func(i *lldp.Interface) { i.ManagementIpv6 = "2001:db8:75::2" }),
		},
		Refusals: map[string]Change{
			"port_description: 256 bytes, expected at most 255": To(func(i *lldp.Interface) { i.PortDescription = strings.Repeat("x", 256) }),
			`management_ipv4: "x", expected an IPv4 address`:    To(func(i *lldp.Interface) { i.ManagementIpv4 = "x" }),
			`management_ipv4: "2001:db8::1", expected an IPv4`:  To(func(i *lldp.Interface) { i.ManagementIpv4 = "2001:db8::1" }),
			`management_ipv6: "10.0.0.1", expected an IPv6`:     To(func(i *lldp.Interface) { i.ManagementIpv6 = "10.0.0.1" }),
			"management_ipv6: ff02::1, expected the address":    To(func(i *lldp.Interface) { i.ManagementIpv6 = "ff02::1" }),
		},
		Without: map[string]string{
			"Updates": "VPP changes nothing", "Conflicts": "the interface is the key",
			"Retrieve": "VPP may overwrite its memory when it reports it", "ByHand": "it is not read", "Restart": "it is not read",
		},
	}
}
