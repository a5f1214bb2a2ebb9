//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	"go.fd.io/govpp/binapi/nat_types"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// natGlobal is the global item that all items of NAT44 need.
func natGlobal() *nat.Nat44Global {
	return &nat.Nat44Global{Forwarding: true, Timeouts: &nat.Nat44Global_Timeouts{Udp: 30}, MaxSessions: 1000}
}

// natVrf is the VRF table of the exemplars.
const natVrf = 17

func natVrfTable() *l3.VrfTable { return &l3.VrfTable{Id: natVrf} }

func nat44Global() Item {
	return Item{
		Name:       "vpp.nat.nat44-global",
		Make:       func() proto.Message { return natGlobal() },
		Capability: "NAT44",
		Spellings: []Change{
			To(func(g *nat.Nat44Global) { g.Timeouts.TcpEstablished, g.Timeouts.Icmp = 7440, 60 }),
			To(func(g *nat.Nat44Global) { g.VirtualReassembly = &nat.VirtualReassembly{Timeout: 5} }),
		},
		Updates: []Change{
			To(func(g *nat.Nat44Global) { g.Forwarding = false }),
			To(func(g *nat.Nat44Global) { g.Timeouts = nil }),
			To(func(g *nat.Nat44Global) { g.Timeouts.TcpTransitory = 10 }),
		},
		Recreates: []Change{
			To(func(g *nat.Nat44Global) { g.MaxSessions = 0 }),
			To(func(g *nat.Nat44Global) { g.EndpointIndependent = true }),
			To(func(g *nat.Nat44Global) {
				g.EndpointIndependent, g.MaxUsers, g.MaxUserSessions, g.Forwarding, g.Timeouts = true, 10, 20, false, nil
			}),
		},
		Refusals: map[string]Change{
			"max_users: 3, expected 0":                  To(func(g *nat.Nat44Global) { g.MaxUsers = 3 }),
			"max_user_sessions: 3, expected 0":          To(func(g *nat.Nat44Global) { g.MaxUserSessions = 3 }),
			`nat_interfaces[1].name: "lo" is listed`:    To(func(g *nat.Nat44Global) { g.NatInterfaces = natInterfaces(false, false) }),
			"nat_interfaces[1].output_feature: ":        To(func(g *nat.Nat44Global) { g.NatInterfaces = natInterfaces(true, true) }),
			`address_pool[0].address: "x", expected an`: To(func(g *nat.Nat44Global) { g.AddressPool = []*nat.Nat44Global_Address{{Address: "x"}} }),
			"address_pool[1].address: 10.1.1.1 is listed": To(func(g *nat.Nat44Global) {
				g.AddressPool = []*nat.Nat44Global_Address{{Address: "10.1.1.1"}, {Address: "10.1.1.1", VrfId: 7}}
			}),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ed.Nat44EdPluginEnableDisable{}, &ed.Nat44EdPluginEnableDisableReply{}
		},
		Without: map[string]string{
			"Needs":     "NAT44 stands alone",
			"Conflicts": "there is one such item; the other kind of NAT44 is a test of its own",
		},
	}
}

func natInterfaces(inside, output bool) []*nat.Nat44Global_Interface {
	return []*nat.Nat44Global_Interface{{Name: "lo"}, {Name: "lo", IsInside: inside, OutputFeature: output}}
}

