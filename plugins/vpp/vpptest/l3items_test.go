package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func arpRange(first, last string, vrf uint32) *l3.ProxyARP_Range {
	return &l3.ProxyARP_Range{FirstIpAddr: first, LastIpAddr: last, VrfId: vrf}
}

func xc(iface string, protocol l3.L3XConnect_Protocol, paths ...*l3.L3XConnect_Path) *l3.L3XConnect {
	return &l3.L3XConnect{Interface: iface, Protocol: protocol, Paths: paths}
}

func xcPath(iface, hop string) *l3.L3XConnect_Path {
	return &l3.L3XConnect_Path{OutgoingInterface: iface, NextHopAddr: hop}
}

func dhcpProxy(source string, vrf uint32, servers ...*l3.DHCPProxy_DHCPServer) *l3.DHCPProxy {
	return &l3.DHCPProxy{SourceIpAddress: source, RxVrfId: vrf, Servers: servers}
}

func dhcpServer(addr string, vrf uint32) *l3.DHCPProxy_DHCPServer {
	return &l3.DHCPProxy_DHCPServer{IpAddress: addr, VrfId: vrf}
}

func router(id, priority uint32, addrs ...string) *l3.VRRPEntry {
	return &l3.VRRPEntry{
		Interface: "lo", VrId: id, Priority: priority, Interval: 1000, Preempt: true, IpAddresses: addrs, Enabled: true,
	}
}

// key returns the key of a message.
func key(m proto.Message) string {
	for key := range of(m) {
		return key
	}
	return ""
}

func TestProxyARP(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		p := &l3.ProxyARP{
			Interfaces: []*l3.ProxyARP_Interface{{Name: "lo"}, {Name: "later"}},
			Ranges:     []*l3.ProxyARP_Range{arpRange("10.1.1.10", "10.1.1.20", 0), arpRange("10.7.0.10", "10.7.0.20", 7)},
		}
		b.Must(of(p, loop("lo", "10.1.1.1/24")))
		b.Want(states{key(p): pending})
		b.Must(of(&l3.VrfTable{Id: 7}))
		b.Want(states{key(p): configured, "vpp/proxyarp/interface/lo": configured, "vpp/proxyarp/interface/later": pending})
		b.InSync()
		b.Must(of(loop("later")))
		b.Want(states{"vpp/proxyarp/interface/later": configured})
		readBack(t, b, "vpp-proxy-arp", of(p))
		b.InSync()

		// Ranges and interfaces change independently of each other.
		changed := proto.CloneOf(p)
		changed.Ranges = []*l3.ProxyARP_Range{arpRange("10.1.1.30", "10.1.1.30", 0), changed.Ranges[1]}
		changed.Interfaces = changed.Interfaces[:1]
		b.Must(of(changed))
		b.InSync()
		if got := b.Dump("vpp-proxy-arp")[key(p)].(*l3.ProxyARP); len(got.Ranges) != 2 || len(got.Interfaces) != 1 {
			t.Errorf("read back %v", got)
		}

		// Both go before what they stand on.
		b.Must(deleted(of(loop("lo"), &l3.VrfTable{Id: 7})))
		b.Want(states{key(p): pending})
		readBack(t, b, "vpp-proxy-arp", nil)
		b.Must(of(loop("lo"), &l3.VrfTable{Id: 7}))
		b.Want(states{key(p): configured, "vpp/proxyarp/interface/lo": configured})
		b.Must(deleted(of(p)))
		readBack(t, b, "vpp-proxy-arp", nil)

		// Nothing to do is done once.
		b.Must(of(&l3.ProxyARP{}))
		b.InSync()
	})
}

