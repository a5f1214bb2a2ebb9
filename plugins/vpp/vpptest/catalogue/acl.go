package catalogue

import (
	"math"

	"go.fd.io/govpp/api"
	aclapi "go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// web lets through what comes to a web server.
func web() *acl.ACL {
	return &acl.ACL{
		Name: "web",
		Rules: []*acl.ACL_Rule{
			{Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{
				Ip: &acl.ACL_Rule_IpRule_Ip{SourceNetwork: "10.0.0.0/8", DestinationNetwork: "0.0.0.0/0"},
				Tcp: &acl.ACL_Rule_IpRule_Tcp{
					DestinationPortRange: &acl.ACL_Rule_IpRule_PortRange{LowerPort: 80, UpperPort: 443}, TcpFlagsMask: 18, TcpFlagsValue: 2,
				},
			}},
			{Action: acl.ACL_Rule_REFLECT, IpRule: &acl.ACL_Rule_IpRule{
				Ip:  &acl.ACL_Rule_IpRule_Ip{SourceNetwork: "2001:db8::/32"},
				Udp: &acl.ACL_Rule_IpRule_Udp{SourcePortRange: &acl.ACL_Rule_IpRule_PortRange{LowerPort: 53, UpperPort: 53}},
			}},
			{Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{
				Icmp: &acl.ACL_Rule_IpRule_Icmp{Icmpv6: true, IcmpTypeRange: &acl.ACL_Rule_IpRule_Icmp_Range{First: 128, Last: 129}},
			}},
			{IpRule: &acl.ACL_Rule_IpRule{Ip: &acl.ACL_Rule_IpRule_Ip{DestinationNetwork: "10.1.0.0/16", Protocol: 47}}},
			{IpRule: &acl.ACL_Rule_IpRule{}},
		},
	}
}

// on applies a list to what interfaces receive or send.
func on(a *acl.ACL, name string, ifs *acl.ACL_Interfaces) *acl.ACL {
	a.Name, a.Interfaces = name, ifs
	return a
}

func edge() *acl.ACL {
	return on(web(), "edge", &acl.ACL_Interfaces{Ingress: []string{"lo"}, Egress: []string{"lo"}, Order: 10})
}

// hosts lets through what certain hosts send.
func hosts() *acl.ACL {
	return &acl.ACL{
		Name: "hosts",
		Rules: []*acl.ACL_Rule{
			{Action: acl.ACL_Rule_PERMIT, MacipRule: &acl.ACL_Rule_MacIpRule{
				SourceAddress: "10.1.1.2", SourceAddressPrefix: 32, SourceMacAddress: "02:00:00:00:00:01", SourceMacAddressMask: "ff:ff:ff:ff:ff:ff",
			}},
			{MacipRule: &acl.ACL_Rule_MacIpRule{SourceMacAddress: "02:00:00:00:00:02"}},
			{Action: acl.ACL_Rule_PERMIT, MacipRule: &acl.ACL_Rule_MacIpRule{}},
		},
	}
}

func guests() *acl.ACL {
	return on(hosts(), "guests", &acl.ACL_Interfaces{Ingress: []string{"lo"}})
}

// nothing is what items need that exist by themselves.
func nothing() []proto.Message { return nil }

func accessList() Item {
	ip := func(change func(r *acl.ACL_Rule_IpRule)) Change {
		return To(func(a *acl.ACL) { change(a.Rules[0].IpRule) })
	}
	return Item{
		Name:       "vpp.acls.acl",
		Make:       func() proto.Message { return web() },
		Needs:      nothing,
		Capability: "ACL",
		Spellings: []Change{
			To(func(a *acl.ACL) {
				a.Rules[1].IpRule.Ip.SourceNetwork = "2001:DB8::1/32"
			}),
			To(func(a *acl.ACL) { a.Rules[1].IpRule.Ip.DestinationNetwork = "::/0" }),
			ip(func(r *acl.ACL_Rule_IpRule) { r.Ip.DestinationNetwork, r.Ip.Protocol = "", 17 }),
			To(func(a *acl.ACL) { a.Rules[2].IpRule.Icmp.IcmpCodeRange = &acl.ACL_Rule_IpRule_Icmp_Range{Last: 255} }),
		},
		Updates: []Change{
			ip(func(r *acl.ACL_Rule_IpRule) { r.Ip.SourceNetwork = "10.0.0.0/9" }),
			To(func(a *acl.ACL) { a.Rules[0], a.Rules[1] = a.Rules[1], a.Rules[0] }),
		},
		Recreates: []Change{To(func(a *acl.ACL) { a.Rules = hosts().Rules })},
		Refusals: map[string]Change{
			`name: "cli", expected another one`:              To(func(a *acl.ACL) { a.Name = "cli" }),
			`name: "web/interface" contains`:                 To(func(a *acl.ACL) { a.Name = "web/interface" }),
			"rules: empty":                                   To(func(a *acl.ACL) { a.Rules = nil }),
			"rules[1].ip_rule: absent, and so is macip_rule": To(func(a *acl.ACL) { a.Rules[1].IpRule = nil }),
			"rules[1].macip_rule: set besides":               To(func(a *acl.ACL) { a.Rules[1].MacipRule = &acl.ACL_Rule_MacIpRule{} }),
			"rules[1].macip_rule: set, but rules[0] has":     To(func(a *acl.ACL) { a.Rules[1] = hosts().Rules[0] }),
			"rules[0].ip_rule.tcp: set besides icmp":         ip(func(r *acl.ACL_Rule_IpRule) { r.Icmp = &acl.ACL_Rule_IpRule_Icmp{} }),
			"rules[0].ip_rule.udp: set besides tcp":          ip(func(r *acl.ACL_Rule_IpRule) { r.Udp = &acl.ACL_Rule_IpRule_Udp{} }),
			"rules[0].ip_rule.tcp.tcp_flags_mask: 256":       ip(func(r *acl.ACL_Rule_IpRule) { r.Tcp.TcpFlagsMask = 256 }),
			"rules[0].ip_rule.tcp.destination_port_range.lower_port: 444, expected at most upper_port 443": ip(func(r *acl.ACL_Rule_IpRule) { r.Tcp.DestinationPortRange.LowerPort = 444 }),
			"rules[0].ip_rule.tcp.destination_port_range.upper_port: 65536, expected 0 to 65535": ip(func(r *acl.ACL_Rule_IpRule) {
				r.Tcp.DestinationPortRange.UpperPort = 65536
			}),
			"rules[0].ip_rule.ip.source_network: 2001:db8::/32, expected the version of IP": ip(func(r *acl.ACL_Rule_IpRule) {
				r.Ip.SourceNetwork = "2001:db8::/32"
			}),
			`rules[0].ip_rule.ip.source_network: "10.0.0.0": expected`: ip(func(r *acl.ACL_Rule_IpRule) { r.Ip.SourceNetwork = "10.0.0.0" }),
			"rules[2].ip_rule.icmp.icmp_type_range.first: 130, expected at most last 129": To(func(a *acl.ACL) {
				a.Rules[2].IpRule.Icmp.IcmpTypeRange.First = 130
			}),
			"rules[2].ip_rule.icmp.icmpv6: true, but": To(func(a *acl.ACL) {
				a.Rules[2].IpRule.Ip = &acl.ACL_Rule_IpRule_Ip{SourceNetwork: "10.0.0.0/8"}
			}),
			"rules[0].action: 3, expected":       To(func(a *acl.ACL) { a.Rules[0].Action = 3 }),
			`interfaces.egress[1]: "lo" is list`: To(func(a *acl.ACL) { a.Interfaces = &acl.ACL_Interfaces{Egress: []string{"lo", "lo"}} }),
			"interfaces.ingress[0]: empty":       To(func(a *acl.ACL) { a.Interfaces = &acl.ACL_Interfaces{Ingress: []string{""}} }),
		},
		Without: map[string]string{
			"Conflicts": "the name is the key, and VPP has nothing else that is unique",
			"ByHand":    "VPP deletes no list that is in use, and its index is in no item",
		},
	}
}

func macAccessList() Item {
	rule := func(change func(r *acl.ACL_Rule_MacIpRule)) Change {
		return To(func(a *acl.ACL) { change(a.Rules[0].MacipRule) })
	}
	return Item{
		Name:       "vpp.acls.acl MAC/IP",
		Make:       func() proto.Message { return hosts() },
		Needs:      nothing,
		Capability: "ACL: MAC/IP rules",
		Spellings: []Change{
			rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceMacAddressMask = "" }),
			To(func(a *acl.ACL) {
				a.Rules[1].MacipRule.SourceMacAddressMask, a.Rules[2].MacipRule.SourceMacAddress = "FF:ff:ff:ff:ff:ff", ""
			}),
		},
		Updates: []Change{
			rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceAddressPrefix = 24 }),
			rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceMacAddressMask = "ff:ff:ff:00:00:00" }),
		},
		Recreates: []Change{To(func(a *acl.ACL) { a.Rules = web().Rules })},
		Refusals: map[string]Change{
			"rules[0].macip_rule.source_address_prefix: 33, expected 0 to 32": rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceAddressPrefix = 33 }),
			"rules[0].macip_rule.source_address_prefix: 32, expected 0 with":  rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceAddress = "" }),
			"rules[0].macip_rule.source_address: ":                            rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceAddress = "x" }),
			"rules[0].macip_rule.source_mac_address: empty":                   rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceMacAddress = "" }),
			"rules[0].macip_rule.source_mac_address_mask: ":                   rule(func(r *acl.ACL_Rule_MacIpRule) { r.SourceMacAddressMask = "x" }),
			"rules[0].action: REFLECT, expected":                              To(func(a *acl.ACL) { a.Rules[0].Action = acl.ACL_Rule_REFLECT }),
			"interfaces.egress: [\"lo\"], expected none":                      To(func(a *acl.ACL) { a.Interfaces = &acl.ACL_Interfaces{Egress: []string{"lo"}} }),
		},
		Without: map[string]string{
			"Conflicts": "the name is the key, and VPP has nothing else that is unique",
			"ByHand":    "a list is deleted by an index that no item has",
		},
	}
}

