package linuxtest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/walktest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// walker makes random configurations: a pool of interfaces whose types, settings and roles
// change, and items that use them.
type walker struct {
	*rand.Rand
	t    testing.TB
	real bool // what the kernel cannot have on this machine is left out

	pool  [poolSize]*slot
	hosts [poolSize]string // names in the kernel; empty: as the item
	users map[string]proto.Message
	first int // the foreign link that is of the first item
}

// poolSize is the number of slots; a slot has an interface, or both ends of a VETH pair.
const poolSize = 12

// slot is an interface of the pool. It refers to other ones by their slots, -1: none.
type slot struct {
	item, peer          *interfaces.Interface // peer: the other end
	parent, master, vrf int
	peerMaster          int
	renamed             bool
}

func newWalker(t testing.TB, seed uint64, real bool) *walker {
	return &walker{Rand: rand.New(rand.NewPCG(seed, seed)), t: t, real: real, users: map[string]proto.Message{}}
}

func (w *walker) chance(percent int) bool { return w.IntN(100) < percent }

// next makes a configuration, which keeps much of the last one.
func (w *walker) next() walktest.Step {
	for n := range w.pool {
		switch {
		case w.pool[n] == nil && w.chance(60), w.pool[n] != nil && w.chance(12):
			w.pool[n] = w.newSlot(n)
		case w.pool[n] != nil && w.chance(20):
			w.pool[n] = nil
		case w.pool[n] != nil:
			w.change(n)
		}
	}
	w.rename()
	for n, s := range w.pool {
		if s != nil {
			w.join(n, s)
		}
	}
	step := walktest.Step{Values: walktest.Values{}, Restart: w.chance(15), Changes: w.chance(50)}
	w.addInterfaces(step.Values)
	w.addUsers(step.Values)
	return step
}

var (
	left = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}
	// made is made by the agent.
	made = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "made"}
)

func (w *walker) namespace() *namespace.NetNamespace {
	return []*namespace.NetNamespace{nil, nil, left, made}[w.IntN(4)]
}

// kind makes an interface of one type; what identifies it in the kernel follows from n.
type kind func(w *walker, n int, s *slot)

func link(typ interfaces.Interface_Type) kind {
	return func(w *walker, _ int, s *slot) { s.item.Type, s.item.Namespace = typ, w.namespace() }
}

// kinds are the types that every kernel has, and then the others.
func kinds() (all, simulated []kind) {
	all = []kind{
		vethPair, vethPair, vethPair, vethPair, bridge, bridge, vxlan, macvlan, existing, existing, loopback, tapOfVPP,
		link(interfaces.Interface_TUN), link(interfaces.Interface_TAP),
	}
	return all, []kind{
		link(interfaces.Interface_DUMMY), link(interfaces.Interface_BOND), vrfDevice, vrfDevice, vlan, vlan, ipvlan,
		tunnel(interfaces.Interface_GRE), tunnel(interfaces.Interface_IPIP), tunnel(interfaces.Interface_SIT), wireguard,
	}
}

func vethPair(w *walker, n int, s *slot) {
	link(interfaces.Interface_VETH)(w, n, s)
	s.peer = &interfaces.Interface{Type: interfaces.Interface_VETH, Namespace: w.namespace()}
	for _, end := range []*interfaces.Interface{s.item, s.peer} {
		end.Link = &interfaces.Interface_Veth{Veth: &interfaces.VethLink{}}
	}
}

func bridge(w *walker, n int, s *slot) {
	link(interfaces.Interface_BRIDGE)(w, n, s)
	b := &interfaces.BridgeLink{Stp: w.chance(30), AgeingTime: uint32(w.IntN(2)) * 60, VlanFiltering: !w.real && w.chance(50)}
	s.item.Link = &interfaces.Interface_Bridge{Bridge: b}
	if b.VlanFiltering && w.chance(50) {
		s.item.BridgeVlans = w.vlans()
	}
}