func TestIPScanNeighbor(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.CLI("set ip neighbor-config ip6 limit 77 recycle")
		s := &l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_IPV4, ScanInterval: 1, StaleThreshold: 4}
		b.Must(of(s))
		readBack(t, b, "vpp-ip-scan-neighbor", of(s))
		b.InSync()
		for _, changed := range []*l3.IPScanNeighbor{
			{Mode: l3.IPScanNeighbor_BOTH, MaxUpdate: 10}, {Mode: l3.IPScanNeighbor_IPV6, StaleThreshold: 255},
			{Mode: l3.IPScanNeighbor_DISABLED},
		} {
			b.Must(of(changed))
			b.InSync()
			if got := b.Dump("vpp-ip-scan-neighbor")[key(s)].(*l3.IPScanNeighbor); got.GetMode() != changed.Mode {
				t.Errorf("read back %v, expected %v", got, changed)
			}
		}
		b.Must(of(s))
		// Somebody else changes what cannot be expressed here.
		b.CLI("set ip neighbor-config ip4 age 17")
		if ops := b.Resync(); len(ops) != 1 || ops[0] != "update "+key(s) {
			t.Errorf("resync did %v", ops)
		}
		if text := b.CLI("show ip neighbor-config"); !strings.Contains(text, "limit:50000, age:240, recycle:0") ||
			!strings.Contains(text, "limit:77, age:0, recycle:1") {
			t.Errorf("the limits are\n%s", text)
		}
		b.Must(deleted(of(s)))
		readBack(t, b, "vpp-ip-scan-neighbor", nil)
		b.InSync()
	})
}

func TestL3XConnect(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		v4 := xc("in", l3.L3XConnect_IPV4, xcPath("out", "10.1.1.2"), xcPath("out", "10.1.1.3"))
		v4.Paths[1].Weight, v4.Paths[1].Preference = 7, 2
		v6 := xc("in", l3.L3XConnect_IPV6, xcPath("out", "2001:DB8::2"), xcPath("", "2001:db8:9::1"))
		all := of(v4, v6)
		b.Must(all)
		b.Must(of(loop("in", "10.0.0.1/24")))
		b.Want(states{key(v4): pending, key(v6): pending})
		b.Must(of(loop("out", "10.1.1.1/24", "2001:db8::1/64")))
		b.Want(states{key(v4): configured, key(v6): configured})
		readBack(t, b, "vpp-l3xc", all)
		b.InSync()

		// Packets take the new path, not only the dump.
		changed := xc("in", l3.L3XConnect_IPV4, xcPath("out", "10.1.1.9"))
		b.Must(of(changed))
		b.InSync()
		if text := forwarding(b); !strings.Contains(text, "10.1.1.9") || strings.Contains(text, "10.1.1.2") {
			t.Errorf("after the change:\n%s", text)
		}
		onLink := xc("out", l3.L3XConnect_IPV6, xcPath("in", ""))
		b.Must(of(onLink))
		b.InSync()
		b.Must(deleted(of(onLink)))

		b.Must(deleted(of(loop("in"))))
		b.Want(states{key(v4): pending, key(v6): pending})
		readBack(t, b, "vpp-l3xc", nil)
		b.Must(of(loop("in", "10.0.0.1/24")))
		b.Want(states{key(v4): configured, key(v6): configured})
		b.InSync()
		b.Must(deleted(all))
		readBack(t, b, "vpp-l3xc", nil)
	})
}

// forwarding tells what L3 cross-connects do with packets.
func forwarding(b *vpptest.Bench) string {
	if b.Sim != nil {
		return b.Sim.Dump()
	}
	return b.CLI("show l3xc")
}

