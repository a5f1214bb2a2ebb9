package constraints_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/constraints"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// check returns the findings in a document, as "constraint key-without-model field".
func check(t *testing.T, text string) (found []string) {
	t.Helper()
	doc := document.New(allmodels.MustSet()).Decode("test.yaml", []byte(text), "")
	for _, err := range doc.Errs {
		t.Fatalf("%v in\n%s", err, text)
	}
	var items []constraints.Item
	for _, it := range doc.Items {
		items = append(items, constraints.Item{Key: it.Key, Value: it.Value})
	}
	for _, f := range constraints.Check(items) {
		name := f.Key[strings.LastIndexByte(f.Key, '/')+1:]
		found = append(found, f.Constraint+" "+name+" "+f.Field)
		if f.Text == "" || f.Key == f.Other {
			t.Errorf("incomplete finding %+v", f)
		}
	}
	return found
}

func vpp(lines ...string) string {
	return "vppConfig:\n  interfaces:\n  - " + strings.Join(lines, "\n  - ") + "\n"
}

func linux(lines ...string) string {
	return "linuxConfig:\n  interfaces:\n  - " + strings.Join(lines, "\n  - ") + "\n"
}

const (
	loop1 = "{name: loop1, type: SOFTWARE_LOOPBACK, enabled: true}"
	loop2 = "{name: loop2, type: SOFTWARE_LOOPBACK, enabled: true}"
	bond0 = "{name: bond0, type: BOND_INTERFACE, enabled: true, bond: {id: 1, mode: LACP, bondedInterfaces: [{name: p1}]}}"
	p1    = "{name: p1, type: DPDK, enabled: true}"
	p2    = "{name: p2, type: DPDK, enabled: true}"
	p1sub = "{name: p1.10, type: SUB_INTERFACE, enabled: true, sub: {parentName: p1, subId: 10}}"
	cross = "  xconnectPairs:\n  - {receiveInterface: p1, transmitInterface: p2}\n"
)

func ip(name, more string, addresses ...string) string {
	return fmt.Sprintf("{name: %s, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: ['%s']%s}", name, strings.Join(addresses, "', '"), more)
}

func bridge(name string, members ...string) string {
	return "  - {name: " + name + ", learn: true, forward: true, flood: true, interfaces: [{name: " + strings.Join(members, "}, {name: ") + "}]}\n"
}