func (w *walker) vlans() *interfaces.BridgeVlans {
	return []*interfaces.BridgeVlans{nil, {Pvid: 1}, {Pvid: 10, Tagged: []string{"20-22"}}, {Tagged: []string{"7"}, Untagged: []string{"8"}}}[w.IntN(4)]
}

func vxlan(w *walker, n int, s *slot) {
	link(interfaces.Interface_VXLAN)(w, n, s)
	if w.chance(50) {
		s.parent = w.IntN(poolSize)
	}
	s.item.Link = &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{
		Vni: uint32(100 + n), Remote: fmt.Sprintf("192.0.2.%d", w.IntN(2)+1), Ttl: uint32(w.IntN(2) * 9), NoLearning: w.chance(30),
	}}
}

func macvlan(w *walker, n int, s *slot) {
	link(interfaces.Interface_MACVLAN)(w, n, s)
	s.parent = 2 * w.IntN(poolSize/2) // not an IPVLAN's parent
	mode := []interfaces.MacvlanLink_Mode{interfaces.MacvlanLink_BRIDGE, interfaces.MacvlanLink_PRIVATE, interfaces.MacvlanLink_VEPA}[w.IntN(3)]
	s.item.Link = &interfaces.Interface_Macvlan{Macvlan: &interfaces.MacvlanLink{Mode: mode}}
}

func ipvlan(w *walker, n int, s *slot) {
	link(interfaces.Interface_IPVLAN)(w, n, s)
	s.parent = 2*w.IntN(poolSize/2) + 1
	s.item.Link = &interfaces.Interface_Ipvlan{Ipvlan: &interfaces.IpvlanLink{}}
}

func vlan(w *walker, n int, s *slot) {
	link(interfaces.Interface_VLAN)(w, n, s)
	s.parent = w.IntN(poolSize)
	s.item.Link = &interfaces.Interface_Vlan{Vlan: &interfaces.VlanLink{VlanId: uint32(100 + n)}}
}

func vrfDevice(w *walker, n int, s *slot) {
	link(interfaces.Interface_VRF_DEVICE)(w, n, s)
	s.item.Link = &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: uint32(100 + n)}}
}

func tunnel(typ interfaces.Interface_Type) kind {
	return func(w *walker, n int, s *slot) {
		link(typ)(w, n, s)
		if w.chance(40) {
			s.parent = w.IntN(poolSize)
		}
		s.item.Link = &interfaces.Interface_Tunnel{Tunnel: &interfaces.TunnelLink{
			Local: fmt.Sprintf("192.0.2.%d", 10+n), Remote: fmt.Sprintf("192.0.2.%d", w.IntN(2)+1), Ttl: uint32(w.IntN(2) * 9),
		}}
	}
}

func wireguard(w *walker, n int, s *slot) {
	link(interfaces.Interface_WIREGUARD)(w, n, s)
	s.item.Link = &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
		PrivateKey: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=", ListenPort: uint32(5000 + n),
		Peers: []*interfaces.WireguardPeer{{PublicKey: "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=", AllowedIps: []string{"10.13.1.0/24"}}},
	}}
}

// existing is an interface of another program in some slots.
func existing(w *walker, n int, s *slot) {
	if n%4 != 0 {
		vethPair(w, n, s)
		return
	}
	s.item.Type = interfaces.Interface_EXISTING
}

// loopback is one of a namespace in some slots.
func loopback(w *walker, n int, s *slot) {
	if n%4 != 1 {
		bridge(w, n, s)
		return
	}
	s.item.Type, s.item.Namespace = interfaces.Interface_LOOPBACK, []*namespace.NetNamespace{nil, left, made}[n/4]
}

func tapName(n int) string { return fmt.Sprintf("tap%d", n) }

// tapOfVPP is a TAP of VPP in some slots.
func tapOfVPP(w *walker, n int, s *slot) {
	if n%4 != 2 || n/4 >= taps {
		link(interfaces.Interface_TAP)(w, n, s)
		return
	}
	link(interfaces.Interface_TAP_TO_VPP)(w, n, s)
	s.item.Link = &interfaces.Interface_Tap{Tap: &interfaces.TapLink{VppTapIfName: tapName(n / 4)}}
}

