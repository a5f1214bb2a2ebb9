package main

import (
	"fmt"

	linuxif "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	linuxl3 "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	linux_interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	linux_l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	linux_namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// link adds one end of a VETH. ns is "" for the namespace of the agent.
func (g *group) link(ns, name, peer, host string, addresses ...string) {
	i := &linux_interfaces.Interface{
		Name: name, Type: linux_interfaces.Interface_VETH, Enabled: true, HostIfName: host, IpAddresses: addresses,
		Link: &linux_interfaces.Interface_Veth{Veth: &linux_interfaces.VethLink{PeerIfName: peer}},
	}
	if ns != "" {
		i.Namespace = &linux_namespace.NetNamespace{Type: linux_namespace.NetNamespace_NSID, Reference: ns}
	}
	g.values[linuxif.InterfaceModel.Key(i)] = i
	g.expect(linkID(ns, host), "up")
	for _, a := range addresses {
		g.expect(linkID(ns, host)+" address "+a, "", linkID(ns, host))
	}
}

func linkID(ns, host string) string { return fmt.Sprintf("linux %s link %s", ns, host) }

// pair adds a VETH between the two namespaces, or within one of them, with routes and an
// ARP entry.
func (g *group) pair() {
	left, right := g.name("va"), g.name("vb")
	logical := g.names.prefix + left
	if g.n%4 == 1 && g.v%2 == 0 {
		left += "-2" // it is renamed
	}
	rightNS := g.names.right
	if g.v == 2 {
		rightNS = g.names.left
	}
	gateway := fmt.Sprintf("10.%d.0.2", g.n)
	g.link(g.names.left, logical, g.names.prefix+right, left, fmt.Sprintf("10.%d.0.1/24", g.n), fmt.Sprintf("10.%d.%d.1/24", g.n, 100+g.v))
	g.link(rightNS, g.names.prefix+right, logical, right, gateway+"/24")
	g.deps[linkID(g.names.left, left)] = []string{linkID(rightNS, right)} // the ends are created and removed together
	g.deps[linkID(rightNS, right)] = []string{linkID(g.names.left, left)}
	on := linkID(g.names.left, left) + fmt.Sprintf(" address 10.%d.0.1/24", g.n)
	for i := range 3 {
		r := &linux_l3.Route{OutgoingInterface: logical, Scope: linux_l3.Route_GLOBAL, DstNetwork: fmt.Sprintf("172.%d.%d.0/24", g.n, i), GwAddr: gateway}
		g.values[linuxl3.RouteModel.Key(r)] = r
		g.expect(fmt.Sprintf("linux %s route %s", g.names.left, r.DstNetwork), "via "+gateway+" dev "+left, on)
	}
	arp := &linux_l3.ARPEntry{Interface: logical, IpAddress: fmt.Sprintf("10.%d.0.7", g.n), HwAddress: fmt.Sprintf("02:00:00:02:00:%02x", g.n)}
	g.values[linuxl3.ARPModel.Key(arp)] = arp
	g.expect(fmt.Sprintf("linux %s arp %s on %s", g.names.left, arp.IpAddress, left), "at "+arp.HwAddress, on)
}

// hostPair adds a VETH into the namespace of the agent, and an interface of VPP on it.
func (g *group) hostPair() {
	host, peer := fmt.Sprintf("%s-%d", g.names.prefix, g.n), g.name("p")
	g.link("", g.names.prefix+g.name("h"), g.names.prefix+peer, host)
	g.link(g.names.right, g.names.prefix+peer, g.names.prefix+g.name("h"), peer, fmt.Sprintf("10.%d.1.2/24", g.n))
	g.deps[linkID("", host)] = []string{linkID(g.names.right, peer)}
	g.deps[linkID(g.names.right, peer)] = []string{linkID("", host)}
	if g.v != 4 {
		af := &interfaces.Interface{
			Name: g.name("af"), Type: interfaces.Interface_AF_PACKET, IpAddresses: []string{fmt.Sprintf("10.%d.20.1/24", g.n)},
			Link: &interfaces.Interface_Afpacket{Afpacket: &interfaces.AfpacketLink{HostIfName: host}},
		}
		g.vppInterface(af, "af-packet host-"+host, linkID("", host))
		g.expect("if "+af.Name+" rx queue 0", "RX_MODE_API_INTERRUPT", "if "+af.Name)
	}
}
