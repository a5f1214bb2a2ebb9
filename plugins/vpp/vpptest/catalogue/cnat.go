package catalogue

import (
	"math"

	"go.fd.io/govpp/api"
	cnatapi "go.fd.io/govpp/binapi/cnat"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

func cnatSource() *cnat.Global {
	return &cnat.Global{
		SnatIp4: "192.0.2.200", SnatIp6: "2001:db8:200::1", Policy: cnat.Global_KUBERNETES,
		ExcludedPrefixes: []string{"198.51.100.0/24", "2001:db8:201::/48"},
	}
}

func cnatGlobal() Item {
	return Item{
		Name: "vpp.cnat.global", Make: func() proto.Message { return cnatSource() }, Capability: "CNAT",
		Spellings: []Change{
			To(func(g *cnat.Global) { g.SnatIp6 = "2001:DB8:200:0::1" }),
			To(func(g *cnat.Global) {
				g.ExcludedPrefixes[0], g.ExcludedPrefixes[1] = g.ExcludedPrefixes[1], g.ExcludedPrefixes[0]
			}),
		},
		Updates: []Change{
			To(func(g *cnat.Global) { g.Policy = cnat.Global_ALL }),
			To(func(g *cnat.Global) { g.ExcludedPrefixes = nil }),
			To(func(g *cnat.Global) { g.ExcludedPrefixes[1] = "203.0.113.0/25" }),
		},
		Recreates: []Change{
			To(func(g *cnat.Global) { g.SnatIp4 = "192.0.2.201" }),
			To(func(g *cnat.Global) { g.SnatIp6 = "" }),
		},
		Refusals: map[string]Change{
			"snat_ip4: empty, expected an address": To(func(g *cnat.Global) { g.SnatIp4, g.SnatIp6 = "", "" }),
			`snat_ip4: "2001:db8::1", expected an`: To(func(g *cnat.Global) { g.SnatIp4 = "2001:db8::1" }),
			`snat_ip6: "192.0.2.1", expected an I`: To(func(g *cnat.Global) { g.SnatIp6 = "192.0.2.1" }),
			"snat_ip6: ::, expected the address o": To(func(g *cnat.Global) { g.SnatIp6 = "::" }),
			"policy: 3, expected ALL, INTERFACES,": To(func(g *cnat.Global) { g.Policy = 3 }),
			"excluded_prefixes[1]: 198.51.100.0/2": To(func(g *cnat.Global) { g.ExcludedPrefixes[1] = "198.51.100.0/24" }),
			"excluded_prefixes[0]: \"198.51.100.1": To(func(g *cnat.Global) { g.ExcludedPrefixes[0] = "198.51.100.1/24" }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &cnatapi.CnatSetSnatAddresses{SwIfIndex: interface_types.InterfaceIndex(item.NoInterface)}, &cnatapi.CnatSetSnatAddressesReply{}
		},
		Without: map[string]string{
			"Needs": "source NAT stands alone", "Conflicts": "there is one in a VPP",
			"Restart": "VPP reports the addresses alone",
		},
	}
}

func cnatInterface() Item {
	return Item{
		Name: "vpp.cnat.interface",
		Make: func() proto.Message {
			return &cnat.Interface{Name: "lo", Role: cnat.Interface_POD, Ip4: true, Ip6: true}
		},
		Needs:      func() []proto.Message { return []proto.Message{Base(), cnatSource()} },
		Capability: "CNAT interface",
		Updates: []Change{
			To(func(i *cnat.Interface) { i.Ip6 = false }),
			To(func(i *cnat.Interface) { i.Role = cnat.Interface_SOURCE }),
			To(func(i *cnat.Interface) { i.Role, i.Ip4 = cnat.Interface_OTHER, false }),
		},
		Refusals: map[string]Change{
			"ip4: false, expected ip4, ip6": To(func(i *cnat.Interface) { i.Ip4, i.Ip6 = false, false }),
			"role: HOST, expected neither ": To(func(i *cnat.Interface) { i.Role = cnat.Interface_HOST }),
			"role: 4, expected SOURCE, POD": To(func(i *cnat.Interface) { i.Role = 4 }),
		},
		Without: map[string]string{
			"Spellings": "names and flags are written in one way", "Recreates": "each list and node changes by itself",
			"Conflicts": "the name is the key", "Retrieve": "VPP does not report it", "ByHand": "VPP does not report it",
			"Restart": "VPP does not report it",
		},
	}
}

func cnatTranslation() Item {
	server := func(address string) *cnat.Translation_Backend {
		return &cnat.Translation_Backend{Address: address, Port: 8080}
	}
	backends := func(all ...*cnat.Translation_Backend) Change {
		return To(func(t *cnat.Translation) { t.Backends = all })
	}
	return Item{
		Name: "vpp.cnat.translation",
		Make: func() proto.Message {
			return &cnat.Translation{
				Vip: "192.0.2.90", Port: 80, Backends: []*cnat.Translation_Backend{server("10.1.1.8"), server("10.1.1.9")},
				AllocateSourcePort: true,
			}
		},
		Capability: "CNAT translation",
		Spellings:  []Change{To(func(t *cnat.Translation) { t.Backends[1].Weight = 1 })},
		Updates: []Change{
			backends(server("10.1.1.9")),
			backends(server("10.1.1.9"), server("10.1.1.8"), server("10.1.1.7")),
			To(func(t *cnat.Translation) { t.Backends[0].Port = 0 }),
			To(func(t *cnat.Translation) { t.Backends[1].SourceAddress = "10.1.1.1" }),
			To(func(t *cnat.Translation) { t.AllocateSourcePort = false }),
		},
		Recreates: []Change{
			To(func(t *cnat.Translation) { t.Backends[0].Weight = 3 }),
			To(func(t *cnat.Translation) { t.Backends[0].NoNat = true }),
			To(func(t *cnat.Translation) { t.RealIp = true }),
			To(func(t *cnat.Translation) { t.LoadBalancing = cnat.Translation_MAGLEV }),
			To(func(t *cnat.Translation) { t.Port = 81 }),
			To(func(t *cnat.Translation) {
				t.Vip, t.Protocol = "2001:db8:90::1", cnat.Translation_SCTP
				t.Backends = []*cnat.Translation_Backend{server("2001:db8:1::8"), server("2001:db8:1::9")}
			}),
		},
		Refusals: map[string]Change{
			"vip: 0.0.0.0, expected the address":       To(func(t *cnat.Translation) { t.Vip = "0.0.0.0" }),
			"port: 0, expected 1 to 65535":             To(func(t *cnat.Translation) { t.Port = 0 }),
			"protocol: 3, expected TCP, UDP, SCTP":     To(func(t *cnat.Translation) { t.Protocol = 3 }),
			"load_balancing: 2, expected FLOW_HASH":    To(func(t *cnat.Translation) { t.LoadBalancing = 2 }),
			"backends: empty, expected at least one":   backends(),
			"backends[1]: is backends[0] again; we":    backends(server("10.1.1.8"), server("10.1.1.8")),
			"backends[0].address: 2001:db8::1, expec":  backends(server("2001:db8::1")),
			"backends[0].source_address: 2001:db8::1":  To(func(t *cnat.Translation) { t.Backends[0].SourceAddress = "2001:db8::1" }),
			"backends[0].port: 65536, expected 0 to":   To(func(t *cnat.Translation) { t.Backends[0].Port = 65536 }),
			"backends[0].weight: 4294967295, expected": To(func(t *cnat.Translation) { t.Backends[0].Weight = math.MaxUint32 }),
			"backends: the sum of the weights is 256":  To(func(t *cnat.Translation) { t.Backends[0].Weight = 255 }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &cnatapi.CnatTranslationDel{ID: 0}, &cnatapi.CnatTranslationDelReply{}
		},
		Unread: func(want, got proto.Message) { // VPP does not report it
			w, g := want.(*cnat.Translation), got.(*cnat.Translation)
			g.RealIp, g.AllocateSourcePort = w.RealIp, w.AllocateSourcePort
		},
		Without: map[string]string{"Needs": "addresses are looked up as packets come", "Conflicts": "protocol, address and port are the key"},
	}
}