// cases have documents, each with all that is wrong in it.
var cases = []struct {
	text string
	want []string
}{
	{vpp(loop1, loop2, p1, p2), nil},
	{vpp(ip("a", "", "10.0.0.1/24"), ip("b", "", "10.0.0.2/24")), []string{"address-overlap b ip_addresses[0]"}},
	{vpp(ip("a", "", "10.0.0.1/32"), ip("b", "", "10.1.0.1/16", "10.0.0.2/8")), []string{"address-overlap b ip_addresses[1]", "address-overlap b ip_addresses[1]"}},
	{vpp(ip("b", "", "10.0.0.2/8"), ip("a", "", "10.0.0.1/32")), []string{"address-overlap a ip_addresses[0]"}},
	{vpp(ip("a", "", "10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/25")), []string{"address-overlap a ip_addresses[2]"}},
	{vpp(ip("a", "", "10.0.0.1/24", "10.0.0.2/24"), ip("b", "", "10.0.1.1/24"), ip("c", "", "10.0.0.3/24")), []string{"address-overlap c ip_addresses[0]"}},
	{vpp(ip("a", "", "10.0.0.1/32"), ip("b", "", "10.0.0.1/32")), []string{"address-overlap b ip_addresses[0]"}},
	{vpp(ip("a", "", "2001:db8::1/64", "fe80::1/128"), ip("b", "", "2001:db8::2/128", "fe80::1/128")), []string{"address-overlap b ip_addresses[0]"}},
	{vpp(ip("a", ", vrf: 1", "10.0.0.1/24"), ip("b", "", "10.0.0.1/24")) + "  vrfs: [{id: 1}]\n", nil},
	{vpp(ip("a", ", vrf: 1", "10.0.0.1/24")), []string{"vrf-table a vrf"}},
	{vpp(ip("a", "", "10.0.0.0/24", "10.0.0.255/24", "10.0.0.254/24")), []string{"network-address a ip_addresses[0]", "network-address a ip_addresses[1]"}},
	{vpp(ip("a", "", "10.0.0.0/31", "10.1.0.0/32", "2001:db8::/64", "255.255.255.254/8")), nil},
	{vpp("{name: a, type: SOFTWARE_LOOPBACK, ipAddresses: [10.0.0.1/24]}"), []string{"disabled-with-addresses a ip_addresses[0]"}},
	{vpp("{name: a, type: SOFTWARE_LOOPBACK, setDhcpClient: true}"), []string{"disabled-with-addresses a set_dhcp_client"}},

	{vpp(ip("a", "", "10.0.0.1/24"), "{name: b, type: SOFTWARE_LOOPBACK, enabled: true, unnumbered: {interfaceWithIp: a}}"), nil},
	{
		vpp("{name: a, type: SOFTWARE_LOOPBACK, enabled: true, unnumbered: {interfaceWithIp: b}}", "{name: b, type: SOFTWARE_LOOPBACK, enabled: true, unnumbered: {interfaceWithIp: a}}"),
		[]string{"unnumbered-chain a unnumbered.interface_with_ip", "unnumbered-chain b unnumbered.interface_with_ip"},
	},
	{
		vpp(ip("a", "", "10.0.0.1/24"), "{name: b, type: SOFTWARE_LOOPBACK, enabled: true, vrf: 2, unnumbered: {interfaceWithIp: a}}") + "  vrfs: [{id: 2}]\n",
		[]string{"unnumbered-vrf b vrf"},
	},
	{vpp(ip("a", ", vrf: 2", "10.0.0.1/24"), "{name: b, type: SOFTWARE_LOOPBACK, enabled: true, unnumbered: {interfaceWithIp: a}}") + "  vrfs: [{id: 2}]\n", nil},
	{
		vpp(ip("a", "", "10.0.0.1/24"), "{name: b, type: SOFTWARE_LOOPBACK, enabled: true, unnumbered: {interfaceWithIp: a}}") + "  bridgeDomains:\n" + bridge("bd1", "a"),
		[]string{"layer2-with-addresses a ip_addresses[0]", "unnumbered-layer2 b unnumbered.interface_with_ip"},
	},

	{vpp(p1, p2) + "  bridgeDomains:\n" + bridge("bd1", "p1", "p2") + bridge("bd2", "p1"), []string{"bridge-domain-twice bd2 interfaces[0].name"}},
	{vpp(p1, p2) + "  bridgeDomains:\n" + bridge("bd1", "p1") + cross, []string{"bridge-domain-and-cross-connect p1 receive_interface"}},
	{vpp(p1, p2) + "  bridgeDomains:\n" + bridge("bd1", "p2") + cross, []string{"cross-connect-to-bridge-domain p1 transmit_interface"}},
	{vpp(p1, p2) + cross + "  - {receiveInterface: p2, transmitInterface: p1}\n", nil},
	{
		vpp("{name: l1, type: SOFTWARE_LOOPBACK, enabled: true}", "{name: l2, type: SOFTWARE_LOOPBACK, enabled: true}", p1) +
			"  xconnectPairs:\n  - {receiveInterface: l1, transmitInterface: l2}\n  - {receiveInterface: l2, transmitInterface: l1}\n",
		[]string{"cross-connect-circle l2 transmit_interface"},
	},
	{
		vpp(loop1, "{name: loop2, type: SOFTWARE_LOOPBACK, enabled: true}", "{name: loop3, type: SOFTWARE_LOOPBACK, enabled: true}") +
			"  xconnectPairs:\n  - {receiveInterface: loop2, transmitInterface: loop3}\n  - {receiveInterface: loop1, transmitInterface: loop2}\n  - {receiveInterface: loop3, transmitInterface: loop1}\n",
		[]string{"cross-connect-circle loop3 transmit_interface"},
	},
	{
		vpp(loop1, "{name: loop2, type: SOFTWARE_LOOPBACK, enabled: true}", p1) +
			"  xconnectPairs:\n  - {receiveInterface: loop1, transmitInterface: loop2}\n  - {receiveInterface: loop2, transmitInterface: p1}\n  - {receiveInterface: p1, transmitInterface: loop1}\n",
		nil,
	},
	{
		vpp(loop1, "{name: s1, type: SUB_INTERFACE, enabled: true, sub: {parentName: loop1, subId: 10}}", "{name: loop2, type: SOFTWARE_LOOPBACK, enabled: true}", "{name: s2, type: SUB_INTERFACE, enabled: true, sub: {parentName: loop2, subId: 10}}") +
			"  xconnectPairs:\n  - {receiveInterface: s1, transmitInterface: s2}\n  - {receiveInterface: s2, transmitInterface: s1}\n",
		[]string{"cross-connect-circle s2 transmit_interface"},
	},
	{
		vpp(loop1, "{name: s1, type: SUB_INTERFACE, enabled: true, sub: {parentName: loop1, subId: 10}}") +
			"  xconnectPairs:\n  - {receiveInterface: loop1, transmitInterface: s1}\n",
		[]string{"cross-connect-circle loop1 transmit_interface", "cross-connect-parent loop1 receive_interface"},
	},
	{
		vpp(loop1, "{name: s1, type: SUB_INTERFACE, enabled: true, sub: {parentName: loop1, subId: 10}}", "{name: s2, type: SUB_INTERFACE, enabled: true, sub: {parentName: loop1, subId: 11}}") +
			"  bridgeDomains:\n" + bridge("bd1", "s1", "s2"),
		[]string{"bridge-domain-circle bd1 interfaces[1].name"},
	},
	{vpp(p1) + "  xconnectPairs:\n  - {receiveInterface: p1, transmitInterface: p1}\n", []string{"cross-connect-to-itself p1 transmit_interface"}},
	{vpp(p1, p2, loop1) + cross + "  - {receiveInterface: loop1, transmitInterface: p2}\n", []string{"cross-connect-target-twice loop1 transmit_interface"}},
	{vpp(p1, p1sub, p2) + cross, []string{"cross-connect-parent p1 receive_interface"}},
	{vpp("{name: p1, type: DPDK, enabled: true, mtu: 1500}", "{name: p2, type: DPDK, enabled: true, mtu: 9000}") + cross, []string{"cross-connect-mtu p1 transmit_interface"}},
	{vpp(p1, "{name: p2, type: DPDK, enabled: true, ipAddresses: [10.0.0.1/24]}") + cross, []string{"layer2-with-addresses p2 ip_addresses[0]"}},
	{
		vpp(ip("bvi", "", "10.0.0.1/24"), p1) + "  bridgeDomains:\n  - {name: bd1, forward: true, interfaces: [{name: bvi, bridgedVirtualInterface: true}, {name: p1}]}\n",
		nil,
	},
	{
		vpp("{name: p1, type: DPDK, enabled: true, physAddress: '02:00:00:00:00:0a', mtu: 1500}", "{name: p2, type: DPDK, enabled: true, physAddress: '02:00:00:00:00:0A', mtu: 1400}") +
			"  bridgeDomains:\n" + bridge("bd1", "p1", "p2"),
		[]string{"bridge-domain-mac bd1 interfaces[1].name", "bridge-domain-mtu bd1 interfaces[1].name"},
	},
	{vpp(p1, p2) + "  bridgeDomains:\n  - {name: bd1, learn: true, interfaces: [{name: p1}, {name: p2}]}\n", []string{"bridge-domain-forwards-nothing bd1 interfaces"}},

	{vpp(bond0, p1), nil},
	{vpp(bond0, p1, p2, "{name: bond1, type: BOND_INTERFACE, enabled: true, bond: {id: 1, mode: XOR, lb: L34}}"), []string{"bond-id-twice bond1 bond.id"}},
	{
		vpp(bond0, p1, "{name: bond1, type: BOND_INTERFACE, enabled: true, bond: {id: 2, mode: ACTIVE_BACKUP, lb: L34, bondedInterfaces: [{name: bond0}, {name: p1}, {name: p1.10}]}}", p1sub),
		[]string{
			"bond-load-balance bond1 bond.lb", "bond-member-kind bond1 bond.bonded_interfaces[0].name", "bond-member-kind bond1 bond.bonded_interfaces[2].name",
			"bond-member-twice bond1 bond.bonded_interfaces[1].name", "bond-member-sub-interfaces p1.10 sub.parent_name",
		},
	},
	{
		vpp(bond0, "{name: p1, type: DPDK, enabled: true, mtu: 1400, physAddress: '02:00:00:00:00:01', ipAddresses: [10.0.0.1/24]}", p2) + cross,
		[]string{
			"bond-member-addresses p1 ip_addresses[0]", "bond-member-mac p1 phys_address", "layer2-with-addresses p1 ip_addresses[0]",
			"bond-member-layer2 p1 receive_interface",
		},
	},
	{
		vpp("{name: bond0, type: BOND_INTERFACE, enabled: true, mtu: 9000, bond: {id: 1, mode: LACP, bondedInterfaces: [{name: p1}]}}", "{name: p1, type: DPDK, enabled: true, mtu: 1500}"),
		[]string{"bond-member-mtu p1 mtu"},
	},

	{vpp(p1, p1sub, "{name: other, type: SUB_INTERFACE, enabled: true, sub: {parentName: p1, subId: 10}}"), []string{"sub-interface-twice other sub.sub_id"}},
	{vpp(p1, p1sub, "{name: p1.10.5, type: SUB_INTERFACE, enabled: true, sub: {parentName: p1.10, subId: 5}}"), []string{"sub-interface-parent p1.10.5 sub.parent_name"}},
	{
		vpp("{name: p1, type: DPDK, mtu: 1500}", "{name: p1.10, type: SUB_INTERFACE, enabled: true, mtu: 9000, sub: {parentName: p1, subId: 10}}"),
		[]string{"sub-interface-mtu p1.10 mtu", "sub-interface-state p1.10 enabled"},
	},
	{
		vpp("{name: v1, type: VXLAN_TUNNEL, vxlan: {srcAddress: 10.0.0.1, dstAddress: 10.0.0.2, vni: 5}}", "{name: v2, type: VXLAN_TUNNEL, vxlan: {srcAddress: 10.0.0.1, dstAddress: 10.0.0.2, vni: 6}}",
			"{name: v3, type: VXLAN_TUNNEL, vxlan: {srcAddress: 10.0.0.1, dstAddress: 10.0.0.2, vni: 5}}"),
		[]string{"tunnel-twice v3 vxlan"},
	},
	{
		vpp("{name: g1, type: GRE_TUNNEL, gre: {tunnelType: L3, srcAddr: 10.0.0.1, dstAddr: 10.0.0.2}}", "{name: g2, type: GRE_TUNNEL, gre: {tunnelType: TEB, srcAddr: 10.0.0.1, dstAddr: 10.0.0.2}}",
			"{name: g3, type: GRE_TUNNEL, gre: {tunnelType: TEB, srcAddr: 10.0.0.1, dstAddr: 10.0.0.2}}"),
		[]string{"tunnel-twice g3 gre"},
	},
	{
		vpp("{name: i1, type: IPIP_TUNNEL, ipip: {srcAddr: '2001:db8::1', dstAddr: '2001:db8::2'}}", "{name: i2, type: IPIP_TUNNEL, ipip: {srcAddr: '2001:db8:0::1', dstAddr: '2001:db8::2'}}"),
		[]string{"tunnel-twice i2 ipip"},
	},
	{
		vpp("{name: u1, type: GTPU_TUNNEL, gtpu: {srcAddr: 10.0.0.1, dstAddr: 10.0.0.2, teid: 7}}", "{name: u2, type: GTPU_TUNNEL, gtpu: {srcAddr: 10.0.0.3, dstAddr: 10.0.0.2, teid: 7}}"),
		[]string{"tunnel-twice u2 gtpu"},
	},
	{
		vpp("{name: m1, type: MEMIF, memif: {id: 1, master: true, socketFilename: /s}}", "{name: m2, type: MEMIF, memif: {id: 1, master: true}}",
			"{name: m3, type: MEMIF, memif: {id: 1, master: true, socketFilename: /s}}", "{name: m4, type: MEMIF, memif: {id: 2, socketFilename: /s}}"),
		[]string{"memif-twice m3 memif.id", "memif-role m4 memif.master"},
	},

	{
		"vppConfig:\n  dnat44s:\n" +
			"  - {label: d1, stMappings: [{externalIp: 192.0.2.1, externalPort: 80, localIps: [{localIp: 10.0.0.1, localPort: 80}]}]}\n" +
			"  - {label: d2, stMappings: [{externalIp: 192.0.2.1, externalPort: 81, localIps: [{localIp: 10.0.0.1, localPort: 81}]}, {externalIp: 192.0.2.1, externalPort: 80, localIps: [{localIp: 10.0.0.9, localPort: 8}]}]}\n" +
			"  - {label: d3, idMappings: [{ipAddress: 192.0.2.1, port: 81}]}\n" +
			"  - {label: d4, stMappings: [{externalIp: 192.0.2.1, externalPort: 80, protocol: UDP, localIps: [{localIp: 10.0.0.1, localPort: 80}]}]}\n",
		[]string{"nat44-mapping-twice d2 st_mappings[1]", "nat44-mapping-twice d3 id_mappings[0]"},
	},
	{
		"vppConfig:\n  nat44Pools:\n  - {name: n1, firstIp: 192.0.2.1, lastIp: 192.0.2.9}\n  - {name: n2, firstIp: 192.0.2.10}\n" +
			"  - {name: n3, firstIp: 192.0.2.5, twiceNat: true}\n  - {name: n4, firstIp: 192.0.2.3}\n  - {name: n5, firstIp: 192.0.2.8, lastIp: 192.0.2.10}\n",
		[]string{"nat44-address-twice n4 first_ip", "nat44-address-twice n5 first_ip", "nat44-address-twice n5 first_ip"},
	},
	{
		"vppConfig:\n  acls:\n  - {name: m1, rules: [{macipRule: {}}], interfaces: {ingress: [a]}}\n  - {name: ip, rules: [{ipRule: {}}], interfaces: {ingress: [a]}}\n" +
			"  - {name: m2, rules: [{macipRule: {}}], interfaces: {ingress: [b, a]}}\n",
		[]string{"mac-list-twice m2 interfaces.ingress[1]"},
	},
	{
		"vppConfig:\n  ipsecSpds:\n  - {index: 1, interfaces: [{name: a}]}\n  - {index: 2, interfaces: [{name: b}, {name: a}]}\n",
		[]string{"spd-interface-twice 2 interfaces[1].name"},
	},
	{
		"vppConfig:\n  srv6Steerings:\n  - {name: s1, policyBsid: '2001:db8::1', l3Traffic: {prefixAddress: 10.0.0.0/8}}\n" +
			"  - {name: s2, policyBsid: '2001:db8::2', l3Traffic: {prefixAddress: 10.0.0.0/8}}\n  - {name: s3, policyBsid: '2001:db8::2', l3Traffic: {prefixAddress: 10.0.0.0/8, installationVrfId: 2}}\n",
		[]string{"steering-twice s2 l3_traffic.prefix_address"},
	},
	{
		"vppConfig:\n  wgPeers:\n  - {publicKey: dIjXzrQxM+2wuWNMjrBz9rcvMz6mZ2E3kxHjIhVAZxM=, endpoint: 10.0.0.1, port: 1, wgIfName: w1, allowedIps: [10.0.0.0/8]}\n" +
			"  - {publicKey: dIjXzrQxM+2wuWNMjrBz9rcvMz6mZ2E3kxHjIhVAZxM=, endpoint: 10.0.0.1, port: 1, wgIfName: w2, allowedIps: [10.0.0.0/8]}\n",
		[]string{"wireguard-peer-twice 1 public_key"},
	},

	{
		vpp("{name: a1, type: AF_PACKET, afpacket: {hostIfName: eth0}}", "{name: a2, type: AF_PACKET, afpacket: {hostIfName: eth0}}"),
		[]string{"host-interface-twice a2 afpacket.host_if_name"},
	},
	{
		vpp("{name: a1, type: AF_PACKET, afpacket: {hostIfName: e0}}", "{name: a2, type: AF_PACKET, afpacket: {linuxInterface: dm0}}") + linux("{name: dm0, type: DUMMY, hostIfName: e0}"),
		[]string{"host-interface-twice a2 afpacket.linux_interface"},
	},
	{
		vpp("{name: t1, type: TAP, tap: {version: 2, hostIfName: t}}", "{name: t2, type: TAP, tap: {version: 2, hostIfName: t}}", "{name: t3, type: TAP, tap: {version: 2, hostIfName: t, toMicroservice: m}}"),
		[]string{"tap-name-twice t2 tap.host_if_name"},
	},
	{
		vpp(p1, p2) + "  linuxcpPairs:\n  - {interface: p1, hostInterface: h1}\n  - {interface: p2, hostInterface: h1}\n",
		[]string{"pair-name-twice p2 host_interface"},
	},
	{vpp(p1, p1sub) + "  linuxcpPairs:\n  - {interface: p1.10, hostInterface: h1}\n", []string{"pair-parent p1.10 interface"}},
	{
		vpp(p1, p1sub) + "  linuxcpPairs:\n  - {interface: p1, hostInterface: h0}\n  - {interface: p1.10, hostInterface: h1}\n",
		[]string{"pair-parent p1.10 parent"},
	},
	{vpp(p1, p2) + cross + "  linuxcpPairs:\n  - {interface: p1, hostInterface: h0}\n", []string{"pair-layer2 p1 interface"}},

	{linux("{name: d1, type: DUMMY, hostIfName: x}", "{name: x, type: DUMMY}"), []string{"linux-name-twice x name"}},
	{linux("{name: d1, type: DUMMY, hostIfName: x, namespace: {type: NSID, reference: a}}", "{name: x, type: DUMMY}", "{name: y, type: EXISTING, hostIfName: x}"), nil},
	{
		linux("{name: d1, type: DUMMY}", "{name: v1, type: VLAN, vlan: {parentInterface: d1, vlanId: 5}}", "{name: v2, type: VLAN, vlan: {parentInterface: d1, vlanId: 5}}"),
		[]string{"linux-vlan-twice v2 vlan.vlan_id"},
	},
	{
		linux("{name: a, type: VETH, veth: {peerIfName: b}}", "{name: b, type: VETH, veth: {peerIfName: a}}", "{name: c, type: VETH, veth: {peerIfName: a}}"),
		[]string{"linux-veth-peers c veth.peer_if_name"},
	},
	{linux("{name: a, type: VETH, veth: {peerIfName: d1}}", "{name: d1, type: DUMMY}"), []string{"linux-veth-peers a veth.peer_if_name"}},
	{
		linux("{name: a, type: DUMMY, ipAddresses: [10.0.0.1/24]}", "{name: b, type: DUMMY, ipAddresses: [10.0.0.2/24, 10.0.0.1/32]}"),
		[]string{"linux-address-twice b ip_addresses[1]"},
	},
	{
		linux("{name: br, type: BRIDGE}", "{name: b, type: DUMMY, masterInterface: br, ipAddresses: [10.0.0.2/24]}"),
		[]string{"linux-member-addresses b ip_addresses[0]"},
	},
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	violated := map[string]bool{}
	for _, c := range cases {
		found := check(t, c.text)
		got, want := slices.Sorted(slices.Values(found)), slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) {
			t.Errorf("found\n  %s\nwant\n  %s\nin\n%s", strings.Join(got, "\n  "), strings.Join(want, "\n  "), c.text)
		}
		for _, f := range c.want {
			name, _, _ := strings.Cut(f, " ")
			violated[name] = true
		}
	}
	for _, c := range constraints.All() {
		if !violated[c.Name] {
			t.Errorf("constraint %s has no case", c.Name)
		}
	}
}