func (w *walker) newSlot(n int) *slot {
	s := &slot{item: &interfaces.Interface{}, parent: -1, master: -1, vrf: -1, peerMaster: -1}
	all, simulated := kinds()
	if !w.real {
		all = append(all, simulated...)
	}
	all[w.IntN(len(all))](w, n, s)
	w.set(n, s.item, 0)
	if s.peer != nil {
		w.set(n, s.peer, 1)
	}
	return s
}

// change changes an interface that stays.
func (w *walker) change(n int) {
	s := *w.pool[n]
	w.pool[n] = &s
	if w.chance(30) {
		s.item = proto.CloneOf(s.item)
		w.set(n, s.item, 0)
	}
	if s.peer != nil && w.chance(30) {
		s.peer = proto.CloneOf(s.peer)
		w.set(n, s.peer, 1)
	}
	if w.chance(10) && s.item.Type != interfaces.Interface_EXISTING && s.item.Type != interfaces.Interface_LOOPBACK {
		s.item = proto.CloneOf(s.item)
		s.item.Namespace = w.namespace()
	}
}

// set chooses the settings of an interface; end is 1 for the other end of a pair.
func (w *walker) set(n int, i *interfaces.Interface, end int) {
	i.Enabled = w.chance(80)
	i.Mtu = []uint32{0, 0, 1450, 1420, 9000}[w.IntN(5)]
	if onParent(i) {
		i.Mtu = []uint32{0, 1350}[w.IntN(2)] // not larger than the parent, and IPv6 needs 1280
	}
	if i.GetBridge() != nil {
		i.Mtu = 0 // the kernel no longer gives a bridge whose MTU was set the smallest MTU of its ports
	}
	i.LinkOnly = !onParent(i) && w.chance(5) // the MTU of such an interface does not follow its parent
	i.PhysAddress = ""
	if !w.hasNoMAC(i) && w.chance(40) {
		i.PhysAddress = fmt.Sprintf("02:00:00:00:%02x:%02x", w.IntN(2), 2*n+end)
	}
	i.IpAddresses, i.AddressLifetimes = nil, nil
	four, six := fmt.Sprintf("10.%d.0.%d", 100+n, end+1), fmt.Sprintf("2001:db8:%d::%d", 100+n, end+1)
	switch w.IntN(6) {
	case 0, 1:
		i.IpAddresses = []string{four + "/24"}
	case 2:
		i.IpAddresses = []string{four + "/24", six + "/64"}
	case 3:
		i.IpAddresses = []string{fmt.Sprintf("10.%d.1.%d/24", 100+n, end+1), fmt.Sprintf("10.%d.1.%d/24", 100+n, end+5), four + "/24"}
	}
	if w.chance(10) && !i.LinkOnly {
		i.IpAddresses = append(i.IpAddresses, "alloc:net")
	}
	if len(i.IpAddresses) > 1 && !i.LinkOnly && w.chance(20) {
		i.AddressLifetimes = []*interfaces.AddressLifetime{{Address: i.IpAddresses[1], Valid: 100_000, Preferred: 50_000}}
	}
	w.setParameters(i)
	if v := i.GetVeth(); v != nil {
		i.Link = &interfaces.Interface_Veth{Veth: &interfaces.VethLink{
			RxChecksumOffloading: interfaces.VethLink_ChecksumOffloading(w.IntN(3)), TxChecksumOffloading: interfaces.VethLink_ChecksumOffloading(w.IntN(3)),
		}}
		for _, o := range i.Offloads {
			if i.GetVeth().TxChecksumOffloading == interfaces.VethLink_CHKSM_OFFLOAD_DISABLED && netlinkapi.OffloadNeeds(o.Name) != "" {
				o.Enabled = false // the other one is invalid
			}
		}
	}
}

