package linuxtest_test

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/walktest"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// userCount is the number of items that use interfaces or stand alone, at most.
const userCount = 14

// addUsers keeps some of the items that use interfaces, changes some, and adds others.
func (w *walker) addUsers(out walktest.Values) {
	for _, key := range slices.Sorted(maps.Keys(w.users)) {
		if w.chance(30) {
			delete(w.users, key)
		}
	}
	makers := []func() proto.Message{w.route, w.route, w.route, w.route, w.neighbour, w.rule, w.nexthop, w.chain, w.chain, w.table, w.proxy, w.allocation}
	for len(w.users) < w.IntN(userCount) {
		v := makers[w.IntN(len(makers))]()
		w.users[w.key(v)] = v
	}
	maps.Copy(out, w.users)
}

// user returns the number and the name of an interface that may exist.
func (w *walker) user() (n int, name string) {
	n = w.IntN(poolSize)
	return n, w.name(n)
}

func (w *walker) route() proto.Message {
	n, name := w.user()
	r := &l3.Route{OutgoingInterface: name, DstNetwork: fmt.Sprintf("10.%d.0.0/16", 200+w.IntN(4)), Scope: l3.Route_GLOBAL,
		GwAddr: fmt.Sprintf("10.%d.0.9", 100+n), Metric: uint32(n + w.IntN(2)*50), Table: uint32(w.IntN(2) * 77)}
	switch w.IntN(10) {
	case 0:
		r.Scope, r.GwAddr = l3.Route_LINK, ""
	case 1:
		r.DstNetwork, r.GwAddr = fmt.Sprintf("2001:db8:f%d::/64", w.IntN(3)), fmt.Sprintf("2001:db8:%d::9", 100+n)
	case 2:
		m, other := w.user()
		if m == n {
			return r
		}
		r.NextHops = []*l3.Route_NextHop{{OutgoingInterface: other, GwAddr: fmt.Sprintf("10.%d.0.9", 100+m), Weight: uint32(w.IntN(3))}}
	case 3:
		r.GwAddr, r.Type = "", []l3.Route_Type{l3.Route_BLACKHOLE, l3.Route_UNREACHABLE, l3.Route_PROHIBIT}[w.IntN(3)]
	case 4:
		r.GwAddr, r.Nexthop = "", fmt.Sprintf("nh%d", w.IntN(nexthops))
	case 5:
		r.SourceAddr, r.Mtu, r.AdvMss = fmt.Sprintf("10.%d.0.1", 100+n), 1300, uint32(w.IntN(2)*1200)
	case 6:
		r.GwAddr, r.Table = "alloc:net/"+name+"/GW", 0
	case 7:
		r.GwAddr, r.OnLink = "192.0.2.77", true
	}
	return r
}

func (w *walker) neighbour() proto.Message {
	n, name := w.user()
	a := &l3.ARPEntry{Interface: name, IpAddress: fmt.Sprintf("10.%d.0.77", 100+n), HwAddress: fmt.Sprintf("02:00:00:00:aa:%02x", w.IntN(3))}
	if w.chance(30) {
		a.IpAddress = fmt.Sprintf("2001:db8:%d::77", 100+n)
	}
	return a
}

func (w *walker) rule() proto.Message {
	n := w.IntN(4)
	r := &l3.Rule{Name: fmt.Sprintf("r%d", n), Namespace: w.namespace(), Priority: uint32(1000 + n), Table: uint32(77 + w.IntN(2)), Invert: w.chance(10)}
	if w.chance(50) {
		r.SrcNetwork = fmt.Sprintf("10.%d.0.0/16", 100+w.IntN(3))
	}
	if w.chance(30) {
		r.Fwmark, r.Fwmask = 7, uint32(w.IntN(2)*255)
	}
	if w.chance(30) {
		r.Ipv6, r.SrcNetwork = true, ""
	}
	return r
}

// nexthops is the number of nexthop objects; the last ones are groups.
const nexthops = 5