// The page of the reference lists every constraint.
func TestReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/constraints.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range constraints.All() {
		level := "warning"
		if c.Error {
			level = "error"
		}
		if row := fmt.Sprintf("| `%s` | %s | %s |", c.Name, level, c.Doc); !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/reference/constraints.md lacks\n%s", row)
		}
	}
	table, _, _ := strings.Cut(string(page), "\n## ")
	if n := strings.Count(table, "\n| `"); n != len(constraints.All()) {
		t.Errorf("docs/reference/constraints.md has %d constraints, want %d", n, len(constraints.All()))
	}
}

// Many items take linear time: every network contains the others, or all are equal.
func TestManyItems(t *testing.T) {
	t.Parallel()
	var lines []string
	const n = 20_000
	for i := range n {
		lines = append(lines, fmt.Sprintf("{name: l%d, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.%d.%d/%d]}", i, i>>8&255, i&255, 8+i%25))
	}
	found := check(t, vpp(lines...))
	for _, constraint := range []string{"address-overlap", "network-address"} {
		of := slices.DeleteFunc(slices.Clone(found), func(f string) bool { return !strings.HasPrefix(f, constraint+" ") })
		if len(of) != 101 { // 100 and the number of the others
			t.Errorf("%d findings of %s, want 101", len(of), constraint)
		}
	}
}
