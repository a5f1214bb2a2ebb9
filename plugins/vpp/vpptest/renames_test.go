package vpptest_test

import (
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// renamed are the kinds of interfaces that VPP refuses to create twice, whatever their name.
var renamed = []struct {
	kind string
	link func(name string) *interfaces.Interface
	l2   bool // can be bridged and cross-connected
}{
	{"VXLAN", func(name string) *interfaces.Interface { return vxlan(name, "192.0.2.1", "192.0.2.2", 100) }, true},
	{"VXLAN-GPE", func(name string) *interfaces.Interface { return vxlanGpe(name, "192.0.2.1", "192.0.2.2", 100) }, false},
	{"GTP-U", func(name string) *interfaces.Interface { return gtpu(name, "192.0.2.1", "192.0.2.2", 100) }, false},
	{"GRE", func(name string) *interfaces.Interface {
		return gre(name, "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB)
	}, true},
	{"IPIP", func(name string) *interfaces.Interface { return ipip(name, "192.0.2.1", "192.0.2.2") }, false},
	{"sub-interface", func(name string) *interfaces.Interface { return subif(name, "q", 10) }, true},
	{"WireGuard", func(name string) *interfaces.Interface { return wireguard(name) }, false},
	{"memif", func(name string) *interfaces.Interface { return memif(name, 7, "") }, true},
	{"bond", func(name string) *interfaces.Interface { return bond(name, 7) }, true},
	{"TAP", func(name string) *interfaces.Interface {
		i := tap(name)
		i.GetTap().HostIfName = "rename0"
		return i
	}, true},
}

// referrers use an interface, and could be updated in place to use another one.
func referrers(iface string, layer2 bool) []proto.Message {
	list := []proto.Message{
		&l3.Route{DstNetwork: "10.9.0.0/16", OutgoingInterface: iface},
		received("list", 0, iface), steers(1, "list", iface, "10.9.0.2", attachedTo("m", 0, false)),
		&l3.L3XConnect{Interface: "q", Paths: []*l3.L3XConnect_Path{{OutgoingInterface: iface, NextHopAddr: "10.9.0.2"}}},
		&interfaces.Span{InterfaceFrom: "m", InterfaceTo: iface, Direction: interfaces.Span_RX},
	}
	if layer2 {
		list = append(list, xconnect("p", iface), &l2.BridgeDomain{Name: "bd", Learn: true, Interfaces: []*l2.BridgeDomain_Interface{{Name: iface}}})
	}
	return list
}

// An interface gets another name in one transaction, without a failure, while others use it.
func TestRenames(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("q"), loop("p"), loop("m")))
		for _, k := range renamed {
			if k.kind == "TAP" && target.Sim == nil {
				if _, err := os.Stat("/dev/vhost-net"); err != nil {
					continue // VPP cannot create a TAP
				}
			}
			before := of(append(referrers("z-old", k.l2), k.link("z-old"))...)
			b.Must(before, kvs.WithRevert())
			for _, name := range []string{"a-new", "z-old"} { // after the old one by key, and before
				change := deleted(before)
				after := of(append(referrers(name, k.l2), k.link(name))...)
				for key, v := range after {
					change[key] = v
				}
				if err := b.Commit(change, kvs.WithRevert()); err != nil {
					t.Fatalf("%s: %v", k.kind, err)
				}
				allConfigured(t, b, after)
				b.InSync()
				before = after
			}
			b.Must(deleted(before))
			b.InSync()
		}
	})
}

// What uses an interface gets another name together with it.
func TestRenamedTogether(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		policy := catalogue.SRv6Policy("2001:db8::1", catalogue.SRv6Segments(1, "2001:db8:9::1"))
		b.Must(of(&nat.Nat44Global{}, policy))
		named := func(name string, last string) values {
			peer := peerOn(name + "-wg")
			addresses := pool("192.0.2.10", last)
			addresses.Name = name
			return of(wireguard(name+"-wg"), peer, memif(name+"-member", 7, ""), bond("bond", 7, name+"-member"),
				addresses, catalogue.SRv6Steering(name, "2001:db8::1", "10.5.0.0/16"))
		}
		before := named("m", "192.0.2.12")
		b.Must(before, kvs.WithRevert())
		for _, name := range []string{"a", "z"} {
			change := deleted(before)
			after := named(name, "192.0.2.14")
			for key, v := range after {
				change[key] = v
			}
			if err := b.Commit(change, kvs.WithRevert()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			allConfigured(t, b, after)
			b.InSync()
			before = after
		}
	})
}

// Two pools exchange addresses in place.
func TestExchangedAddresses(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		named := func(name, first, last string) *nat.Nat44AddressPool {
			p := pool(first, last)
			p.Name = name
			return p
		}
		b.Must(of(&nat.Nat44Global{}, named("a", "192.0.2.10", "192.0.2.19"), named("b", "192.0.2.20", "192.0.2.29")))
		b.Must(of(named("a", "192.0.2.15", "192.0.2.24"), named("b", "192.0.2.25", "192.0.2.29")), kvs.WithRevert())
		b.InSync()
		b.Must(of(named("a", "192.0.2.25", "192.0.2.29"), named("b", "192.0.2.15", "192.0.2.24")), kvs.WithRevert())
		b.InSync()
	})
}

// Two interfaces exchange what makes them one object of VPP, while others use them.
func TestExchangedTunnels(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("p"), loop("q"), xconnect("p", "a"), xconnect("q", "b"),
			vxlan("a", "192.0.2.1", "192.0.2.2", 1), vxlan("b", "192.0.2.1", "192.0.2.2", 2)))
		b.Must(of(vxlan("a", "192.0.2.1", "192.0.2.2", 2), vxlan("b", "192.0.2.1", "192.0.2.2", 1)), kvs.WithRevert())
		b.InSync()
	})
}

// An interface moves between attachments, and a mapping between groups, in one transaction.
func TestMovedParts(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(&nat.Nat44Global{}, loop("a"), loop("b"), bridge("x", "a"), bond("bond1", 1, "b"), bond("bond2", 2), dnat("one", "192.0.2.1", 80, "10.0.0.1")))
		change := deleted(of(bridge("x", "a"), dnat("one", "192.0.2.1", 80, "10.0.0.1")))
		moved := of(bridge("b", "a"), bond("bond1", 1), bond("bond2", 2, "b"), dnat("a", "192.0.2.1", 80, "10.0.0.1"))
		for key, v := range moved {
			change[key] = v
		}
		b.Must(change, kvs.WithRevert())
		allConfigured(t, b, moved)
		b.InSync()
	})
}