func (w *walker) nexthop() proto.Message {
	n := w.IntN(nexthops)
	h := &l3.Nexthop{Name: fmt.Sprintf("nh%d", n), Id: uint32(10 + n)}
	if n >= 3 {
		h.Namespace = w.namespace()
		h.Members = []*l3.Nexthop_Member{{Nexthop: "nh0", Weight: uint32(w.IntN(3))}, {Nexthop: fmt.Sprintf("nh%d", 1+w.IntN(2))}}
		return h
	}
	if w.chance(20) {
		h.Namespace, h.Blackhole = left, true // its loopback stays up: the kernel keeps them when one goes down, but adds none then
		return h
	}
	m, name := w.user()
	h.OutgoingInterface, h.GwAddr = name, fmt.Sprintf("10.%d.0.9", 100+m)
	if s := w.pool[m]; s != nil {
		h.Namespace = s.item.Namespace
	}
	return h
}

func (w *walker) chain() proto.Message {
	n := w.IntN(8)
	c := &iptables.RuleChain{Name: fmt.Sprintf("c%d", n), Namespace: []*namespace.NetNamespace{nil, left}[n%2], Protocol: iptables.RuleChain_Protocol(w.IntN(2))}
	source := []string{"-s 10.0.0.1/32", "-s 2001:db8::1/128"}[c.Protocol]
	rules := []string{source + " -j ACCEPT", "-p tcp -m tcp --dport 22 -j ACCEPT", "-p udp -m udp --dport 53 -j DROP", "-i lo -j ACCEPT"}
	w.Shuffle(len(rules), func(a, b int) { rules[a], rules[b] = rules[b], rules[a] })
	c.Rules = rules[:w.IntN(len(rules))]
	switch {
	case n < 3:
		c.ChainName = fmt.Sprintf("CUSTOM%d", n)
	case n < 7:
		c.ChainType = []iptables.RuleChain_ChainType{iptables.RuleChain_INPUT, iptables.RuleChain_FORWARD}[n/5]
		if n == 3 || n == 5 {
			c.DefaultPolicy = iptables.RuleChain_Policy(w.IntN(3))
		}
	default:
		c.Table, c.ChainType = iptables.RuleChain_NAT, iptables.RuleChain_POSTROUTING
		c.Rules = []string{source + " -j MASQUERADE"}
	}
	if w.chance(20) {
		_, name := w.user()
		c.Interfaces = []string{name}
	}
	return c
}

func (w *walker) table() proto.Message {
	n := w.IntN(3)
	return &nftables.Table{Name: fmt.Sprintf("t%d", n), Namespace: []*namespace.NetNamespace{nil, left, left}[n], Family: nftables.Table_Family(w.IntN(2)),
		TableName: fmt.Sprintf("walk%d", n), Content: []string{
			"chain c {\n type filter hook input priority 0; policy accept;\n ip saddr 10.0.0.1 counter drop\n}",
			"chain c {\n accept\n}\nchain d {\n jump c\n}",
			"set s {\n type ipv4_addr\n elements = { 10.1.0.9 }\n}\nchain c {\n type filter hook forward priority 5; policy accept;\n ip saddr @s drop\n}",
		}[w.IntN(3)]}
}

func (w *walker) proxy() proto.Message {
	n := w.IntN(3)
	return &punt.Proxy{Name: fmt.Sprintf("p%d", n),
		Rx: &punt.Proxy_RxPort{RxPort: &punt.PortBased{L4Protocol: punt.PortBased_UDP, L3Protocol: punt.PortBased_IPV4, Port: uint32(5300 + 10*n + w.IntN(2)), Namespace: w.namespace()}},
		Tx: &punt.Proxy_TxPort{TxPort: &punt.PortBased{L4Protocol: punt.PortBased_UDP, L3Protocol: punt.PortBased_IPV4, Port: 53, IpAddress: "10.1.0.1"}}}
}

// allocation is the address of an interface; its routes may be through the gateway.
func (w *walker) allocation() proto.Message {
	n, name := w.user()
	return &netalloc.IPAllocation{NetworkName: "net", InterfaceName: name, Address: fmt.Sprintf("10.%d.7.%d/24", 100+n, 1+w.IntN(2)), Gw: fmt.Sprintf("10.%d.7.254", 100+n)}
}

// key returns the key of an item.
func (w *walker) key(m proto.Message) string { return linuxtest.Key(w.t, m) }