func TestDHCPProxy(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		v4 := dhcpProxy("10.7.0.1", 7, dhcpServer("172.16.0.2", 8), dhcpServer("172.16.0.3", 0))
		v6 := dhcpProxy("2001:DB8::1", 0, dhcpServer("2001:db8:9::2", 0))
		b.Must(of(v4, v6))
		b.Want(states{key(v4): pending, key(v6): configured})
		b.Must(of(&l3.VrfTable{Id: 7}))
		b.Want(states{key(v4): pending})
		b.Must(of(&l3.VrfTable{Id: 8}))
		b.Want(states{key(v4): configured})
		readBack(t, b, "dhcp-proxy", of(v4, v6))
		b.InSync()

		changed := dhcpProxy("10.7.0.1", 7, dhcpServer("172.16.0.9", 0))
		b.Must(of(changed))
		readBack(t, b, "dhcp-proxy", of(changed, v6))
		b.InSync()
		changed = dhcpProxy("10.7.0.99", 7, dhcpServer("172.16.0.9", 0))
		b.Must(of(changed))
		readBack(t, b, "dhcp-proxy", of(changed, v6))

		b.Must(deleted(of(&l3.VrfTable{Id: 7})))
		b.Want(states{key(v4): pending})
		readBack(t, b, "dhcp-proxy", of(v6))
		b.Must(deleted(of(v4, v6, &l3.VrfTable{Id: 8})))
		readBack(t, b, "dhcp-proxy", nil)
		if got := b.Dump("vpp-vrf-table"); len(got) != 2 { // table 0 of both
			t.Errorf("tables left over: %v", got)
		}
	})
}

func TestTeib(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		entries := of(
			&l3.TeibEntry{Interface: "lo", PeerAddr: "10.1.1.2", NextHopAddr: "172.16.0.2"},
			&l3.TeibEntry{Interface: "lo", PeerAddr: "2001:DB8::2", NextHopAddr: "172.16.0.3"},
		)
		viaTable := &l3.TeibEntry{Interface: "lo", PeerAddr: "10.1.1.3", NextHopAddr: "2001:DB8:9::2", VrfId: 7}
		b.Must(entries)
		b.Must(of(viaTable, loop("lo", "10.1.1.1/24", "2001:db8::1/64"), &l3.VrfTable{Id: 7}))
		b.Want(states{key(viaTable): pending}) // its next hop is IPv6
		b.Must(of(&l3.VrfTable{Id: 7, Protocol: l3.VrfTable_IPV6}))
		entries[key(viaTable)] = viaTable
		readBack(t, b, "vpp-teib", entries)
		b.InSync()

		changed := proto.CloneOf(viaTable)
		changed.NextHopAddr = "2001:db8:9::3"
		b.Must(of(changed))
		b.InSync()
		b.Must(deleted(of(loop("lo"))))
		b.Want(states{key(viaTable): pending})
		readBack(t, b, "vpp-teib", nil)
		b.Must(of(loop("lo", "10.1.1.1/24")))
		b.Want(states{key(viaTable): configured})
		b.InSync()
		b.Must(deleted(entries))
		readBack(t, b, "vpp-teib", nil)
	})
}

func TestVRRP(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		backup, v6 := router(5, 100, "10.1.1.100", "10.1.1.101"), router(6, 1, "FE80::6")
		stopped, owner := router(7, 200, "10.1.1.102"), router(8, 255, "10.1.1.1")
		v6.Interval, v6.Preempt, v6.Accept = 65535, false, true
		stopped.Enabled, stopped.Unicast = false, true
		all := of(backup, v6, stopped, owner)
		b.Must(all)
		b.Must(of(loop("lo", "10.9.1.1/24", "2001:db8::1/64")))
		b.Want(states{key(backup): configured, key(owner): pending}) // it has not its own address
		b.Must(of(loop("lo", "10.1.1.1/24", "2001:db8::1/64")))
		allConfigured(t, b, all)
		readBack(t, b, "vrrp", all)
		b.InSync()

		started := proto.CloneOf(backup)
		started.Enabled = false
		b.Must(of(started))
		readBack(t, b, "vrrp", of(started, v6, stopped, owner))
		b.Must(of(backup))
		changed := proto.CloneOf(backup)
		changed.Priority, changed.IpAddresses = 101, []string{"10.1.1.101", "10.1.1.105"}
		b.Must(of(changed))
		readBack(t, b, "vrrp", of(changed, v6, stopped, owner))
		b.InSync()

		// The owner goes with its address, all with the interface.
		b.Must(of(loop("lo", "10.9.1.1/24")))
		b.Want(states{key(backup): configured, key(owner): pending})
		b.Must(deleted(of(loop("lo"))))
		b.Want(states{key(backup): pending})
		readBack(t, b, "vrrp", nil)
		b.Must(of(loop("lo", "10.1.1.1/24")))
		b.Want(states{key(backup): configured, key(owner): configured, key(stopped): configured, key(v6): pending})
		b.Must(deleted(all))
		readBack(t, b, "vrrp", nil)
		b.InSync()
	})
}