// onParent reports whether an interface is on another one.
func onParent(i *interfaces.Interface) bool {
	return i.GetVxlan() != nil || i.GetMacvlan() != nil || i.GetIpvlan() != nil || i.GetVlan() != nil || i.GetTunnel() != nil
}

func (w *walker) hasNoMAC(i *interfaces.Interface) bool {
	return i.GetTunnel() != nil || slices.Contains([]interfaces.Interface_Type{
		interfaces.Interface_LOOPBACK, interfaces.Interface_TUN, interfaces.Interface_WIREGUARD, interfaces.Interface_IPVLAN, interfaces.Interface_VRF_DEVICE,
	}, i.Type)
}

// parameters are the kernel parameters of the walks, with the lowest and the highest value.
var parameters = []struct {
	name     string
	min, max int
}{
	{"ipv4.rp_filter", 0, 2}, {"ipv4.arp_ignore", 0, 2}, {"ipv4.proxy_arp", 0, 1}, {"ipv4.forwarding", 0, 1}, {"ipv4.promote_secondaries", 0, 1},
	{"ipv6.accept_ra", 0, 2}, {"ipv6.forwarding", 0, 1}, {"ipv6.hop_limit", 1, 255}, {"ipv6.disable_ipv6", 0, 1}, {"ipv6.addr_gen_mode", 0, 1},
}

// walkOffloads are the offloads of the walks.
var walkOffloads = []string{"scatter-gather", "tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload", "tx-vlan-offload"}

// setParameters chooses kernel parameters, offloads and queues.
func (w *walker) setParameters(i *interfaces.Interface) {
	i.Sysctls, i.Offloads, i.Queues = nil, nil, nil
	for range w.IntN(3) {
		p := parameters[w.IntN(len(parameters))]
		if !slices.ContainsFunc(i.Sysctls, func(s *interfaces.Sysctl) bool { return s.Name == p.name }) {
			value := p.min + w.IntN(p.max-p.min+1)
			if p.name == "ipv6.disable_ipv6" && slices.ContainsFunc(i.IpAddresses, func(a string) bool { return strings.Contains(a, "::") }) {
				value = 0 // the other one is invalid
			}
			i.Sysctls = append(i.Sysctls, &interfaces.Sysctl{Name: p.name, Value: int32(value)})
		}
	}
	if i.Type != interfaces.Interface_VETH && i.Type != interfaces.Interface_EXISTING {
		return
	}
	if w.chance(30) {
		i.Offloads = []*interfaces.Offload{{Name: walkOffloads[w.IntN(len(walkOffloads))], Enabled: w.chance(50)}}
	}
	if w.chance(15) {
		i.Queues = &interfaces.Queues{Rx: uint32(w.IntN(3)), Tx: uint32(w.IntN(3))}
	}
}

// rename gives interfaces other names, and lets some exchange their names in the kernel.
func (w *walker) rename() {
	for n, s := range w.pool {
		if s != nil && w.chance(8) {
			s.renamed = !s.renamed
		}
		if w.chance(10) {
			w.hosts[n] = []string{"", fmt.Sprintf("h%d", n)}[w.IntN(2)]
		}
	}
	if w.chance(10) {
		w.first++
	}
	a, b := w.IntN(poolSize), w.IntN(poolSize)
	if w.chance(30) && w.hosts[a] != "" && w.hosts[b] != "" {
		w.hosts[a], w.hosts[b] = w.hosts[b], w.hosts[a]
	}
}

// join chooses the masters of an interface.
func (w *walker) join(n int, s *slot) {
	choose := func(item *interfaces.Interface, now int, types ...interfaces.Interface_Type) int {
		if !w.chance(30) {
			return now
		}
		var masters []int
		for m, o := range w.pool {
			if o != nil && m != n && (m < n || item.Type != interfaces.Interface_BOND) && slices.Contains(types, o.item.Type) && (proto.Equal(o.item.Namespace, item.Namespace) || w.chance(5)) {
				masters = append(masters, m)
			}
		}
		if len(masters) == 0 || w.chance(30) {
			return -1
		}
		return masters[w.IntN(len(masters))]
	}
	s.master = choose(s.item, s.master, interfaces.Interface_BRIDGE, interfaces.Interface_BOND)
	s.vrf = choose(s.item, s.vrf, interfaces.Interface_VRF_DEVICE)
	if s.peer != nil {
		s.peerMaster = choose(s.peer, s.peerMaster, interfaces.Interface_BRIDGE, interfaces.Interface_BOND)
	}
}

