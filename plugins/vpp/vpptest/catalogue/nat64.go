package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	vpp64 "go.fd.io/govpp/binapi/nat64"
	vpp66 "go.fd.io/govpp/binapi/nat66"
	"go.fd.io/govpp/binapi/nat_types"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
	nat66 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat66"
)

func global64() *nat64.Global {
	return &nat64.Global{Timeouts: &nat64.Global_Timeouts{Udp: 30}, BindingBuckets: 64}
}

func global66() *nat66.Global { return &nat66.Global{} }

func vrf64() *l3.VrfTable { return &l3.VrfTable{Id: natVrf, Protocol: l3.VrfTable_IPV6} }

const keepsTables = "VPP keeps the VRF table for ever, and the suites look at what is left"

func nat64Global() Item {
	return Item{
		Name: "vpp.nat64.global", Make: func() proto.Message { return global64() }, Capability: "NAT64",
		Spellings: []Change{
			To(func(g *nat64.Global) { g.Timeouts.TcpEstablished, g.Timeouts.Icmp, g.SessionBuckets = 7440, 60, 2048 }),
		},
		Updates: []Change{
			To(func(g *nat64.Global) { g.Timeouts = nil }),
			To(func(g *nat64.Global) { g.Timeouts.TcpTransitory = 10 }),
		},
		Recreates: []Change{
			To(func(g *nat64.Global) { g.BindingBuckets = 0 }),
			To(func(g *nat64.Global) { g.SessionBuckets = 128 }),
		},
		Without: map[string]string{
			"Needs": "NAT64 stands alone", "Conflicts": "there is one in a VPP", "Refusals": "every number has a meaning",
			"ByHand": "VPP does not report whether it is enabled", "Restart": "VPP does not report whether it is enabled, unless it has an item",
		},
	}
}

