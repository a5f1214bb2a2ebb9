package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	pmtu "github.com/tenuto-dev/tenuto/proto/ligato/vpp/pmtu"
)

func pathMTU() Item {
	return Item{
		Name:       "vpp.pmtu.path-mtu",
		Make:       func() proto.Message { return &pmtu.PathMTU{Address: "2001:db8:9::9", Mtu: 1400} },
		Capability: "path MTU",
		Updates:    []Change{To(func(m *pmtu.PathMTU) { m.Mtu = 1280 })},
		Refusals: map[string]Change{
			"mtu: 0, expected 68 to ":                To(func(m *pmtu.PathMTU) { m.Mtu = 0 }),
			"mtu: 1279, expected 1280 to 65534":      To(func(m *pmtu.PathMTU) { m.Mtu = 1279 }),
			"mtu: 67, expected 68 to 65534":          To(func(m *pmtu.PathMTU) { m.Address, m.Mtu = "10.1.1.9", 67 }),
			"mtu: 65535, expected":                   To(func(m *pmtu.PathMTU) { m.Mtu = 65535 }),
			"vrf: 7, expected 0: ":                   To(func(m *pmtu.PathMTU) { m.Vrf = 7 }),
			"address: 0.0.0.0, expected":             To(func(m *pmtu.PathMTU) { m.Address = "0.0.0.0" }),
			`address: empty, expected an IP address`: To(func(m *pmtu.PathMTU) { m.Address = "" }),
			`address: "10.1.1.0/24": expected an `:   To(func(m *pmtu.PathMTU) { m.Address = "10.1.1.0/24" }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			p := m.(*pmtu.PathMTU)
			return &ip.IPPathMtuUpdate{Pmtu: ip.IPPathMtu{Nh: ipconv.Address(netip.MustParseAddr(p.Address))}}, &ip.IPPathMtuUpdateReply{}
		},
		Without: map[string]string{
			"Needs": "the host need not be reachable", "Spellings": "the address is a part of the key", "Recreates": "VPP changes all but the key",
			"Conflicts": "table and address are the key",
		},
	}
}
