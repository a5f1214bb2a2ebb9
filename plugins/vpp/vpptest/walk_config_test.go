package vpptest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"

	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// walker makes random configurations: a pool of interfaces whose types, settings and roles
// change, and items of the catalogue.
type walker struct {
	*rand.Rand
	real     bool // on a real VPP, without what it cannot have on this machine
	restarts bool // the agent restarts before each step

	items   map[string]values // the items of the catalogue in the last configuration
	pool    map[int]*interfaces.Interface
	outside int // the number of the interface on the outside of NAT
}

const (
	poolSize  = 10
	walkItems = 12 // of the catalogue, at most
)

func newWalker(seed uint64, real, restarts bool) *walker {
	return &walker{Rand: rand.New(rand.NewPCG(seed, seed)), real: real, restarts: restarts, items: map[string]values{}, pool: map[int]*interfaces.Interface{}}
}

func (w *walker) chance(percent int) bool { return w.IntN(100) < percent }

// next makes a configuration, which keeps some items of the last one.
func (w *walker) next() values {
	all := catalogue.All()
	for _, name := range slices.Sorted(maps.Keys(w.items)) {
		if w.chance(40) {
			delete(w.items, name)
		}
	}
	for len(w.items) < w.IntN(walkItems) {
		i := all[w.IntN(len(all))]
		w.items[i.Name] = w.item(i)
	}
	out := values{}
	for _, name := range slices.Sorted(maps.Keys(w.items)) {
		maps.Copy(out, w.items[name])
	}
	maps.Copy(out, w.pooled())
	return out
}

// unwalked are items for which VPP itself depends on history.
var unwalked = map[string]string{
	"vpp.lldp.interface":      "VPP uses the index of the interface as a hardware index: they differ after a sub-interface was created",
	"vpp.nat.nat44-interface": "of several outside interfaces in a table the first that goes takes the outside addresses out of it",
	"vpp.nat.nat44-vrf":       "VPP makes the VRF table for it and does not report that it has no other user: a VRF table that is added goes with the item",
	"vpp.nat.nat44-vrf-route": "it needs vpp.nat.nat44-vrf",
	"vpp.nat.dnat44":          "VPP adds the address of a load-balanced mapping to the tables of the outside interfaces that come after it, and never removes it",
	"vpp.stn.rule":            "VPP counts IP as enabled on the index for ever: the next interface with the index cannot enable it",
}

// item is an exemplar of the catalogue, or a change of it, with most of what it needs.
func (w *walker) item(i catalogue.Item) values {
	if w.real && !i.Real() || unwalked[i.Name] != "" {
		return nil
	}
	m := i.Make()
	if changes := slices.Concat(i.Spellings, i.Updates, i.Recreates); len(changes) > 0 && w.chance(50) {
		m = i.Changed(changes[w.IntN(len(changes))])
	}
	out := values{catalogue.Key(m): m}
	for _, key := range slices.Sorted(maps.Keys(i.Needed())) {
		if w.chance(90) {
			out[key] = i.Needed()[key]
		}
	}
	return out
}

// pooled returns the interfaces of the pool, with addresses, layer 2 and NAT.
func (w *walker) pooled() values {
	for n := range poolSize {
		switch {
		case w.pool[n] == nil && w.chance(60), w.pool[n] != nil && w.chance(15):
			w.pool[n] = w.interfaceOf(n)
		case w.pool[n] != nil && w.chance(25):
			delete(w.pool, n)
		}
	}
	w.rename()
	out, parents := values{}, map[string]bool{}
	for _, i := range w.pool {
		parents[i.GetSub().GetParentName()] = true
	}
	var free []*interfaces.Interface
	for n := range poolSize {
		i := w.pool[n]
		if i == nil {
			continue
		}
		if parents[i.Name] && (!isEthernet(i) || i.GetSub() != nil) {
			i = loop(i.Name)
		}
		if w.chance(30) {
			w.set(n, i)
		}
		i = proto.CloneOf(i)
		w.pool[n] = i
		out[key(i)] = i
		if isEthernet(i) {
			free = append(free, i)
		}
	}
	for id := range uint32(3) {
		if w.chance(80) {
			maps.Copy(out, of(&l3.VrfTable{Id: 100 + id}, &l3.VrfTable{Id: 100 + id, Protocol: l3.VrfTable_IPV6}))
		}
	}
	w.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	maps.Copy(out, w.layer2(free))
	maps.Copy(out, w.nat())
	return out
}