// A router that is configured together with its interface runs: it is started when
// there is an address, which VPP would not notice later.
func TestVRRPStartsInTime(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		v4, v6 := router(5, 100, "10.1.1.100"), router(6, 100, "fe80::6")
		lo := loop("lo", "10.1.1.1/24", "2001:db8::1/64")
		b.Must(of(v4, v6, lo))
		check := func(when string) {
			t.Helper()
			text := ""
			if b.Sim != nil {
				text = b.Sim.Dump()
			} else {
				text = b.CLI("show vrrp vr")
			}
			if strings.Contains(text, "INTF_DOWN") || strings.Contains(text, "Interface Down") {
				t.Errorf("%s:\n%s", when, text)
			}
			b.Want(states{key(v4): configured, key(v6): configured})
		}
		check("configured together")
		moved := loop("lo", "10.1.1.2/24", "2001:db8::2/64")
		b.Must(of(moved))
		check("with other addresses")
		b.InSync()
		b.Must(of(loop("lo")))
		b.Want(states{key(v4): pending, key(v6): pending})
		b.Must(of(lo))
		check("with addresses again")
	})
}

func TestInvalidL3Items(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	unicast, slow, short := router(5, 100, "10.1.1.100"), router(5, 100, "10.1.1.100"), router(5, 100, "10.1.1.100")
	unicast.Unicast, slow.Interval, short.Interval = true, 65536, 9
	heavy := xcPath("a", "10.0.0.1")
	heavy.Weight = 256
	for _, test := range []struct {
		value proto.Message
		want  string
	}{
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.0.0.1/24", "10.0.0.2", 0)}}, `ranges[0].first_ip_addr: "10.0.0.1/24", expected an IPv4 address`},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.0.0.1", "", 0)}}, `ranges[0].last_ip_addr: ""`},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("2001:db8::1", "2001:db8::2", 0)}}, "ranges[0].first_ip_addr: "},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.0.0.2", "10.0.0.1", 0)}}, "ranges[0].last_ip_addr: 10.0.0.1 is before"},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.0.0.1", "10.0.0.2", 0), arpRange("10.0.0.1", "10.0.0.2", 0)}}, "ranges[1]: "},
		{&l3.ProxyARP{Interfaces: []*l3.ProxyARP_Interface{{Name: "a"}, {Name: "a"}}}, `interfaces[1].name: "a" is listed twice`},
		{&l3.ProxyARP{Interfaces: []*l3.ProxyARP_Interface{{}}}, "interfaces[0].name: empty"},
		{&l3.IPScanNeighbor{Mode: 4}, "mode: 4, expected DISABLED"},
		{&l3.IPScanNeighbor{StaleThreshold: 256}, "stale_threshold: 256, expected 0 to 255"},
		{xc("", l3.L3XConnect_IPV4, xcPath("a", "")), "interface: empty"},
		{xc("a", l3.L3XConnect_IPV4), "paths: 0 paths, expected 1 to 255"},
		{xc("a", l3.L3XConnect_IPV4, xcPath("", "")), "both empty"},
		{xc("a", l3.L3XConnect_IPV4, xcPath("b", "2001:db8::1")), "paths[0].next_hop_addr: 2001:db8::1, expected an address of the protocol"},
		{xc("a", l3.L3XConnect_IPV4, xcPath("b", "x")), "paths[0].next_hop_addr: "},
		{xc("a", l3.L3XConnect_IPV4, xcPath("", "0.0.0.0")), "paths[0].next_hop_addr: "},
		{xc("a", l3.L3XConnect_IPV4, xcPath("b", "10.0.0.1"), xcPath("b", "10.0.0.1")), "paths[1]: is listed twice"},
		{xc("a", l3.L3XConnect_IPV4, heavy), "paths[0].weight: 256"},
		{dhcpProxy("x", 0, dhcpServer("10.0.0.1", 0)), "source_ip_address: "},
		{dhcpProxy("10.0.0.1", 0), "servers: 0 servers"},
		{dhcpProxy("0.0.0.0", 0, dhcpServer("10.0.0.1", 0)), "source_ip_address: 0.0.0.0"},
		{dhcpProxy("10.0.0.1", 0, dhcpServer("2001:db8::1", 0)), "servers[0].ip_address: 2001:db8::1, expected the version of IP"},
		{dhcpProxy("10.0.0.1", 0, dhcpServer("10.0.0.2", 1), dhcpServer("10.0.0.2", 1)), "servers[1].ip_address: 10.0.0.2 in table 1 is listed twice"},
		{&l3.TeibEntry{PeerAddr: "10.0.0.1", NextHopAddr: "10.0.0.2"}, "interface: empty"},
		{&l3.TeibEntry{Interface: "lo", NextHopAddr: "10.0.0.2"}, "peer_addr: "},
		{&l3.TeibEntry{Interface: "lo", PeerAddr: "10.0.0.1", NextHopAddr: "0.0.0.0"}, "next_hop_addr: 0.0.0.0"},
		{router(0, 100, "10.1.1.1"), "vr_id: 0, expected 1 to 255"},
		{router(5, 256, "10.1.1.1"), "priority: 256, expected 1 to 255"},
		{router(5, 100), "ip_addresses: 0 addresses"},
		{router(5, 100, "10.1.1.1", "2001:db8::1"), "ip_addresses[1]: 2001:db8::1, expected the version of IP of 10.1.1.1"},
		{router(5, 100, "10.1.1.1", "10.1.1.1"), "ip_addresses[1]: 10.1.1.1 is listed twice"},
		{slow, "interval: 65536 ms, expected 10 to 65535"}, {short, "interval: 9 ms"},
		{unicast, "unicast: VPP starts a unicast router only with peers"},
	} {
		if err := b.Commit(of(test.value)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, expected %q", err, test.want)
		}
	}
}

