package catalogue

import (
	"google.golang.org/protobuf/proto"

	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
)

func dnsCache() Item {
	return Item{
		Name:       "vpp.dns.dnscache",
		Make:       func() proto.Message { return &dns.DNSCache{UpstreamDnsServers: []string{"8.8.8.8", "2001:db8::53"}} },
		Capability: "DNS cache",
		Spellings: []Change{To(func(c *dns.DNSCache) {
			c.UpstreamDnsServers = []string{"2001:DB8::53", "8.8.8.8", "8.8.8.8"}
		})},
		Updates: []Change{
			To(func(c *dns.DNSCache) { c.UpstreamDnsServers = []string{"9.9.9.9"} }),
			To(func(c *dns.DNSCache) { c.UpstreamDnsServers = append(c.UpstreamDnsServers, "9.9.9.9") }),
		},
		Refusals: map[string]Change{
			"upstream_dns_servers: empty, expected at least one": To(func(c *dns.DNSCache) { c.UpstreamDnsServers = nil }),
			"upstream_dns_servers[1]: 0.0.0.0, expected":         To(func(c *dns.DNSCache) { c.UpstreamDnsServers[1] = "0.0.0.0" }),
			`upstream_dns_servers[0]: "dns.example"`:             To(func(c *dns.DNSCache) { c.UpstreamDnsServers[0] = "dns.example" }),
		},
		Without: map[string]string{
			"Needs": "the servers need not answer", "Recreates": "VPP changes its servers", "Conflicts": "there is one in a VPP",
			"Retrieve": "VPP does not report its servers", "ByHand": "VPP does not report its servers", "Restart": "VPP does not report its servers",
		},
	}
}
