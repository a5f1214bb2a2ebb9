package main

import (
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"

	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
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
	g.changing()
	g.borrowing()
	g.subInterface()
	switch n % 4 {
	case 0, 1:
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
	lo.Mtu = uint32(1500 + g.v%2) // one that is no longer configured stays
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
		g.route(r, via.IpAddresses[0])
	}
}

// route adds a route, which goes where the interface has the address.
func (g *group) route(r *l3.Route, address string) {
	g.values[l3model.RouteModel.Key(r)] = r
	via := "if " + r.OutgoingInterface
	g.expect(fmt.Sprintf("route %s in %d", r.DstNetwork, r.VrfId), fmt.Sprintf("[%s %s]", r.NextHopAddr, via), via+" table", via+" address "+address)
}

func (g *group) tap() {
	tap := &interfaces.Interface{
		Name: g.name("tap"), Type: interfaces.Interface_TAP, IpAddresses: []string{fmt.Sprintf("10.%d.0.1/24", 100+g.n), fmt.Sprintf("2001:db8:%d::1/64", g.n+1)},
		Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{Version: 2}},
	}
	g.vppInterface(tap, "virtio")
	g.expect("if "+tap.Name+" rx queue 0", "RX_MODE_API_POLLING", "if "+tap.Name)
	g.routes(tap, 6, 10)
	g.route(&l3.Route{DstNetwork: fmt.Sprintf("2001:db8:%d::/64", 1000+g.n), NextHopAddr: fmt.Sprintf("2001:db8:%d::9", g.n+1), OutgoingInterface: tap.Name}, tap.IpAddresses[1])
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
	other := &l2.BridgeDomain{Name: g.name("be"), Flood: true, Forward: true, Learn: true, MacAge: uint32(g.v % 3), ArpTermination: g.v == 3}
	g.domain(bd, map[bool]string{true: "0xffffff87", false: "0xfffffd87"}[bd.Learn])
	features := map[bool]string{true: "0xffffff97", false: "0xffffff87"}[other.ArpTermination]
	if other.MacAge > 0 {
		features += fmt.Sprintf(" mac-age %d", other.MacAge)
	}
	g.domain(other, features)
	if g.v == 3 {
		other.ArpTerminationTable = []*l2.BridgeDomain_ArpTerminationEntry{{IpAddress: "10.1.1.1", PhysAddress: "02:00:00:00:00:09"}}
		g.expect("bd "+other.Name+" arp 10.1.1.1", "at 02:00:00:00:00:09", "bd "+other.Name)
	}
	domainOf := map[string]*l2.BridgeDomain{vx.Name: bd, memif.Name: bd}
	if g.v%2 == 0 { // it moves
		domainOf[memif.Name] = other
	}
	g.member(domainOf[memif.Name], memif.Name)
	if g.v != 4 {
		g.member(bd, vx.Name)
	}
	if g.n%5 == 0 {
		g.vppInterface(&interfaces.Interface{Name: g.name("bvi"), Type: interfaces.Interface_SOFTWARE_LOOPBACK, IpAddresses: []string{fmt.Sprintf("10.%d.30.1/24", g.n)}}, "Loopback")
		g.member(bd, g.name("bvi"))
	}
	for i := range 5 {
		out := vx.Name
		if g.v == 4 || i > 2 {
			out = memif.Name
		}
		fib := &l2.FIBEntry{PhysAddress: fmt.Sprintf("02:00:00:00:%02x:%02x", g.n, i), BridgeDomain: domainOf[out].Name, OutgoingInterface: out, StaticConfig: true}
		g.values[l2model.FIBModel.Key(fib)] = fib
		g.expect("fib "+fib.PhysAddress+" in "+fib.BridgeDomain, "to "+out+" static", "bd "+fib.BridgeDomain+" member "+out)
	}
}

// domain adds a bridge domain.
func (g *group) domain(bd *l2.BridgeDomain, features string) {
	g.values[l2model.BridgeDomainModel.Key(bd)] = bd
	g.expect("bd "+bd.Name, "")
	g.expect("bd "+bd.Name+" features", features, "bd "+bd.Name)
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