// Without its plugin VPP lacks the messages of an item: that one fails, for good,
// and names the plugin; everything else works and is synchronised.
func TestMissingPlugin(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	for _, name := range []string{
		"l3xc_update", "dhcp_proxy_config", "vrrp_vr_add_del", "teib_entry_add_del", "proxy_arp_add_del", "ip_neighbor_config",
	} {
		if err := target.Sim.Forget(name); err != nil {
			t.Fatal(err)
		}
	}
	b := vpptest.Start(t, target)
	err := b.Commit(network())
	for _, want := range []string{
		"L3 cross-connect (plugin l3xc): not supported by the connected VPP (needs l3xc_update_e96aabdf",
		"DHCP proxy (plugin dhcp): not supported", "VRRP (plugin vrrp): not supported", "tunnel endpoint: not supported",
		"proxy ARP: not supported", "ageing of neighbours: not supported",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	b.Want(states{ifKey("lo"): configured, key(router(5, 100, "10.1.1.1")): failed})
	b.Must(of(loop("another")))
	err = b.Commit(nil, kvs.WithResync(kvs.DownstreamResync, false))
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range strings.Split(err.Error(), "; ") {
		if !strings.Contains(part, "not supported") {
			t.Errorf("resync: %s", part)
		}
	}
}

// VPP refuses one half of an item: the error names it, and nothing of the item is
// left.
func TestRefusedL3Items(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		message string
		value   proto.Message
		want    string
	}{
		{"proxy_arp_add_del", &l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.0.0.5", "10.0.0.6", 0)}},
			"range 10.0.0.5-10.0.0.6 in table 0: proxy_arp_add_del: "},
		{"dhcp_proxy_config", dhcpProxy("10.0.0.1", 0, dhcpServer("10.0.0.3", 0)), "server 10.0.0.3 in table 0: dhcp_proxy_config: "},
		{"vrrp_vr_start_stop", router(5, 100, "10.1.1.1"), "start virtual router 5: vrrp_vr_start_stop: "},
		{"l3xc_update", xc("lo", l3.L3XConnect_IPV4, xcPath("lo", "")), "l3xc_update: "},
		{"teib_entry_add_del", &l3.TeibEntry{Interface: "lo", PeerAddr: "10.0.0.1", NextHopAddr: "10.0.0.2"}, "teib_entry_add_del: "},
		{"ip_neighbor_config", &l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_BOTH}, "IPv4: ip_neighbor_config: "},
	} {
		t.Run(test.message, func(t *testing.T) {
			t.Parallel()
			target := vpptest.Simulator(t, simOptions())
			b := vpptest.Start(t, target)
			b.Must(of(loop("lo", "10.1.1.2/24")))
			before := target.Sim.Dump()
			if err := target.Sim.Fail(test.message, api.VPPApiError(-1), 1); err != nil {
				t.Fatal(err)
			}
			err := b.Commit(of(test.value))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "Unspecified") {
				t.Errorf("error %v, expected %q", err, test.want)
			}
			if now := target.Sim.Dump(); now != before {
				t.Errorf("half-made:\n%s", now)
			}
			b.Must(of(test.value))
			b.Want(states{key(test.value): configured})
			b.InSync()
			b.Must(deleted(of(test.value)))
			if now := target.Sim.Dump(); now != before {
				t.Errorf("left over:\n%s", now)
			}
		})
	}
}