// name is the logical name of the interface of a slot, whether it exists or not; empty for -1.
func (w *walker) name(n int) string {
	switch {
	case n < 0:
		return ""
	case w.pool[n] != nil && w.pool[n].renamed:
		return fmt.Sprintf("w%dx", n)
	}
	return fmt.Sprintf("w%d", n)
}

// addInterfaces adds the interfaces of the pool.
func (w *walker) addInterfaces(out walktest.Values) {
	for n, s := range w.pool {
		if s == nil {
			continue
		}
		i := proto.CloneOf(s.item)
		i.Name = w.name(n)
		switch i.Type {
		case interfaces.Interface_EXISTING:
			i.HostIfName = existingName((n/4 + w.first) % existingLinks)
		case interfaces.Interface_LOOPBACK:
		default:
			i.HostIfName = w.hosts[n]
		}
		if s.vrf >= 0 || !w.carries(n) {
			w.addMaster(i, s.master, s.vrf)
		}
		w.addParent(i, s.parent)
		if s.peer != nil {
			p := proto.CloneOf(s.peer)
			p.Name = i.Name + "p"
			i.GetVeth().PeerIfName, p.GetVeth().PeerIfName = p.Name, i.Name
			w.addMaster(p, s.peerMaster, -1)
			if !w.chance(5) {
				out[w.key(p)] = p
			}
		}
		out[w.key(i)] = i
	}
}

// carries reports whether there is a MACVLAN or IPVLAN on the interface of a slot: that excludes a bridge or bond.
func (w *walker) carries(n int) bool {
	return slices.ContainsFunc(w.pool[:], func(s *slot) bool {
		return s != nil && (s.item.GetMacvlan() != nil || s.item.GetIpvlan() != nil) && (s.parent == n || s.parent == (n+poolSize-2)%poolSize)
	})
}

// addMaster fills in the masters that the type allows.
func (w *walker) addMaster(i *interfaces.Interface, master, vrf int) {
	noMAC := w.hasNoMAC(i) && i.Type != interfaces.Interface_IPVLAN
	switch {
	case i.Type == interfaces.Interface_VRF_DEVICE || i.Type == interfaces.Interface_LOOPBACK:
	case vrf >= 0:
		i.VrfMasterInterface = w.name(vrf)
	case master >= 0 && !noMAC && i.Type != interfaces.Interface_BRIDGE:
		i.MasterInterface = w.name(master)
		if m := w.pool[master]; m != nil && m.item.GetBridge().GetVlanFiltering() {
			i.BridgeVlans = w.vlans()
		}
	}
}

// addParent fills in the name of the parent.
func (w *walker) addParent(i *interfaces.Interface, parent int) {
	name := w.name(parent)
	if name == i.Name {
		parent = (parent + 2) % poolSize
		name = w.name(parent)
	}
	if parent >= 0 && w.pool[parent] != nil && onParent(w.pool[parent].item) {
		i.Mtu = 0 // another one may be too large
	}
	switch l := i.Link.(type) {
	case *interfaces.Interface_Vxlan:
		l.Vxlan.ParentInterface = name
	case *interfaces.Interface_Macvlan:
		l.Macvlan.ParentInterface = name
	case *interfaces.Interface_Ipvlan:
		l.Ipvlan.ParentInterface = name
	case *interfaces.Interface_Vlan:
		l.Vlan.ParentInterface = name
	case *interfaces.Interface_Tunnel:
		l.Tunnel.ParentInterface = name
	}
}
