package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	dhcpapi "go.fd.io/govpp/binapi/dhcp"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// DHCPServer is a server of a DHCP proxy.
func DHCPServer(addr string, vrf uint32) *l3.DHCPProxy_DHCPServer {
	return &l3.DHCPProxy_DHCPServer{IpAddress: addr, VrfId: vrf}
}

func dhcpProxy() Item {
	servers := func(servers ...*l3.DHCPProxy_DHCPServer) Change {
		return To(func(p *l3.DHCPProxy) { p.Servers = servers })
	}
	return Item{
		Name: "vpp.dhcp-proxy",
		Make: func() proto.Message {
			return &l3.DHCPProxy{SourceIpAddress: "2001:db8::1", RxVrfId: 7, Servers: []*l3.DHCPProxy_DHCPServer{DHCPServer("2001:db8:9::8", 0)}}
		},
		Needs:      func() []proto.Message { return []proto.Message{&l3.VrfTable{Id: 7, Protocol: l3.VrfTable_IPV6}} },
		Capability: "DHCP proxy",
		Spellings:  []Change{servers(DHCPServer("2001:DB8:9:0::8", 0))},
		Updates: []Change{
			servers(DHCPServer("2001:db8:9::8", 0), DHCPServer("2001:db8:9::9", 7)), servers(DHCPServer("2001:db8:9::9", 0)),
		},
		Recreates: []Change{To(func(p *l3.DHCPProxy) { p.SourceIpAddress = "2001:db8::99" })},
		Refusals: map[string]Change{
			"source_ip_address: ":        To(func(p *l3.DHCPProxy) { p.SourceIpAddress = "x" }),
			"source_ip_address: 0.0.0.0": To(func(p *l3.DHCPProxy) { p.SourceIpAddress = "0.0.0.0" }),
			"servers: empty":             servers(),
			"servers[0].ip_address: 10.0.0.1, expected the version of IP":   servers(DHCPServer("10.0.0.1", 0)),
			"servers[1].ip_address: 2001:db8::2 in table 1 is listed twice": servers(DHCPServer("2001:db8::2", 1), DHCPServer("2001:db8::2", 1)),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			p := m.(*l3.DHCPProxy)
			return &dhcpapi.DHCPProxyConfig{
				RxVrfID: p.RxVrfId, DHCPServer: ipconv.Address(netip.MustParseAddr(p.Servers[0].IpAddress)),
				DHCPSrcAddress: ipconv.Address(netip.MustParseAddr(p.SourceIpAddress)),
			}, &dhcpapi.DHCPProxyConfigReply{}
		},
		Without: map[string]string{
			"Conflicts": "table and version of IP are the key",
		},
	}
}
