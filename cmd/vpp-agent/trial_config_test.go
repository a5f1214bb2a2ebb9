package main

import (
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"

	linuxif "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	linuxl3 "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	linux_interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	linux_l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	linux_namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// group is the configuration of some values that belong together, and what the
// southbound has if it is in effect. Everything is a function of a number and of a
// variant; variant 0 is empty.
type group struct {
	n, v    int
	names   names
	values  map[string]proto.Message
	objects state               // by name: what must be there
	deps    map[string][]string // objects which must be removed before those that they name
}

// names are the parts of names that differ between trials on one machine.
type names struct{ prefix, left, right string }

// variants is how many there are of each group.
const variants = 5

func newGroup(n, v int, names names) *group {
	g := &group{n: n, v: v, names: names, values: map[string]proto.Message{}, objects: state{}, deps: map[string][]string{}}
	if v == 0 {
		return g
	}
	g.loopback()
	g.tap()
	g.bridge()
	switch n % 4 {
	case 0:
		g.pair()
	case 2:
		g.hostPair()
	}
	return g
}

// expect declares an object, what it is like, and what it depends on.
func (g *group) expect(name, text string, deps ...string) {
	g.objects[name] = text
	g.deps[name] = deps
}

func (g *group) name(kind string) string { return fmt.Sprintf("%s%d", kind, g.n) }

// vppInterface adds an interface of VPP. device is how the simulator describes it.
func (g *group) vppInterface(i *interfaces.Interface, device string, deps ...string) {
	i.Enabled = true
	g.values[ifmodel.InterfaceModel.Key(i)] = i
	name, table := "if "+i.Name, "if "+i.Name+" table"
	g.expect(name, device, deps...)
	g.expect(name+" up", "", name)
	mtu := i.Mtu
	if mtu == 0 {
		mtu = 9000
	}
	g.expect(name+" mtu", fmt.Sprint(mtu), name)
	if i.Vrf == 0 {
		g.expect(table, "0", name)
	} else {
		g.expect(table, fmt.Sprint(i.Vrf), name, fmt.Sprintf("table %d", i.Vrf))
	}
	for _, a := range i.IpAddresses {
		g.expect(name+" address "+a, "", table)
		g.deps[table] = append(g.deps[table], name+" address "+a) // the table has a meaning only with them
	}
}

func (g *group) loopback() {
	lo := &interfaces.Interface{Name: g.name("lo"), Type: interfaces.Interface_SOFTWARE_LOOPBACK, IpAddresses: []string{fmt.Sprintf("10.%d.%d.1/24", g.n, g.v)}}
	lo.Mtu = uint32(1500 + g.v%2) // one that is not configured any more stays
	if g.v == 3 {
		table := &l3.VrfTable{Id: 1000 + uint32(g.n), Label: g.name("vrf")}
		g.values[l3model.VrfTableModel.Key(table)] = table
		g.expect(fmt.Sprintf("table %d", table.Id), fmt.Sprintf("%q", table.Label))
		lo.Vrf = table.Id
	}
	g.vppInterface(lo, "Loopback")
	g.routes(lo, 0, 6)
}

// routes adds routes through an interface.
func (g *group) routes(via *interfaces.Interface, from, to int) {
	var a, b, c int
	if _, err := fmt.Sscanf(via.IpAddresses[0], "%d.%d.%d.1/24", &a, &b, &c); err != nil {
		panic(err)
	}
	for i := from; i < to; i++ {
		r := &l3.Route{
			DstNetwork: fmt.Sprintf("100.%d.%d.0/24", g.n, i), NextHopAddr: fmt.Sprintf("%d.%d.%d.9", a, b, c), OutgoingInterface: via.Name, VrfId: via.Vrf,
		}
		g.values[l3model.RouteModel.Key(r)] = r
		g.expect(fmt.Sprintf("route %s in %d", r.DstNetwork, r.VrfId), fmt.Sprintf("[%s if %s]", r.NextHopAddr, via.Name),
			"if "+via.Name+" table", "if "+via.Name+" address "+via.IpAddresses[0])
	}
}

func (g *group) tap() {
	tap := &interfaces.Interface{
		Name: g.name("tap"), Type: interfaces.Interface_TAP, IpAddresses: []string{fmt.Sprintf("10.%d.0.1/24", 100+g.n)},
		Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{Version: 2}},
	}
	g.vppInterface(tap, "virtio")
	g.expect("if "+tap.Name+" rx queue 0", "RX_MODE_API_POLLING", "if "+tap.Name)
	g.routes(tap, 6, 12)
	for i := range 5 {
		arp := &l3.ARPEntry{
			Interface: tap.Name, IpAddress: fmt.Sprintf("10.%d.0.%d", 100+g.n, 10+i), PhysAddress: fmt.Sprintf("02:00:00:01:%02x:%02x", g.n, i), Static: true,
		}
		g.values[l3model.ARPModel.Key(arp)] = arp
		g.expect("arp "+arp.IpAddress+" on "+tap.Name, "at "+arp.PhysAddress+" static", "if "+tap.Name+" address "+tap.IpAddresses[0])
	}
}