func l3Samples() []proto.Message {
	out := []proto.Message{
		&l3.ProxyARP{}, &l3.ProxyARP{Interfaces: []*l3.ProxyARP_Interface{{Name: "a"}}},
		&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.0.0.1", "10.0.0.2", 3), arpRange("10.0.0.1", "10.0.0.2", 0)}},
		&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.0.0.1", "10.0.0.2", 0), arpRange("10.0.0.1", "::ffff:10.0.0.2", 3)}},
		&l3.IPScanNeighbor{}, &l3.IPScanNeighbor{ScanInterval: 9}, &l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_BOTH},
		&l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_BOTH, StaleThreshold: 4}, &l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_IPV6, MaxUpdate: 3},
		xc("a", l3.L3XConnect_IPV6, xcPath("b", "2001:DB8::1"), xcPath("c", "")),
		xc("a", l3.L3XConnect_IPV6, xcPath("c", "::"), xcPath("b", "2001:db8::1")), xc("a", l3.L3XConnect_IPV6, xcPath("b", "")),
		dhcpProxy("2001:DB8::1", 3, dhcpServer("2001:DB8::2", 1), dhcpServer("2001:db8::2", 0)),
		dhcpProxy("2001:db8::1", 3, dhcpServer("2001:db8::2", 0), dhcpServer("2001:db8::2", 1)),
		dhcpProxy("2001:db8::9", 3, dhcpServer("2001:db8::2", 0)),
		&l3.TeibEntry{Interface: "a", PeerAddr: "2001:db8::1", NextHopAddr: "2001:DB8::2", VrfId: 3},
		&l3.TeibEntry{Interface: "a", PeerAddr: "2001:db8::1", NextHopAddr: "2001:db8::2", VrfId: 3},
		&l3.TeibEntry{Interface: "a", PeerAddr: "2001:db8::1", NextHopAddr: "10.0.0.1"},
		router(5, 100, "10.1.1.1", "10.1.1.2"), router(5, 100, "10.1.1.2", "10.1.1.1"), router(5, 255, "10.1.1.2"),
	}
	faster := router(5, 255, "10.1.1.2")
	faster.Interval = 1009
	return append(out, faster)
}
