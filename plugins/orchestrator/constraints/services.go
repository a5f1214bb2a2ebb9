package constraints

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

func serviceConstraints() []Constraint {
	return []Constraint{
		{"mac-list-twice", true, "An interface has one access control list of MAC/IP rules at most.", macListTwice},
		{"nat44-mapping-twice", true, "Mappings of NAT44 differ in their outside address or interface, port or protocol.", mappingTwice},
		{"nat44-address-twice", true, "Pools of NAT44 have different addresses, except that a pool for twice-NAT may have the addresses of another pool.", addressTwice},
		{"spd-interface-twice", true, "An interface uses one SPD at most.", databaseTwice},
		{"steering-twice", true, "SRv6 steering of different items chooses different packets.", steeringTwice},
		{"wireguard-peer-twice", true, "WireGuard peers have different public keys.", peerTwice},
	}
}

// part is a part of an item that VPP has once: what it is, and the field.
type part struct {
	key, field string
	what       string // "" if it is not known
}

// service is an item that is no interface and no item of layer 2.
type service struct {
	key string
	v   proto.Message
}

// once reports the parts that an earlier item has, too. Parts of one item are checked by its descriptor.
func once(parts []part, report reporter) {
	unique(parts, func(p part) string { return p.what }, func(a, b part) {
		if a.key != b.key {
			report(b.key, b.field, a.key, "%s is in %s already", b.what, a.key)
		}
	})
}

func macListTwice(f *facts, report reporter) {
	var parts []part
	for _, s := range f.services {
		v, _ := s.v.(*acl.ACL)
		if len(v.GetRules()) == 0 || v.GetRules()[0].GetMacipRule() == nil {
			continue
		}
		for n, name := range v.GetInterfaces().GetIngress() {
			parts = append(parts, part{s.key, fmt.Sprintf("interfaces.ingress[%d]", n), "interface " + name})
		}
	}
	once(parts, report)
}

func mappingTwice(f *facts, report reporter) {
	var parts []part
	for _, s := range f.services {
		v, _ := s.v.(*nat.DNat44)
		for n, m := range v.GetStMappings() {
			if len(m.GetLocalIps()) == 0 {
				continue
			}
			inside := ""
			if l := m.GetLocalIps()[0]; m.GetExternalInterface() != "" {
				inside = fmt.Sprintf(" to %s port %d", l.GetLocalIp(), l.GetLocalPort())
			}
			parts = append(parts, part{s.key, fmt.Sprintf("st_mappings[%d]", n), outside(m.GetExternalInterface(), m.GetExternalIp(), m.GetExternalPort(), m.GetProtocol()) + inside})
		}
		for n, m := range v.GetIdMappings() {
			what := outside(m.GetInterface(), m.GetIpAddress(), m.GetPort(), m.GetProtocol())
			if m.GetVrfId() != 0 {
				what += fmt.Sprintf(" in VRF table %d", m.GetVrfId())
			}
			parts = append(parts, part{s.key, fmt.Sprintf("id_mappings[%d]", n), what})
		}
	}
	once(parts, report)
}

// outside describes the outside endpoint of a mapping.
func outside(iface, ip string, port uint32, protocol nat.DNat44_Protocol) string {
	text := "the mapping of " + ip
	if iface != "" {
		text = "the mapping of interface " + iface
	} else if addr, err := netip.ParseAddr(ip); err == nil {
		text = "the mapping of " + addr.String()
	}
	if port != 0 {
		text += fmt.Sprintf(" port %d protocol %s", port, protocol)
	}
	return text
}

// addresses are the addresses of a pool.
type addresses struct {
	key         string
	twice       bool
	first, last netip.Addr
}

func addressTwice(f *facts, report reporter) {
	var all []addresses
	for _, s := range f.services {
		v, ok := s.v.(*nat.Nat44AddressPool)
		if !ok {
			continue
		}
		first, errFirst := netip.ParseAddr(v.GetFirstIp())
		last, errLast := netip.ParseAddr(cmp.Or(v.GetLastIp(), v.GetFirstIp()))
		if errFirst == nil && errLast == nil {
			all = append(all, addresses{s.key, v.GetTwiceNat(), first, last})
		}
	}
	slices.SortStableFunc(all, func(a, b addresses) int { return a.first.Compare(b.first) })
	for _, twice := range []bool{false, true} {
		var before *addresses // with the highest last address
		for i := range all {
			p := &all[i]
			if p.twice != twice {
				continue
			}
			if before != nil && !before.last.Less(p.first) {
				later, earlier := p, before
				if f.place[later.key] < f.place[earlier.key] {
					later, earlier = earlier, later
				}
				report(later.key, "first_ip", earlier.key, "%s is in %s already", p.first, earlier.key)
			}
			if before == nil || before.last.Less(p.last) {
				before = p
			}
		}
	}
}

func databaseTwice(f *facts, report reporter) {
	var parts []part
	for _, s := range f.services {
		v, _ := s.v.(*ipsec.SecurityPolicyDatabase)
		for n, i := range v.GetInterfaces() {
			parts = append(parts, part{s.key, fmt.Sprintf("interfaces[%d].name", n), "interface " + i.GetName()})
		}
	}
	once(parts, report)
}

func steeringTwice(f *facts, report reporter) {
	var parts []part
	for _, s := range f.services {
		v, ok := s.v.(*srv6.Steering)
		if !ok {
			continue
		}
		if t := v.GetL2Traffic(); t != nil {
			parts = append(parts, part{s.key, "l2_traffic.interface_name", "interface " + t.GetInterfaceName()})
		} else if p, err := netip.ParsePrefix(v.GetL3Traffic().GetPrefixAddress()); err == nil {
			parts = append(parts, part{s.key, "l3_traffic.prefix_address", fmt.Sprintf("%s in VRF table %d", p.Masked(), v.GetL3Traffic().GetInstallationVrfId())})
		}
	}
	once(parts, report)
}

func peerTwice(f *facts, report reporter) {
	var parts []part
	for _, s := range f.services {
		if v, ok := s.v.(*wireguard.Peer); ok {
			parts = append(parts, part{s.key, "public_key", "public key " + strings.TrimSpace(v.GetPublicKey())})
		}
	}
	once(parts, report)
}
