package vpptest_test

import (
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// neighborsOf returns neighbours of an interface, static ones and others, of both versions of IP:
// those that the addresses of numbered cover, and others.
func neighborsOf(iface string) []proto.Message {
	var out []proto.Message
	for _, addr := range []string{"10.4.0.9", "10.44.0.9", "2001:db8:4::9", "2001:db8:44::9", "fe80::9"} {
		out = append(out, &l3.ARPEntry{Interface: iface, IpAddress: addr, PhysAddress: "02:00:00:00:00:0a"})
	}
	for _, addr := range []string{"10.4.0.8", "10.44.0.8", "2001:db8:4::8", "2001:db8:44::8", "fe80::8"} {
		out = append(out, &l3.ARPEntry{Interface: iface, IpAddress: addr, PhysAddress: "02:00:00:00:00:0b", Static: true})
	}
	return out
}

// numbered gives an interface addresses that cover some of its neighbours.
func numbered(i *interfaces.Interface) *interfaces.Interface {
	i.IpAddresses = []string{"10.4.0.1/24", "2001:db8:4::1/64"}
	return i
}

// VPP drops neighbours that are not static with an address that covers them, and when their
// interface goes down. What the agent does to the interface leaves them in place.
func TestNeighborsOutlastChangesOfTheirInterface(t *testing.T) {
	for name, change := range map[string]func(i *interfaces.Interface){
		"address":           func(i *interfaces.Interface) { i.IpAddresses = []string{"10.4.0.2/24", "2001:db8:4::2/64"} },
		"prefix length":     func(i *interfaces.Interface) { i.IpAddresses = []string{"10.4.0.1/16", "2001:db8:4::1/48"} },
		"no address":        func(i *interfaces.Interface) { i.IpAddresses = nil },
		"one version of IP": func(i *interfaces.Interface) { i.IpAddresses = i.IpAddresses[1:] },
		"MAC address":       func(i *interfaces.Interface) { i.PhysAddress = "02:00:00:00:00:44" },
		"table":             func(i *interfaces.Interface) { i.Vrf = 4 },
		"disabled":          func(i *interfaces.Interface) { i.Enabled = false },
		"borrowed address": func(i *interfaces.Interface) {
			i.IpAddresses, i.Unnumbered = nil, &interfaces.Interface_Unnumbered{InterfaceWithIp: "lender"}
		},
		"DHCP": func(i *interfaces.Interface) { i.IpAddresses, i.SetDhcpClient = nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				b := vpptest.Start(t, target)
				before := numbered(loop("la"))
				after := proto.CloneOf(before)
				change(after)
				entries := of(neighborsOf("la")...)
				b.Must(of(loop("lender", "10.5.0.1/24"), before, &l3.VrfTable{Id: 4}, &l3.VrfTable{Id: 4, Protocol: l3.VrfTable_IPV6}))
				b.Must(entries)
				neighborsStay(t, b, entries, after, before, after)
			})
		})
	}
}

// neighborsStay makes one change after the other, and expects VPP to have the neighbours after each.
func neighborsStay(t *testing.T, b *vpptest.Harness, entries values, changes ...proto.Message) {
	t.Helper()
	for _, change := range changes {
		b.Must(of(change))
		allConfigured(t, b, entries)
		readBack(t, b, "vpp-arp", entries)
	}
	b.InSync()
}

// A sub-interface goes down with its parent, and up again.
func TestNeighborsOutlastTheirParent(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		parent, entries := loop("loop"), of(neighborsOf("s")...)
		down := proto.CloneOf(parent)
		down.Enabled = false
		b.Must(of(parent, numbered(subif("s", "loop", 100))))
		b.Must(entries)
		neighborsStay(t, b, entries, down, parent, down)
	})
}

// The addresses wait for something outside the interface, and the neighbours that are not static with them.
func TestNeighborsFollowAddresses(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		la := numbered(loop("la"))
		la.Vrf = 4
		tables := of(&l3.VrfTable{Id: 4}, &l3.VrfTable{Id: 4, Protocol: l3.VrfTable_IPV6})
		entries := of(neighborsOf("la")...)
		remain := values{}
		for key, v := range entries {
			if v.(*l3.ARPEntry).GetStatic() {
				remain[key] = v
			}
		}
		b.Must(of(la))
		b.Must(entries)
		for range 2 {
			readBack(t, b, "vpp-arp", remain)
			allConfigured(t, b, remain)
			b.InSync()
			b.Must(tables)
			readBack(t, b, "vpp-arp", entries)
			allConfigured(t, b, entries)
			b.InSync()
			b.Must(deleted(tables))
		}
	})
}

// An address that an interface refers to changes without a change of the interface.
func TestNeighborsFollowAllocations(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		entries := of(neighborsOf("la")...)
		b.Must(of(loop("la", "alloc:net", "2001:db8:4::1/64"), allocation("net", "la", "10.4.0.1/24", "")))
		b.Must(entries)
		neighborsStay(t, b, entries, allocation("net", "la", "10.4.0.2/24", ""), allocation("net", "la", "10.4.0.2/16", ""), allocation("net", "la", "10.5.0.1/24", ""))
	})
}

// The interface changed while the agent was stopped.
func TestNeighborsOutlastARestart(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		la, entries := numbered(loop("la")), of(neighborsOf("la")...)
		b.Must(of(la))
		b.Must(entries)
		for _, change := range []func(){
			func() { la.IpAddresses[0] = "10.4.0.2/24" },
			func() { la.Enabled = false },
		} {
			b.Stop()
			la = proto.CloneOf(la)
			change()
			b = vpptest.Start(t, target)
			all := of(la)
			maps.Copy(all, entries)
			b.FullResync(all)
			allConfigured(t, b, all)
			readBack(t, b, "vpp-arp", entries)
			b.InSync()
		}
	})
}
