package descriptor

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"go.fd.io/govpp/binapi/acl_types"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// A rule of VPP is for one version of IP. One without networks is two rules of VPP, an IPv4
// and an IPv6 one.

const (
	protoICMP   = ip_types.IP_API_PROTO_ICMP
	protoICMPv6 = ip_types.IP_API_PROTO_ICMP6
	protoTCP    = ip_types.IP_API_PROTO_TCP
	protoUDP    = ip_types.IP_API_PROTO_UDP
)

var (
	anyIPv4 = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	anyIPv6 = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	anyMAC  = ethernet_types.MacAddress{}
	allMAC  = ethernet_types.MacAddress{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

// translator translates the rules of a value, one after the other, and collects errors.
type translator struct {
	rule int // that is being translated
	errs []error
}

func (t *translator) fail(field, format string, args ...any) {
	t.errs = append(t.errs, item.Invalid(fmt.Sprintf("rules[%d].%s", t.rule, field), format, args...))
}

// listOf translates a value; the error is for Validate.
func listOf(v *acl.ACL) (vppcalls.List, error) {
	l := vppcalls.List{Name: v.GetName(), L2: isL2(v)}
	var t translator
	for n, r := range v.GetRules() {
		t.rule = n
		ip, mac := r.GetIpRule() != nil, r.GetMacipRule() != nil
		switch {
		case !ip && !mac:
			t.fail("ip_rule", "absent, and so is macip_rule, expected one of them")
		case ip && mac:
			t.fail("macip_rule", "set besides ip_rule, expected one of them")
		case l.L2 && ip:
			t.fail("ip_rule", "set, but rules[0] has macip_rule, expected rules of one kind in a list")
		case !l.L2 && mac:
			t.fail("macip_rule", "set, but rules[0] has ip_rule, expected rules of one kind in a list")
		case l.L2:
			l.MAC = t.mac(l.MAC, r)
		default:
			l.IP = t.ip(l.IP, r)
		}
	}
	return l, errors.Join(t.errs...)
}

// isL2 reports whether a list has MAC/IP rules.
func isL2(v *acl.ACL) bool {
	return len(v.GetRules()) > 0 && v.GetRules()[0].GetMacipRule() != nil
}

func (t *translator) action(a, last acl.ACL_Rule_Action) acl_types.ACLAction {
	if a < 0 || a > last {
		t.fail("action", "%v, expected 0 (DENY) to %d (%v) for this kind of rule", a, last, last)
	}
	return acl_types.ACLAction(a)
}

// ip appends the rules of VPP.
func (t *translator) ip(out []acl_types.ACLRule, v *acl.ACL_Rule) []acl_types.ACLRule {
	r := t.layer4(v.GetIpRule())
	r.IsPermit = t.action(v.GetAction(), acl.ACL_Rule_REFLECT)
	for _, n := range t.networks(v.GetIpRule()) {
		r.SrcPrefix, r.DstPrefix = ipconv.Prefix(n.src), ipconv.Prefix(n.dst)
		out = append(out, r)
	}
	return out
}

type networks struct{ src, dst netip.Prefix }

// doubled returns the rules that are two in VPP.
func doubled(v *acl.ACL) (rules []int) {
	for n, r := range v.GetRules() {
		ip := r.GetIpRule().GetIp()
		if r.GetIpRule() != nil && r.GetIpRule().GetIcmp() == nil && ip.GetSourceNetwork() == "" && ip.GetDestinationNetwork() == "" {
			rules = append(rules, n)
		}
	}
	return rules
}

// networks returns the networks of VPP's rules.
func (t *translator) networks(r *acl.ACL_Rule_IpRule) []networks {
	n := networks{
		t.network("ip_rule.ip.source_network", r.GetIp().GetSourceNetwork()),
		t.network("ip_rule.ip.destination_network", r.GetIp().GetDestinationNetwork()),
	}
	switch {
	case n.src.IsValid() && n.dst.IsValid():
		if n.src.Addr().Is4() != n.dst.Addr().Is4() {
			t.fail("ip_rule.ip.source_network", "%s, expected the version of IP of destination_network %s", n.src, n.dst)
		}
	case n.src.IsValid():
		n.dst = anyLike(n.src.Addr().Is6())
	case n.dst.IsValid():
		n.src = anyLike(n.dst.Addr().Is6())
	case r.GetIcmp() != nil:
		n.src = anyLike(r.GetIcmp().GetIcmpv6())
		n.dst = n.src
	default:
		return []networks{{anyIPv4, anyIPv4}, {anyIPv6, anyIPv6}}
	}
	if r.GetIcmp() != nil && r.GetIcmp().GetIcmpv6() != n.src.Addr().Is6() {
		t.fail("ip_rule.icmp.icmpv6", "%t, but the networks are %s and %s", r.GetIcmp().GetIcmpv6(), n.src, n.dst)
	}
	return []networks{n}
}

func anyLike(ipv6 bool) netip.Prefix {
	if ipv6 {
		return anyIPv6
	}
	return anyIPv4
}

// network returns a network without host bits, which VPP refuses; invalid if the text is empty.
func (t *translator) network(field, text string) netip.Prefix {
	if text == "" {
		return netip.Prefix{}
	}
	p, err := ipconv.ParsePrefix(text)
	if err != nil {
		t.fail(field, "%w", err)
		return netip.Prefix{}
	}
	return p.Masked()
}

// layer4 returns a rule with what it says about the protocol above IP.
func (t *translator) layer4(v *acl.ACL_Rule_IpRule) acl_types.ACLRule {
	icmp, tcp, udp := v.GetIcmp(), v.GetTcp(), v.GetUdp()
	switch {
	case icmp != nil && tcp != nil:
		t.fail("ip_rule.tcp", "set besides icmp, expected at most one of icmp, tcp and udp: ICMP has no ports")
	case icmp != nil && udp != nil:
		t.fail("ip_rule.udp", "set besides icmp, expected at most one of icmp, tcp and udp: ICMP has no ports")
	case tcp != nil && udp != nil:
		t.fail("ip_rule.udp", "set besides tcp, expected at most one of icmp, tcp and udp")
	}
	switch {
	case icmp != nil:
		return t.icmp(icmp)
	case tcp != nil:
		r := acl_types.ACLRule{Proto: protoTCP}
		r.SrcportOrIcmptypeFirst, r.SrcportOrIcmptypeLast = t.ports("ip_rule.tcp.source_port_range", tcp.GetSourcePortRange())
		r.DstportOrIcmpcodeFirst, r.DstportOrIcmpcodeLast = t.ports("ip_rule.tcp.destination_port_range", tcp.GetDestinationPortRange())
		r.TCPFlagsMask = uint8(tcp.GetTcpFlagsMask())
		r.TCPFlagsValue = uint8(tcp.GetTcpFlagsValue())
		return r
	case udp != nil:
		r := acl_types.ACLRule{Proto: protoUDP}
		r.SrcportOrIcmptypeFirst, r.SrcportOrIcmptypeLast = t.ports("ip_rule.udp.source_port_range", udp.GetSourcePortRange())
		r.DstportOrIcmpcodeFirst, r.DstportOrIcmpcodeLast = t.ports("ip_rule.udp.destination_port_range", udp.GetDestinationPortRange())
		return r
	}
	proto := ip_types.IPProto(v.GetIp().GetProtocol())
	last := lastOf(proto)
	return acl_types.ACLRule{Proto: proto, SrcportOrIcmptypeLast: last, DstportOrIcmpcodeLast: last}
}

// lastOf is the last port, or the last type and code of ICMP.
func lastOf(proto ip_types.IPProto) uint16 {
	if proto == protoICMP || proto == protoICMPv6 {
		return math.MaxUint8
	}
	return math.MaxUint16
}

func (t *translator) icmp(v *acl.ACL_Rule_IpRule_Icmp) acl_types.ACLRule {
	r := acl_types.ACLRule{Proto: protoICMP}
	if v.GetIcmpv6() {
		r.Proto = protoICMPv6
	}
	span := func(field string, v *acl.ACL_Rule_IpRule_Icmp_Range) (first, last uint16) {
		if v == nil {
			return 0, math.MaxUint8
		}
		return t.span(field, "first", v.GetFirst(), "last", v.GetLast())
	}
	r.SrcportOrIcmptypeFirst, r.SrcportOrIcmptypeLast = span("ip_rule.icmp.icmp_type_range", v.GetIcmpTypeRange())
	r.DstportOrIcmpcodeFirst, r.DstportOrIcmpcodeLast = span("ip_rule.icmp.icmp_code_range", v.GetIcmpCodeRange())
	return r
}

func (t *translator) ports(field string, v *acl.ACL_Rule_IpRule_PortRange) (first, last uint16) {
	if v == nil {
		return 0, math.MaxUint16
	}
	return t.span(field, "lower_port", v.GetLowerPort(), "upper_port", v.GetUpperPort())
}

func (t *translator) span(field, low string, first uint32, high string, last uint32) (uint16, uint16) {
	if first > last {
		t.fail(field+"."+low, "%d, expected at most %s %d", first, high, last)
	}
	return uint16(first), uint16(last)
}

// mac appends the rules of VPP.
func (t *translator) mac(out []acl_types.MacipACLRule, v *acl.ACL_Rule) []acl_types.MacipACLRule {
	m := v.GetMacipRule()
	r := acl_types.MacipACLRule{IsPermit: t.action(v.GetAction(), acl.ACL_Rule_PERMIT)}
	r.SrcMac, r.SrcMacMask = t.macs(m)
	for _, n := range t.sources(m) {
		r.SrcPrefix = ipconv.Prefix(n)
		out = append(out, r)
	}
	return out
}

// macs returns the address, without the bits that do not matter, and its mask.
func (t *translator) macs(m *acl.ACL_Rule_MacIpRule) (addr, mask ethernet_types.MacAddress) {
	parse := func(field, text string, empty ethernet_types.MacAddress) ethernet_types.MacAddress {
		if text == "" {
			return empty
		}
		mac, err := ipconv.ParseMAC(text)
		if err != nil {
			t.fail(field, "%w", err)
		}
		return mac
	}
	addr, mask = parse("macip_rule.source_mac_address", m.GetSourceMacAddress(), anyMAC), allMAC
	if m.GetSourceMacAddress() == "" {
		mask = anyMAC
	}
	mask = parse("macip_rule.source_mac_address_mask", m.GetSourceMacAddressMask(), mask)
	if m.GetSourceMacAddress() == "" && mask != anyMAC {
		t.fail("macip_rule.source_mac_address", "empty, expected a MAC address for the mask %s", mask)
	}
	for i := range addr {
		addr[i] &= mask[i]
	}
	return addr, mask
}

// sources returns the networks of the rules of VPP.
func (t *translator) sources(m *acl.ACL_Rule_MacIpRule) []netip.Prefix {
	const field = "macip_rule.source_address_prefix"
	if m.GetSourceAddress() == "" {
		if m.GetSourceAddressPrefix() != 0 {
			t.fail(field, "%d, expected 0 without a source_address", m.GetSourceAddressPrefix())
		}
		return []netip.Prefix{anyIPv4, anyIPv6}
	}
	addr, err := ipconv.ParseAddr(m.GetSourceAddress())
	if err != nil {
		t.fail("macip_rule.source_address", "%w", err)
		return nil
	}
	bits := int(m.GetSourceAddressPrefix())
	if bits > addr.BitLen() {
		t.fail(field, "%d, expected 0 to %d", bits, addr.BitLen())
		return nil
	}
	return []netip.Prefix{netip.PrefixFrom(addr, bits).Masked()}
}

// rulesOf translates the rules of a list that VPP has.
func rulesOf(l vppcalls.List) []*acl.ACL_Rule {
	out := make([]*acl.ACL_Rule, 0, len(l.IP)+len(l.MAC))
	for i := range l.IP {
		out = append(out, &acl.ACL_Rule{Action: acl.ACL_Rule_Action(l.IP[i].IsPermit), IpRule: ipRuleOf(&l.IP[i])})
	}
	for i := range l.MAC {
		r := &l.MAC[i]
		source := ipconv.FromPrefix(r.SrcPrefix)
		out = append(out, &acl.ACL_Rule{Action: acl.ACL_Rule_Action(r.IsPermit), MacipRule: &acl.ACL_Rule_MacIpRule{
			SourceAddress: source.Addr().String(), SourceAddressPrefix: uint32(r.SrcPrefix.Len),
			SourceMacAddress: r.SrcMac.String(), SourceMacAddressMask: r.SrcMacMask.String(),
		}})
	}
	return out
}

func ipRuleOf(r *acl_types.ACLRule) *acl.ACL_Rule_IpRule {
	out := &acl.ACL_Rule_IpRule{Ip: &acl.ACL_Rule_IpRule_Ip{
		SourceNetwork: ipconv.FromPrefix(r.SrcPrefix).String(), DestinationNetwork: ipconv.FromPrefix(r.DstPrefix).String(),
	}}
	switch r.Proto {
	case protoTCP:
		out.Tcp = &acl.ACL_Rule_IpRule_Tcp{
			SourcePortRange:      portsOf(r.SrcportOrIcmptypeFirst, r.SrcportOrIcmptypeLast),
			DestinationPortRange: portsOf(r.DstportOrIcmpcodeFirst, r.DstportOrIcmpcodeLast),
			TcpFlagsMask:         uint32(r.TCPFlagsMask), TcpFlagsValue: uint32(r.TCPFlagsValue),
		}
	case protoUDP:
		out.Udp = &acl.ACL_Rule_IpRule_Udp{
			SourcePortRange:      portsOf(r.SrcportOrIcmptypeFirst, r.SrcportOrIcmptypeLast),
			DestinationPortRange: portsOf(r.DstportOrIcmpcodeFirst, r.DstportOrIcmpcodeLast),
		}
	case protoICMP, protoICMPv6:
		out.Icmp = &acl.ACL_Rule_IpRule_Icmp{
			Icmpv6:        r.Proto == protoICMPv6,
			IcmpTypeRange: typesOf(r.SrcportOrIcmptypeFirst, r.SrcportOrIcmptypeLast),
			IcmpCodeRange: typesOf(r.DstportOrIcmpcodeFirst, r.DstportOrIcmpcodeLast),
		}
	default:
		out.Ip.Protocol = uint32(r.Proto)
	}
	return out
}

func portsOf(first, last uint16) *acl.ACL_Rule_IpRule_PortRange {
	if first == 0 && last == math.MaxUint16 {
		return nil
	}
	return &acl.ACL_Rule_IpRule_PortRange{LowerPort: uint32(first), UpperPort: uint32(last)}
}

func typesOf(first, last uint16) *acl.ACL_Rule_IpRule_Icmp_Range {
	if first == 0 && last >= math.MaxUint8 {
		return nil
	}
	return &acl.ACL_Rule_IpRule_Icmp_Range{First: uint32(first), Last: uint32(last)}
}