// rename gives some interfaces another name: they stay one object of VPP.
func (w *walker) rename() {
	for n := range poolSize {
		if w.pool[n] == nil || w.pool[n].Type == interfaces.Interface_DPDK || !w.chance(10) {
			continue
		}
		i := proto.CloneOf(w.pool[n])
		i.Name += "x"
		if len(i.Name) > 3 {
			i.Name = i.Name[:2]
		}
		for m, child := range w.pool {
			if child.GetSub().GetParentName() == w.pool[n].Name {
				child = proto.CloneOf(child)
				child.GetSub().ParentName = i.Name
				w.pool[m] = child
			}
		}
		w.pool[n] = i
	}
}

// interfaceOf is an interface of any type; what identifies it in VPP follows from n.
func (w *walker) interfaceOf(n int) *interfaces.Interface {
	name, src, dst := fmt.Sprintf("w%d", n), "192.0.2.1", fmt.Sprintf("198.51.100.%d", n+1)
	kinds := []func() *interfaces.Interface{
		func() *interfaces.Interface { return loop(name) },
		func() *interfaces.Interface { return loop(name) },
		func() *interfaces.Interface { return device(n) },
		func() *interfaces.Interface { return memif(name, uint32(100+n), "") },
		func() *interfaces.Interface { return vxlan(name, src, dst, uint32(100+n)) },
		func() *interfaces.Interface { return vxlanGpe(name, src, dst, uint32(100+n)) },
		func() *interfaces.Interface { return gre(name, src, dst, interfaces.GreLink_L3) },
		func() *interfaces.Interface { return gre(name, src, dst, interfaces.GreLink_TEB) },
		func() *interfaces.Interface { return ipip(name, src, dst) },
		func() *interfaces.Interface { return gtpu(name, src, dst, uint32(100+n)) },
		func() *interfaces.Interface { return ipsecInterface(name) },
		func() *interfaces.Interface { return bond(name, uint32(100+n)) },
		func() *interfaces.Interface { return w.subOf(n) },
		func() *interfaces.Interface { return w.subOf(n) },
		func() *interfaces.Interface { return w.subOf(n) },
	}
	if !w.real {
		kinds = append(kinds, func() *interfaces.Interface { return tap(name) },
			func() *interfaces.Interface { return afPacket(name, fmt.Sprintf("walk%d", n)) })
	}
	i := kinds[w.IntN(len(kinds))]()
	w.set(n, i)
	return i
}

// device is an interface that VPP has from the start.
func device(n int) *interfaces.Interface {
	return &interfaces.Interface{Name: fmt.Sprintf("pg%d", n), Type: interfaces.Interface_DPDK}
}

// subOf is a sub-interface of an interface of the pool with a smaller number.
func (w *walker) subOf(n int) *interfaces.Interface {
	parent := w.IntN(n+1) / 2
	if p := w.pool[parent]; parent == n || p != nil && (!isEthernet(p) || p.GetSub() != nil) {
		return loop(fmt.Sprintf("w%d", n))
	}
	name := fmt.Sprintf("w%d", parent)
	if p := w.pool[parent]; p != nil {
		name = p.Name
	}
	s := subif(fmt.Sprintf("w%d", n), name, uint32(100+n))
	s.GetSub().TagRwOption = []interfaces.SubInterface_TagRewriteOptions{
		interfaces.SubInterface_DISABLED, interfaces.SubInterface_POP1, interfaces.SubInterface_PUSH1, interfaces.SubInterface_TRANSLATE11,
	}[w.IntN(4)]
	s.GetSub().Tag1 = 7
	return s
}

// set chooses the settings of an interface.
func (w *walker) set(n int, i *interfaces.Interface) {
	i.Enabled = w.chance(80)
	i.Mtu = []uint32{0, 0, 1400, 2000, 9000, 9216}[w.IntN(6)]
	i.PhysAddress = ""
	if isEthernet(i) && i.GetSub() == nil && w.chance(40) {
		i.PhysAddress = fmt.Sprintf("02:00:00:00:%02x:%02x", w.IntN(2), n)
	}
	i.IpAddresses, i.Vrf, i.Unnumbered = nil, 0, nil
	switch w.IntN(5) {
	case 0, 1:
		i.IpAddresses = []string{fmt.Sprintf("10.%d.0.1/24", 100+n)}
	case 2:
		i.IpAddresses = []string{fmt.Sprintf("10.%d.0.1/24", 100+n), fmt.Sprintf("2001:db8:%d::1/64", 100+n)}
	}
	if w.chance(40) && (isEthernet(i) || i.GetIpip() == nil && i.GetGre() == nil && i.GetVxlan() == nil && i.GetGtpu() == nil) {
		i.Vrf = uint32(100 + w.IntN(3))
	}
}

