package vpptest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

func allocation(network, iface, address, gw string) *netalloc.IPAllocation {
	return &netalloc.IPAllocation{NetworkName: network, InterfaceName: iface, Address: address, Gw: gw}
}

// What refers to an allocated address waits for it, follows it when it changes, and is found
// again by another agent.
func TestAllocatedAddresses(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		lo := loop("lo", "alloc:net1", "10.9.0.1/24")
		route := &l3.Route{DstNetwork: "alloc:net2/far", NextHopAddr: "alloc:net1/GW", OutgoingInterface: "lo"}
		items := of(lo, route)
		const address = "vpp/interface/lo/address/alloc_ref/alloc:net1"
		b.Must(items)
		b.Want(states{ifKey("lo"): configured, address: pending, routeKey(route): pending})

		allocated := of(allocation("net1", "lo", "10.1.0.1/24", "10.1.0.254"), allocation("net2", "far", "10.2.0.7/16", ""))
		b.Must(allocated)
		has := func(what string, prefixes ...string) {
			t.Helper()
			b.Want(states{ifKey("lo"): configured, address: configured, routeKey(route): configured})
			fib := b.CLI("show ip fib")
			for _, p := range prefixes {
				if !strings.Contains(fib, p) {
					t.Errorf("%s: the FIB has no %s:\n%s", what, p, fib)
				}
			}
			infratest.EqualMessages(t, what+": read back", b.Dump("vpp-route")[routeKey(route)], route)
			if got, _ := b.Dump("vpp-interface")[ifKey("lo")].(*interfaces.Interface); len(got.GetIpAddresses()) != 2 {
				t.Errorf("%s: read back %v", what, got)
			}
			b.InSync()
		}
		has("allocated", "10.1.0.1/32", "10.2.0.0/16", "10.9.0.1/32")

		b.Must(of(allocation("net1", "lo", "10.3.0.1/24", "10.3.0.254")))
		has("with another address", "10.3.0.1/32", "10.2.0.0/16")
		if fib := b.CLI("show ip fib"); strings.Contains(fib, "10.1.0.1/32") {
			t.Errorf("the old address is there:\n%s", fib)
		}

		b.Stop()
		b = vpptest.Start(t, target)
		all := of(lo, route, allocation("net1", "lo", "10.3.0.1/24", "10.3.0.254"), allocation("net2", "far", "10.2.0.7/16", ""))
		for _, op := range b.FullResync(all) {
			t.Errorf("another agent had to %s", op)
		}
		has("found again", "10.3.0.1/32")

		b.Must(deleted(of(allocation("net1", "lo", "", ""))))
		b.Want(states{ifKey("lo"): configured, address: pending, routeKey(route): pending})
		b.Must(deleted(all))
		b.InSync()
	})
}

// References and allocations that cannot be right name the field.
func TestBadAllocations(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	for want, m := range map[string]proto.Message{
		"ip_addresses[0]: \"alloc:\": expected alloc:NETWORK":               loop("x", "alloc:"),
		"ip_addresses[0]: \"alloc:net1/GW\": refers to a gateway":           loop("x", "alloc:net1/GW"),
		"dst_network: \"alloc:net1/GW\": refers to a gateway":               &l3.Route{DstNetwork: "alloc:net1/GW", OutgoingInterface: "lo"},
		"next_hop_addr: \"alloc:net1\": expected alloc:NETWORK[/INTERFACE]": &l3.Route{DstNetwork: "10.0.0.0/8", NextHopAddr: "alloc:net1"},
		"peer_addr: \"alloc:net1/GW\": expected alloc:NETWORK[/INTERFACE]":  &l3.TeibEntry{PeerAddr: "alloc:net1/GW", NextHopAddr: "10.0.0.1"},
		"st_mappings[0].local_ips[0].local_ip: \"alloc:net1\": expected alloc:NETWORK[/INTERFACE]": &nat.DNat44{
			Label: "d", StMappings: []*nat.DNat44_StaticMapping{{ExternalIp: "10.0.0.1", LocalIps: []*nat.DNat44_StaticMapping_LocalIP{{LocalIp: "alloc:net1"}}}},
		},
		"address: \"10.0.0/8\": expected an IP address":                                             allocation("n", "x", "10.0.0/8", ""),
		"gw: 2001:db8::1, expected the version of IP of 10.0.0.1":                                   allocation("n", "x", "10.0.0.1/8", "2001:db8::1"),
		"network_name: \"a/b\" contains":                                                            allocation("a/b", "x", "10.0.0.1/8", ""),
		"interface_name: empty":                                                                     allocation("n", "", "10.0.0.1/8", ""),
		"alloc:net6 is the IPv6 address 2001:db8::1/64: in VRF table 7 the interface needs another": nil,
	} {
		var items values
		if m != nil {
			items = of(m)
		} else {
			x := loop("x", "alloc:net6")
			x.Vrf = 7
			items = of(x, &l3.VrfTable{Id: 7}, allocation("net6", "x", "2001:db8::1/64", ""))
		}
		if err := b.Commit(items); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
		b.Must(deleted(items))
	}
}