func nat44Interface() Item {
	return Item{
		Name:       "vpp.nat.nat44-interface",
		Make:       func() proto.Message { return &nat.Nat44Interface{Name: "lo", NatInside: true} },
		Needs:      func() []proto.Message { return []proto.Message{Base(), natGlobal()} },
		Capability: "NAT44 interface",
		Updates: []Change{
			To(func(i *nat.Nat44Interface) { i.NatOutside = true }),
			To(func(i *nat.Nat44Interface) { i.NatInside, i.NatOutside = false, true }),
			To(func(i *nat.Nat44Interface) { i.NatInside, i.OutputFeature = false, true }),
			To(func(i *nat.Nat44Interface) { i.OutputFeature = true }),
		},
		Refusals: map[string]Change{
			"nat_inside: false, expected":      To(func(i *nat.Nat44Interface) { i.NatInside = false }),
			"output_feature: true together wi": To(func(i *nat.Nat44Interface) { i.NatOutside, i.OutputFeature = true, true }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ed.Nat44InterfaceAddDelFeature{
				Flags: nat_types.NAT_IS_INSIDE, SwIfIndex: interface_types.InterfaceIndex(index(m.(*nat.Nat44Interface).Name)),
			}, &ed.Nat44InterfaceAddDelFeatureReply{}
		},
		Without: map[string]string{
			"Spellings": "names and flags are written in one way",
			"Recreates": "VPP changes each side by itself",
			"Conflicts": "the name is the key",
		},
	}
}

func nat44Pool() Item {
	return Item{
		Name: "vpp.nat.nat44-pool",
		Make: func() proto.Message {
			return &nat.Nat44AddressPool{Name: "pool", VrfId: natVrf, FirstIp: "192.0.2.10", LastIp: "192.0.2.13"}
		},
		Needs:      func() []proto.Message { return []proto.Message{natGlobal(), natVrfTable()} },
		Capability: "NAT44 address pool",
		Updates: []Change{
			To(func(p *nat.Nat44AddressPool) { p.LastIp = "192.0.2.20" }),
			To(func(p *nat.Nat44AddressPool) { p.FirstIp, p.LastIp = "192.0.2.12", "" }),
			To(func(p *nat.Nat44AddressPool) { p.VrfId = 4294967295 }),
			To(func(p *nat.Nat44AddressPool) { p.TwiceNat = true }),
		},
		Refusals: map[string]Change{
			`first_ip: empty, expected the IPv4`:       To(func(p *nat.Nat44AddressPool) { p.FirstIp = "" }),
			`last_ip: "2001:db8::1", expected an IPv4`: To(func(p *nat.Nat44AddressPool) { p.LastIp = "2001:db8::1" }),
			"last_ip: 192.0.2.1 is before first_ip 19": To(func(p *nat.Nat44AddressPool) { p.LastIp = "192.0.2.1" }),
			"last_ip: 16777216 addresses, expected at": To(func(p *nat.Nat44AddressPool) { p.FirstIp, p.LastIp = "10.0.0.0", "10.255.255.255" }),
		},
		Conflicts: []Conflict{{
			First:  &nat.Nat44AddressPool{FirstIp: "192.0.2.10", LastIp: "192.0.2.13", VrfId: 4294967295},
			Second: &nat.Nat44AddressPool{Name: "second", FirstIp: "192.0.2.12", LastIp: "192.0.2.15", VrfId: 4294967295},
			Says:   "first_ip: 192.0.2.12 is in config/vpp/nat/v2/nat44-pool/vrf/4294967295/address/192.0.2.10-192.0.2.13 already",
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			p := m.(*nat.Nat44AddressPool)
			return &ed.Nat44AddDelAddressRange{
				FirstIPAddress: netip.MustParseAddr(p.FirstIp).As4(), LastIPAddress: netip.MustParseAddr(p.LastIp).As4(),
			}, &ed.Nat44AddDelAddressRangeReply{}
		},
		Unread: func(want, got proto.Message) { got.(*nat.Nat44AddressPool).Name = want.(*nat.Nat44AddressPool).Name },
		Without: map[string]string{
			"Spellings": "IPv4 addresses are written in one way",
			"Recreates": "VPP changes each address by itself",
		},
	}
}

func nat44DNAT() Item {
	return Item{
		Name:       "vpp.nat.dnat44",
		Make:       func() proto.Message { return natMappings() },
		Needs:      func() []proto.Message { return []proto.Message{Base(), natGlobal(), natVrfTable()} },
		Capability: "NAT44 DNAT",
		Spellings: []Change{
			To(func(d *nat.DNat44) { d.StMappings[0], d.StMappings[1] = d.StMappings[1], d.StMappings[0] }),
			To(func(d *nat.DNat44) {
				locals := d.StMappings[2].LocalIps
				locals[0], locals[1] = locals[1], locals[0]
			}),
			To(func(d *nat.DNat44) { d.StMappings[3].Protocol = nat.DNat44_UDP }), // of all ports
			To(func(d *nat.DNat44) {
				d.StMappings = append(d.StMappings, &nat.DNat44_StaticMapping{ExternalIp: "192.0.2.9"})
			}),
		},
		Updates: []Change{
			To(func(d *nat.DNat44) { d.StMappings = nil }),
			To(func(d *nat.DNat44) { d.StMappings, d.IdMappings = nil, nil }),
			To(func(d *nat.DNat44) { d.StMappings[0].LocalIps[0].LocalIp = "10.1.1.99" }),
			To(func(d *nat.DNat44) { d.StMappings[2].LocalIps[0].Probability = 9 }),
			To(func(d *nat.DNat44) { d.StMappings[2].SessionAffinity = 0 }),
			To(func(d *nat.DNat44) { d.StMappings[0].TwiceNat = nat.DNat44_StaticMapping_ENABLED }),
			To(func(d *nat.DNat44) { d.IdMappings = d.IdMappings[:1] }),
			To(func(d *nat.DNat44) { d.IdMappings[0].VrfId = 0 }),
		},
		Refusals: natRefusals(),
		Conflicts: []Conflict{{
			First:  &nat.DNat44{Label: "first", StMappings: natMappings().StMappings[:1]},
			Second: &nat.DNat44{Label: "second", StMappings: natMappings().StMappings[:1]},
			Says:   "external_ip, external_port, protocol: another mapping has the outside endpoint",
		}},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ed.Nat44AddDelLbStaticMapping{
				Flags: nat_types.NAT_IS_OUT2IN_ONLY, ExternalAddr: [4]byte{192, 0, 2, 1}, ExternalPort: 443, Protocol: 6,
			}, &ed.Nat44AddDelLbStaticMappingReply{}
		},
		Without: map[string]string{"Recreates": "mappings are added and removed one by one"},
	}
}

// natMappings is a group with a mapping of each kind.
func natMappings() *nat.DNat44 {
	type (
		mapping = nat.DNat44_StaticMapping
		local   = nat.DNat44_StaticMapping_LocalIP
	)
	return &nat.DNat44{
		Label: "default/kubernetes",
		StMappings: []*mapping{
			{ExternalIp: "192.0.2.1", ExternalPort: 80, LocalIps: []*local{{VrfId: natVrf, LocalIp: "10.1.1.2", LocalPort: 8080}}},
			{
				ExternalInterface: "lo", ExternalPort: 53, Protocol: nat.DNat44_UDP, TwiceNat: nat.DNat44_StaticMapping_SELF,
				LocalIps: []*local{{LocalIp: "10.1.1.2", LocalPort: 5353}},
			},
			{
				ExternalIp: "192.0.2.1", ExternalPort: 443, SessionAffinity: 30, TwiceNat: nat.DNat44_StaticMapping_SELF,
				LocalIps: []*local{
					{LocalIp: "10.1.1.2", LocalPort: 8443, Probability: 1},
					{VrfId: natVrf, LocalIp: "10.1.1.3", LocalPort: 8443, Probability: 2},
				},
			},
			{ExternalIp: "192.0.2.2", LocalIps: []*local{{LocalIp: "10.1.1.4"}}},
		},
		IdMappings: []*nat.DNat44_IdentityMapping{
			{IpAddress: "192.0.2.3", Port: 22, VrfId: natVrf},
			{Interface: "lo", Port: 179},
		},
	}
}

func natRefusals() map[string]Change {
	return map[string]Change{
		"label: 65 bytes, expected at most 64": To(func(d *nat.DNat44) {
			d.Label = "01234567890123456789012345678901234567890123456789012345678901234"
		}),
		`st_mappings[0].external_ip: "", expected the IPv4`:        To(func(d *nat.DNat44) { d.StMappings[0].ExternalIp = "" }),
		`st_mappings[1].external_ip: "192.0.2.7" together with ex`: To(func(d *nat.DNat44) { d.StMappings[1].ExternalIp = "192.0.2.7" }),
		"st_mappings[0].external_port: 70000, expected":            To(func(d *nat.DNat44) { d.StMappings[0].ExternalPort = 70000 }),
		"st_mappings[0].local_ips[0].local_port: 0, expected both": To(func(d *nat.DNat44) { d.StMappings[0].LocalIps[0].LocalPort = 0 }),
		`st_mappings[0].local_ips[0].local_ip: "::1", expected an`: To(func(d *nat.DNat44) { d.StMappings[0].LocalIps[0].LocalIp = "::1" }),
		"st_mappings[2].local_ips[1].local_port: 0, expected 1 to": To(func(d *nat.DNat44) { d.StMappings[2].LocalIps[1].LocalPort = 0 }),
		"st_mappings[2].local_ips[0].probability: 256, expected 0": To(func(d *nat.DNat44) { d.StMappings[2].LocalIps[0].Probability = 256 }),
		"st_mappings[2].external_port: 0, expected a port":         To(func(d *nat.DNat44) { d.StMappings[2].ExternalPort = 0 }),
		"st_mappings[2].local_ips[1]: 10.1.1.2 port 8443": To(func(d *nat.DNat44) {
			d.StMappings[2].LocalIps[1] = proto.CloneOf(d.StMappings[2].LocalIps[0])
		}),
		`st_mappings[2].external_interface: "lo", expected`: To(func(d *nat.DNat44) {
			d.StMappings[2].ExternalIp, d.StMappings[2].ExternalInterface = "", "lo"
		}),
		"st_mappings[3].twice_nat: SELF, expected DISABLED": To(func(d *nat.DNat44) {
			d.StMappings[3].TwiceNat = nat.DNat44_StaticMapping_SELF
		}),
		"st_mappings[0].twice_nat_pool_ip: 192.0.2.8, expected none": To(func(d *nat.DNat44) { d.StMappings[0].TwiceNatPoolIp = "192.0.2.8" }),
		"st_mappings[2]: has the outside endpoint of st_mappings[0]": To(func(d *nat.DNat44) { d.StMappings[2].ExternalPort = 80 }),
		`id_mappings[1].ip_address: "1.1.1.1" together with inter`:   To(func(d *nat.DNat44) { d.IdMappings[1].IpAddress = "1.1.1.1" }),
	}
}

func nat44VrfTable() Item {
	return Item{
		Name:       "vpp.nat.nat44-vrf",
		Make:       func() proto.Message { return &nat.Nat44VrfTable{SrcVrfId: natVrf} },
		Needs:      func() []proto.Message { return []proto.Message{natGlobal()} },
		Capability: "NAT44 VRF table",
		Spellings:  []Change{To(func(t *nat.Nat44VrfTable) { t.DestVrfIds = []uint32{7} })},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ed.Nat44EdAddDelVrfTable{TableVrfID: natVrf}, &ed.Nat44EdAddDelVrfTableReply{}
		},
		Without: map[string]string{
			"Updates":   "the table is the key, and there is nothing else",
			"Recreates": "the table is the key, and there is nothing else",
			"Refusals":  "every number is a VRF table",
			"Conflicts": "the table is the key",
		},
	}
}

func nat44VrfRoute() Item {
	return Item{
		Name:       "vpp.nat.nat44-vrf-route",
		Make:       func() proto.Message { return &nat.Nat44VrfRoute{SrcVrfId: natVrf, DestVrfId: 0} },
		Needs:      func() []proto.Message { return []proto.Message{natGlobal(), &nat.Nat44VrfTable{SrcVrfId: natVrf}} },
		Capability: "NAT44 VRF route",
		Refusals: map[string]Change{
			"dest_vrf_id: 4294967295, expected": To(func(r *nat.Nat44VrfRoute) { r.DestVrfId = 4294967295 }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ed.Nat44EdAddDelVrfRoute{TableVrfID: natVrf}, &ed.Nat44EdAddDelVrfRouteReply{}
		},
		Without: map[string]string{
			"Spellings": "numbers are written in one way",
			"Updates":   "the tables are the key, and there is nothing else",
			"Recreates": "the tables are the key, and there is nothing else",
			"Conflicts": "the tables are the key",
		},
	}
}