// isEthernet reports whether an interface can be in layer 2.
func isEthernet(i *interfaces.Interface) bool {
	switch i.Type {
	case interfaces.Interface_SOFTWARE_LOOPBACK, interfaces.Interface_TAP, interfaces.Interface_MEMIF, interfaces.Interface_AF_PACKET,
		interfaces.Interface_BOND_INTERFACE, interfaces.Interface_SUB_INTERFACE, interfaces.Interface_DPDK:
		return true
	case interfaces.Interface_GRE_TUNNEL:
		return i.GetGre().GetTunnelType() == interfaces.GreLink_TEB
	case interfaces.Interface_VXLAN_TUNNEL:
		return i.GetVxlan().GetGpe() == nil
	}
	return false
}

// layer2 puts interfaces into bridge domains, cross-connects and bonds.
func (w *walker) layer2(free []*interfaces.Interface) values {
	take := func() *interfaces.Interface {
		if len(free) == 0 || w.chance(20) {
			return nil
		}
		i := free[0]
		free = free[1:]
		return i
	}
	out, loopbackOf := values{}, l2model.LoopbackOf(w.loopback)
	for n := range 2 {
		bd := bridge(fmt.Sprintf("walk%d", n))
		for m := range w.IntN(4) {
			i := take()
			if i == nil || slices.ContainsFunc(bd.Interfaces, func(other *l2.BridgeDomain_Interface) bool {
				return loopbackOf.FloodForEver(i.Name, other.Name) // VPP would die of it
			}) {
				continue
			}
			bd.Interfaces = append(bd.Interfaces, &l2.BridgeDomain_Interface{
				Name: i.Name, SplitHorizonGroup: uint32(w.IntN(2)),
				BridgedVirtualInterface: m == 0 && i.Type == interfaces.Interface_SOFTWARE_LOOPBACK,
			})
		}
		if w.chance(70) {
			maps.Copy(out, of(bd))
		}
	}
	out = w.bonds(out, take)
	if a, b := take(), take(); a != nil && b != nil {
		circle := w.loopback(a.Name) != "" && w.loopback(b.Name) != "" // in both directions
		if !circle || w.loopback(a.Name) != w.loopback(b.Name) {
			maps.Copy(out, of(xconnect(a.Name, b.Name)))
		}
		if w.chance(70) && !circle {
			maps.Copy(out, of(xconnect(b.Name, a.Name)))
		}
	}
	return out
}

// loopback returns the name of the loopback that an interface is, or is a sub-interface of; empty if
// it is neither.
func (w *walker) loopback(name string) string {
	byName := map[string]*interfaces.Interface{}
	for _, i := range w.pool {
		byName[i.GetName()] = i
	}
	i := byName[name]
	if parent := byName[i.GetSub().GetParentName()]; parent != nil {
		i = parent
	}
	if i.GetType() != interfaces.Interface_SOFTWARE_LOOPBACK {
		return ""
	}
	return i.GetName()
}

// bonds gives members to the bonds.
func (w *walker) bonds(out values, take func() *interfaces.Interface) values {
	for n := range poolSize {
		b := w.pool[n]
		if b.GetType() != interfaces.Interface_BOND_INTERFACE || w.chance(40) {
			continue
		}
		m := take()
		if m == nil || m.Type == interfaces.Interface_BOND_INTERFACE || m.GetSub() != nil {
			continue
		}
		with := proto.CloneOf(b)
		with.GetBond().BondedInterfaces = []*interfaces.BondLink_BondedInterface{{Name: m.Name}}
		maps.Copy(out, of(with))
	}
	return out
}

// nat is NAT44 on an interface of the pool.
func (w *walker) nat() values {
	if w.chance(30) {
		w.outside = w.IntN(poolSize)
	}
	i := w.pool[w.outside]
	if i == nil || w.chance(30) {
		return nil
	}
	out := of(&nat.Nat44Global{Forwarding: true}, &nat.Nat44Interface{Name: i.Name, NatOutside: true, NatInside: w.chance(30)})
	if w.chance(70) {
		maps.Copy(out, of(&nat.Nat44AddressPool{FirstIp: "203.0.113.1", LastIp: "203.0.113.2"}))
	}
	if w.chance(70) {
		maps.Copy(out, of(&nat.DNat44{Label: "walk", StMappings: []*nat.DNat44_StaticMapping{{
			ExternalIp: "203.0.113.9", ExternalPort: 80, Protocol: nat.DNat44_TCP,
			LocalIps: []*nat.DNat44_StaticMapping_LocalIP{{LocalIp: "10.0.0.9", LocalPort: 8080}},
		}}}))
	}
	return out
}