func accessListUse() Item {
	return Item{
		Name:       "vpp.acls.acl: interfaces",
		Make:       func() proto.Message { return edge() },
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Part:       "vpp/acl/edge/interface/ingress/lo",
		Capability: "ACL: interfaces",
		Updates: []Change{
			To(func(a *acl.ACL) { a.Interfaces.Order = -1 }),
			To(func(a *acl.ACL) { a.Interfaces.Egress = nil }),
			To(func(a *acl.ACL) { a.Interfaces = nil }),
		},
		Recreates: []Change{To(func(a *acl.ACL) { a.Rules, a.Interfaces.Egress = hosts().Rules, nil })},
		ByHand: func(index func(string) uint32, _ proto.Message) (api.Message, api.Message) {
			return &aclapi.ACLInterfaceSetACLList{SwIfIndex: interface_types.InterfaceIndex(index("lo"))}, &aclapi.ACLInterfaceSetACLListReply{}
		},
	}
}

func macAccessListUse() Item {
	return Item{
		Name:       "vpp.acls.acl MAC/IP: interfaces",
		Make:       func() proto.Message { return guests() },
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Part:       "vpp/acl/guests/interface/ingress/lo",
		Capability: "ACL: interfaces with MAC/IP rules",
		Updates:    []Change{To(func(a *acl.ACL) { a.Interfaces = nil })},
		Recreates:  []Change{To(func(a *acl.ACL) { a.Rules = web().Rules })},
		Conflicts: []Conflict{{
			First: guests(), Second: on(guests(), "visitors", guests().Interfaces),
			Part: "vpp/acl/visitors/interface/ingress/lo",
			Says: "interfaces.ingress: has another list",
		}},
		ByHand: func(index func(string) uint32, _ proto.Message) (api.Message, api.Message) {
			return &aclapi.MacipACLInterfaceAddDel{
				SwIfIndex: interface_types.InterfaceIndex(index("lo")), ACLIndex: math.MaxUint32,
			}, &aclapi.MacipACLInterfaceAddDelReply{}
		},
	}
}
