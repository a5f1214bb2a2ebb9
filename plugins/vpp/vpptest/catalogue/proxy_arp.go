package catalogue

import (
	"go.fd.io/govpp/api"
	arpapi "go.fd.io/govpp/binapi/arp"
	"go.fd.io/govpp/binapi/ip_types"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// ARPRange is a range of proxy ARP.
func ARPRange(first, last string, vrf uint32) *l3.ProxyARP_Range {
	return &l3.ProxyARP_Range{FirstIpAddr: first, LastIpAddr: last, VrfId: vrf}
}

func proxyARP() Item {
	ranges := func(ranges ...*l3.ProxyARP_Range) Change {
		return To(func(p *l3.ProxyARP) { p.Ranges = ranges })
	}
	ifs := func(names ...string) Change {
		return To(func(p *l3.ProxyARP) {
			for _, name := range names {
				p.Interfaces = append(p.Interfaces, &l3.ProxyARP_Interface{Name: name})
			}
		})
	}
	return Item{
		Name: "vpp.proxyarp-global",
		Make: func() proto.Message {
			return &l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{ARPRange("10.1.1.50", "10.1.1.60", 7)}}
		},
		Needs:      func() []proto.Message { return []proto.Message{&l3.VrfTable{Id: 7}} },
		Capability: "proxy ARP",
		Spellings:  []Change{ranges(ARPRange("10.1.1.50", "::ffff:10.1.1.60", 7))},
		Updates: []Change{
			ranges(ARPRange("10.1.1.50", "10.1.1.60", 7), ARPRange("10.1.1.10", "10.1.1.20", 0)), ranges(ARPRange("10.1.1.30", "10.1.1.30", 0)),
		},
		Refusals: map[string]Change{
			`ranges[0].first_ip_addr: "10.0.0.1/24", expected an IPv4 address`: ranges(ARPRange("10.0.0.1/24", "10.0.0.2", 0)),
			`ranges[0].last_ip_addr: empty`:                                    ranges(ARPRange("10.0.0.1", "", 0)),
			"ranges[0].first_ip_addr: ":                                        ranges(ARPRange("2001:db8::1", "2001:db8::2", 0)),
			"ranges[0].last_ip_addr: 10.0.0.1 is before":                       ranges(ARPRange("10.0.0.2", "10.0.0.1", 0)),
			"ranges[1]: ": ranges(ARPRange("10.0.0.1", "10.0.0.2", 0), ARPRange("10.0.0.1", "10.0.0.2", 0)),
			`interfaces[1].name: "a" is listed twice`: ifs("a", "a"),
			"interfaces[0].name: empty":               ifs(""),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &arpapi.ProxyArpAddDel{Proxy: arpapi.ProxyArp{
				TableID: 7, Low: ip_types.IP4Address{10, 1, 1, 50}, Hi: ip_types.IP4Address{10, 1, 1, 60},
			}}, &arpapi.ProxyArpAddDelReply{}
		},
		Without: map[string]string{
			"Recreates": "there is one in a VPP, whose ranges change", "Conflicts": "there is one in a VPP",
		},
	}
}
