package allmodels_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	mpls "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// violations returns a line for each violation.
func violations(m proto.Message) string {
	var lines []string
	r := m.ProtoReflect()
	for _, v := range models.AnnotationsOf(r.Descriptor()).Violations(r) {
		lines = append(lines, v.Field+": "+v.Err.Error())
	}
	return strings.Join(lines, "\n")
}

func TestViolations(t *testing.T) {
	t.Parallel()
	tcp := func(r *acl.ACL_Rule_IpRule_PortRange) *acl.ACL {
		return &acl.ACL{Name: "a", Rules: []*acl.ACL_Rule{{}, {IpRule: &acl.ACL_Rule_IpRule{Tcp: &acl.ACL_Rule_IpRule_Tcp{SourcePortRange: r}}}}}
	}
	teib := func(peer, next string) *l3.TeibEntry {
		return &l3.TeibEntry{Interface: "x", PeerAddr: peer, NextHopAddr: next}
	}
	peer := func(allowed ...string) *wireguard.Peer {
		return &wireguard.Peer{PublicKey: "k", Endpoint: "10.0.0.1", WgIfName: "wg", AllowedIps: allowed}
	}
	vxlan := func(l *interfaces.VxlanLink) *interfaces.Interface {
		return &interfaces.Interface{Name: "x", Type: interfaces.Interface_VXLAN_TUNNEL, Link: &interfaces.Interface_Vxlan{Vxlan: l}}
	}
	for _, c := range []struct {
		m    proto.Message
		want string
	}{
		{teib("10.0.0.1", "2001:db8::1"), ""},
		{teib("", "::ffff:10.0.0.1"), "peer_addr: empty, expected an IP address"},
		{teib("x", "fe80::1%eth0"), "peer_addr: \"x\": expected an IP address\nnext_hop_addr: \"fe80::1%eth0\": expected an IP address"},
		{teib("10.0.0.1/24", "10.0.0.1"), `peer_addr: "10.0.0.1/24": expected an IP address`},
		{(*l3.TeibEntry)(nil), "interface: empty, expected the name of an interface\npeer_addr: empty, expected an IP address\nnext_hop_addr: empty, expected an IP address"},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{{FirstIpAddr: "10.0.0.1"}, {FirstIpAddr: "x", LastIpAddr: "y"}}},
			"ranges[0].last_ip_addr: empty, expected an IPv4 address without prefix length\nranges[1].first_ip_addr: \"x\", expected an IPv4 address\nranges[1].last_ip_addr: \"y\", expected an IPv4 address"},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{{FirstIpAddr: "2001:db8::1", LastIpAddr: "::ffff:10.0.0.1"}}}, `ranges[0].first_ip_addr: "2001:db8::1", expected an IPv4 address`},
		{peer("10.0.0.0/8", "10.0.0.1", ""), "allowed_ips[1]: \"10.0.0.1\": expected an IP address with prefix length\nallowed_ips[2]: \"\": expected an IP address with prefix length"},
		{peer(), "allowed_ips: empty, expected at least one network"},
		{tcp(&acl.ACL_Rule_IpRule_PortRange{LowerPort: 65535}), ""},
		{tcp(&acl.ACL_Rule_IpRule_PortRange{UpperPort: 65536}), "rules[1].ip_rule.tcp.source_port_range.upper_port: 65536, expected 0 to 65535"},
		{&l3.VRRPEntry{Interface: "x", IpAddresses: []string{"10.0.0.1"}, VrId: 1, Priority: 256}, "priority: 256, expected 1 to 255\ninterval: 0, expected 10 to 65535"},
		{&mpls.Route{Label: 16, Paths: []*mpls.Route_Path{nil, {NextHopAddr: "10.0.0.1"}}}, ""},
		{vxlan(&interfaces.VxlanLink{SrcAddress: "x", DstAddress: "10.0.0.1"}), `vxlan.src_address: "x": expected an IP address`},
		{vxlan(&interfaces.VxlanLink{Gpe: &interfaces.VxlanLink_Gpe{}}), "vxlan.src_address: empty, expected an IP address\nvxlan.dst_address: empty, expected an IP address\nvxlan.gpe.protocol: UNKNOWN, expected IP4, IP6, ETHERNET or NSH"},
		{vxlan(nil), "vxlan.src_address: empty, expected an IP address\nvxlan.dst_address: empty, expected an IP address"},
		{&interfaces.Interface{Link: &interfaces.Interface_Bond{Bond: &interfaces.BondLink{Mode: interfaces.BondLink_XOR, BondedInterfaces: []*interfaces.BondLink_BondedInterface{{}}}}},
			"name: empty, expected 1 to 63 bytes\ntype: UNDEFINED_TYPE, expected the type of the interface\nbond.bonded_interfaces[0].name: empty, expected the name of an interface"},
		{&ipfix.IPFIX{SourceAddress: "10.0.0.1"}, "collector: missing, expected the collector"},
		{&ipsec.SecurityAssociation{}, "spi: 0, expected the SPI of the packets, at least 1"},
	} {
		if got := violations(c.m); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.m, got, c.want)
		}
	}
}

func benchmarkRoute() *l3.Route {
	return &l3.Route{VrfId: 1, DstNetwork: "10.0.0.0/24", NextHopAddr: "10.0.1.1", OutgoingInterface: "loop1", Weight: 1}
}

// The check of a valid value needs no memory, except for a list of addresses.
func TestAllocationsOfChecks(t *testing.T) {
	if n := allocations(benchmarkRoute()); n > 0 {
		t.Errorf("%v allocations for a route, expected none", n)
	}
	a := &acl.ACL{Name: "a"}
	for i := range 100 {
		a.Rules = append(a.Rules, &acl.ACL_Rule{IpRule: &acl.ACL_Rule_IpRule{Ip: &acl.ACL_Rule_IpRule_Ip{
			SourceNetwork: fmt.Sprintf("10.0.%d.0/24", i), Protocol: 6,
		}}})
	}
	if n := allocations(a); n > 1 {
		t.Errorf("%v allocations for 100 rules, expected one for the list", n)
	}
}

func allocations(m proto.Message) float64 {
	r := m.ProtoReflect()
	annotations := models.AnnotationsOf(r.Descriptor())
	return testing.AllocsPerRun(100, func() { annotations.Violations(r) })
}

func BenchmarkViolations(b *testing.B) {
	m := benchmarkRoute().ProtoReflect()
	a := models.AnnotationsOf(m.Descriptor())
	b.ReportAllocs()
	for b.Loop() {
		if len(a.Violations(m)) > 0 {
			b.Fatal("the route is invalid")
		}
	}
}