func nat64Interface() Item {
	return Item{
		Name:       "vpp.nat64.interface",
		Make:       func() proto.Message { return &nat64.Interface{Name: "lo", Inside: true} },
		Needs:      func() []proto.Message { return []proto.Message{Base(), global64()} },
		Capability: "NAT64 interface",
		Updates: []Change{
			To(func(i *nat64.Interface) { i.Outside = true }),
			To(func(i *nat64.Interface) { i.Inside, i.Outside = false, true }),
		},
		Refusals: map[string]Change{
			"inside: false, expected": To(func(i *nat64.Interface) { i.Inside = false }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &vpp64.Nat64AddDelInterface{
				Flags: nat_types.NAT_IS_INSIDE, SwIfIndex: interface_types.InterfaceIndex(index(m.(*nat64.Interface).Name)),
			}, &vpp64.Nat64AddDelInterfaceReply{}
		},
		Without: map[string]string{
			"Spellings": "names and flags are written in one way", "Recreates": "VPP changes each side by itself",
			"Conflicts": "the name is the key",
		},
	}
}

func nat64Pool() Item {
	return Item{
		Name: "vpp.nat64.pool",
		Make: func() proto.Message {
			return &nat64.Pool{Name: "pool", VrfId: natVrf, FirstIp: "192.0.2.64", LastIp: "192.0.2.67"}
		},
		Needs:      func() []proto.Message { return []proto.Message{global64(), vrf64()} },
		Capability: "NAT64 address pool",
		Updates: []Change{
			To(func(p *nat64.Pool) { p.LastIp = "192.0.2.70" }),
			To(func(p *nat64.Pool) { p.FirstIp, p.LastIp = "192.0.2.66", "" }),
			To(func(p *nat64.Pool) { p.VrfId = 4294967295 }),
		},
		Refusals: map[string]Change{
			`first_ip: empty, expected the IPv4`:       To(func(p *nat64.Pool) { p.FirstIp = "" }),
			`last_ip: "2001:db8::1", expected an IPv4`: To(func(p *nat64.Pool) { p.LastIp = "2001:db8::1" }),
			"last_ip: 192.0.2.1 is before first_ip 19": To(func(p *nat64.Pool) { p.LastIp = "192.0.2.1" }),
			"last_ip: 16777216 addresses, expected at": To(func(p *nat64.Pool) { p.FirstIp, p.LastIp = "10.0.0.0", "10.255.255.255" }),
		},
		Conflicts: []Conflict{{
			First:  &nat64.Pool{FirstIp: "192.0.2.64", LastIp: "192.0.2.67", VrfId: 4294967295},
			Second: &nat64.Pool{Name: "second", FirstIp: "192.0.2.66", VrfId: 4294967295},
			Says:   "first_ip: 192.0.2.66 is in config/vpp/nat64/v1/pool/vrf/4294967295/address/192.0.2.64-192.0.2.67 already",
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			p := m.(*nat64.Pool)
			return &vpp64.Nat64AddDelPoolAddrRange{
				StartAddr: netip.MustParseAddr(p.FirstIp).As4(), EndAddr: netip.MustParseAddr(p.LastIp).As4(), VrfID: p.VrfId,
			}, &vpp64.Nat64AddDelPoolAddrRangeReply{}
		},
		Unread:  func(want, got proto.Message) { got.(*nat64.Pool).Name = want.(*nat64.Pool).Name },
		Without: map[string]string{"Spellings": "IPv4 addresses are written in one way", "Recreates": "VPP changes each address by itself"},
	}
}

func nat64StaticBIB() Item {
	bib := func() *nat64.StaticBIB {
		return &nat64.StaticBIB{InsideAddr: "2001:db8:64::1", InsidePort: 80, OutsideAddr: "192.0.2.80", OutsidePort: 8080}
	}
	return Item{
		Name:       "vpp.nat64.static-bib",
		Make:       func() proto.Message { return bib() },
		Needs:      func() []proto.Message { return []proto.Message{global64()} },
		Capability: "NAT64 static BIB",
		Recreates: []Change{
			To(func(b *nat64.StaticBIB) { b.OutsidePort = 8081 }),
			To(func(b *nat64.StaticBIB) { b.OutsideAddr = "192.0.2.81" }),
			To(func(b *nat64.StaticBIB) { b.Protocol = nat64.StaticBIB_ICMP }),
		},
		Refusals: map[string]Change{
			`inside_addr: "10.1.1.1", expected an IPv6`: To(func(b *nat64.StaticBIB) { b.InsideAddr = "10.1.1.1" }),
			`outside_addr: "::1", expected an IPv4`:     To(func(b *nat64.StaticBIB) { b.OutsideAddr = "::1" }),
			"inside_port: 65536, expected 0 to 65535":   To(func(b *nat64.StaticBIB) { b.InsidePort = 65536 }),
			"outside_port: 65536, expected 0 to 65535":  To(func(b *nat64.StaticBIB) { b.OutsidePort = 65536 }),
			"protocol: 9, expected TCP, UDP or ICMP":    To(func(b *nat64.StaticBIB) { b.Protocol = 9 }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			b := m.(*nat64.StaticBIB)
			return &vpp64.Nat64AddDelStaticBib{
				IAddr: netip.MustParseAddr(b.InsideAddr).As16(), OAddr: netip.MustParseAddr(b.OutsideAddr).As4(),
				IPort: uint16(b.InsidePort), OPort: uint16(b.OutsidePort), Proto: 6,
			}, &vpp64.Nat64AddDelStaticBibReply{}
		},
		Without: map[string]string{
			"Spellings": "another spelling of the inside address is another key",
			"Updates":   "VPP has no request that changes a binding",
			"Conflicts": "VPP compares outside addresses of pools alone",
		},
	}
}

func nat64Prefix() Item {
	return Item{
		Name:       "vpp.nat64.prefix",
		Make:       func() proto.Message { return &nat64.Prefix{Prefix: "2001:db8:6464::/96"} },
		Needs:      func() []proto.Message { return []proto.Message{global64()} },
		Capability: "NAT64 prefix",
		Spellings:  []Change{To(func(p *nat64.Prefix) { p.Prefix = "2001:DB8:6464:0::/96" })},
		Updates:    []Change{To(func(p *nat64.Prefix) { p.Prefix = "2001:db8:6400::/40" })},
		Refusals: map[string]Change{
			"prefix: has length 95, expected 32": To(func(p *nat64.Prefix) { p.Prefix = "2001:db8::/95" }),
			"prefix: \"2001:db8::1/96\" has hos": To(func(p *nat64.Prefix) { p.Prefix = "2001:db8::1/96" }),
			"expected an IPv6 prefix":            To(func(p *nat64.Prefix) { p.Prefix = "10.0.0.0/32" }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			p := netip.MustParsePrefix(m.(*nat64.Prefix).Prefix)
			return &vpp64.Nat64AddDelPrefix{Prefix: ip_types.IP6Prefix{Address: p.Addr().As16(), Len: uint8(p.Bits())}},
				&vpp64.Nat64AddDelPrefixReply{}
		},
		Without: map[string]string{"Recreates": "VPP replaces the prefix", "Conflicts": "the VRF table is the key"},
	}
}

func nat66Global() Item {
	return Item{
		Name: "vpp.nat66.global", Make: func() proto.Message { return global66() }, Capability: "NAT66",
		Refusals: map[string]Change{"outside_vrf_id: 4294967295, exp": To(func(g *nat66.Global) { g.OutsideVrfId = 4294967295 })},
		Without: map[string]string{
			"Needs": "NAT66 stands alone", "Conflicts": "there is one in a VPP", "Spellings": "a number is written in one way", "Updates": "VPP has no request for it", "Recreates": keepsTables,
			"ByHand": "VPP does not report whether it is enabled", "Restart": "VPP does not report whether it is enabled, unless it has an item",
		},
	}
}

func nat66Interface() Item {
	return Item{
		Name:       "vpp.nat66.interface",
		Make:       func() proto.Message { return &nat66.Interface{Name: "lo", Inside: true} },
		Needs:      func() []proto.Message { return []proto.Message{Base(), global66()} },
		Capability: "NAT66 interface",
		Recreates:  []Change{To(func(i *nat66.Interface) { i.Inside = false })},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &vpp66.Nat66AddDelInterface{
				Flags: nat_types.NAT_IS_INSIDE, SwIfIndex: interface_types.InterfaceIndex(index(m.(*nat66.Interface).Name)),
			}, &vpp66.Nat66AddDelInterfaceReply{}
		},
		Without: map[string]string{
			"Refusals":  "there are the name, without which there is no key, and two flags",
			"Spellings": "names and flags are written in one way", "Updates": "VPP has an interface on one side",
			"Conflicts": "the name is the key",
		},
	}
}

func nat66Mapping() Item {
	return Item{
		Name: "vpp.nat66.static-mapping",
		Make: func() proto.Message {
			return &nat66.StaticMapping{LocalAddr: "2001:db8:66::1", ExternalAddr: "2001:db8:67::1", VrfId: natVrf}
		},
		Needs:      func() []proto.Message { return []proto.Message{global66(), vrf64()} },
		Capability: "NAT66 static mapping",
		Spellings:  []Change{To(func(m *nat66.StaticMapping) { m.ExternalAddr = "2001:DB8:67:0::1" })},
		Updates:    []Change{To(func(m *nat66.StaticMapping) { m.ExternalAddr = "2001:db8:67::2" })},
		Refusals: map[string]Change{
			`local_addr: "10.1.1.1", expected an IPv6`: To(func(m *nat66.StaticMapping) { m.LocalAddr = "10.1.1.1" }),
			`external_addr: "::", expected the IPv6`:   To(func(m *nat66.StaticMapping) { m.ExternalAddr = "::" }),
		},
		Conflicts: []Conflict{{
			First:  &nat66.StaticMapping{LocalAddr: "2001:db8:66::1", ExternalAddr: "2001:db8:67::1", VrfId: natVrf},
			Second: &nat66.StaticMapping{LocalAddr: "2001:db8:66::2", ExternalAddr: "2001:db8:67::1", VrfId: natVrf},
			Says:   "external_addr: config/vpp/nat66/v1/static-mapping/vrf/17/local/2001:db8:66::1 has it already",
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			s := m.(*nat66.StaticMapping)
			return &vpp66.Nat66AddDelStaticMapping{
				LocalIPAddress: netip.MustParseAddr(s.LocalAddr).As16(), ExternalIPAddress: netip.MustParseAddr(s.ExternalAddr).As16(), VrfID: s.VrfId,
			}, &vpp66.Nat66AddDelStaticMappingReply{}
		},
		Without: map[string]string{"Recreates": "VPP forgets a mapping and learns another"},
	}
}