// bridge adds a bridge domain with a VXLAN tunnel, a memif, perhaps a BVI, and FIB
// entries.
func (g *group) bridge() {
	vx := &interfaces.Interface{Name: g.name("vx"), Type: interfaces.Interface_VXLAN_TUNNEL, Link: &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{
		SrcAddress: "192.0.2.1", DstAddress: fmt.Sprintf("198.51.100.%d", g.n+1), Vni: uint32(10*g.n + g.v%2 + 1),
	}}}
	g.vppInterface(vx, fmt.Sprintf("VXLAN 192.0.2.1 to %s vni %d", vx.GetVxlan().DstAddress, vx.GetVxlan().Vni))
	memif := &interfaces.Interface{Name: g.name("memif"), Type: interfaces.Interface_MEMIF, Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{
		Master: true, Id: uint32(10*g.n + g.v%2), SocketFilename: fmt.Sprintf("/run/m%d-%d.sock", g.n%7, g.v%2),
	}}}
	socket := "memif-socket " + memif.GetMemif().SocketFilename
	g.expect(socket, "")
	g.vppInterface(memif, fmt.Sprintf("memif %d", memif.GetMemif().Id))
	bd := &l2.BridgeDomain{Name: g.name("bd"), Flood: true, Forward: true, Learn: g.v != 2}
	g.expect("bd "+bd.Name, "")
	g.expect("bd "+bd.Name+" features", map[bool]string{true: "0xffffff87", false: "0xfffffd87"}[bd.Learn], "bd "+bd.Name)
	g.member(bd, memif.Name)
	if g.v != 4 {
		g.member(bd, vx.Name)
	}
	if g.n%5 == 0 {
		g.vppInterface(&interfaces.Interface{Name: g.name("bvi"), Type: interfaces.Interface_SOFTWARE_LOOPBACK, IpAddresses: []string{fmt.Sprintf("10.%d.30.1/24", g.n)}}, "Loopback")
		g.member(bd, g.name("bvi"))
	}
	g.values[l2model.BridgeDomainModel.Key(bd)] = bd
	for i := range 5 {
		fib := &l2.FIBEntry{PhysAddress: fmt.Sprintf("02:00:00:00:%02x:%02x", g.n, i), BridgeDomain: bd.Name, OutgoingInterface: vx.Name, StaticConfig: true}
		if g.v == 4 || i > 2 {
			fib.OutgoingInterface = memif.Name
		}
		g.values[l2model.FIBModel.Key(fib)] = fib
		g.expect("fib "+fib.PhysAddress+" in "+bd.Name, "to "+fib.OutgoingInterface+" static", "bd "+bd.Name+" member "+fib.OutgoingInterface)
	}
}

func (g *group) member(bd *l2.BridgeDomain, name string) {
	m, text := &l2.BridgeDomain_Interface{Name: name}, ""
	if name == g.name("bvi") {
		m.BridgedVirtualInterface, text = true, "bvi"
		g.expect("bvi-fib of "+name+" in "+bd.Name, "", "bd "+bd.Name+" member "+name)
	}
	bd.Interfaces = append(bd.Interfaces, m)
	g.expect("bd "+bd.Name+" member "+name, text, "bd "+bd.Name, "if "+name)
}

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
	rightNS := g.names.right
	if g.v == 2 {
		rightNS = g.names.left
	}
	gateway := fmt.Sprintf("10.%d.0.2", g.n)
	g.link(g.names.left, g.names.prefix+left, g.names.prefix+right, left, fmt.Sprintf("10.%d.0.1/24", g.n), fmt.Sprintf("10.%d.%d.1/24", g.n, 100+g.v))
	g.link(rightNS, g.names.prefix+right, g.names.prefix+left, right, gateway+"/24")
	g.deps[linkID(g.names.left, left)] = []string{linkID(rightNS, right)} // the ends are created and removed together
	g.deps[linkID(rightNS, right)] = []string{linkID(g.names.left, left)}
	on := linkID(g.names.left, left) + fmt.Sprintf(" address 10.%d.0.1/24", g.n)
	for i := range 3 {
		r := &linux_l3.Route{OutgoingInterface: g.names.prefix + left, Scope: linux_l3.Route_GLOBAL, DstNetwork: fmt.Sprintf("172.%d.%d.0/24", g.n, i), GwAddr: gateway}
		g.values[linuxl3.RouteModel.Key(r)] = r
		g.expect(fmt.Sprintf("linux %s route %s", g.names.left, r.DstNetwork), "via "+gateway+" dev "+left, on)
	}
	arp := &linux_l3.ARPEntry{Interface: g.names.prefix + left, IpAddress: fmt.Sprintf("10.%d.0.7", g.n), HwAddress: fmt.Sprintf("02:00:00:02:00:%02x", g.n)}
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

// network is a configuration: the variant of each group.
type network struct {
	variants []int
	names    names
	values   map[string]proto.Message
	source   map[string]int // number of the group of each key
	objects  state
	deps     map[string][]string
}

func newNetwork(variants []int, names names) *network {
	c := &network{variants: variants, names: names, values: map[string]proto.Message{}, source: map[string]int{}, objects: state{}, deps: map[string][]string{}}
	for n, v := range variants {
		g := newGroup(n, v, names)
		for key := range g.values {
			c.source[key] = n
		}
		maps.Copy(c.values, g.values)
		maps.Copy(c.objects, g.objects)
		maps.Copy(c.deps, g.deps)
	}
	return c
}

// kept are the objects that have to be the same in the network as in a state, and whose
// dependencies have, too.
func (c *network) kept(now state) state {
	kept := map[string]bool{}
	var visit func(string) bool
	visit = func(name string) bool {
		if kept, known := kept[name]; known {
			return kept
		}
		want, desired := c.objects[name]
		have, exists := now[name]
		kept[name] = desired && exists && want == have // before its dependencies: some depend on each other
		for _, dep := range c.deps[name] {
			kept[name] = kept[name] && visit(dep)
		}
		return kept[name]
	}
	out := state{}
	for name, text := range c.objects {
		if visit(name) {
			out[name] = text
		}
	}
	return out
}
