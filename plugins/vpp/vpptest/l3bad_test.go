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

func TestInvalidL3Items(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	lonely, slow, short := router(5, 100, "10.1.1.100"), router(5, 100, "10.1.1.100"), router(5, 100, "10.1.1.100")
	lonely.Unicast, slow.Interval, short.Interval = true, 65536, 9
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
		{lonely, "unicast_peers: empty, expected the address of another router"},
		{withPeers(router(5, 100, "10.1.1.1"), false, "10.1.1.9"), "unicast_peers: 1 addresses, expected none without unicast"},
		{withPeers(router(5, 100, "10.1.1.1"), true, "x"), `unicast_peers[0]: "x"`},
		{withPeers(router(5, 100, "10.1.1.1"), true, "10.1.1.9", "fe80::1"), "unicast_peers[1]: fe80::1, expected the version of IP of 10.1.1.1"},
		{withPeers(router(5, 100, "10.1.1.1"), true, "224.0.0.18"), "unicast_peers[0]: 224.0.0.18, expected the address of a router"},
		{withPeers(router(5, 100, "10.1.1.1"), true, "10.1.1.9", "10.1.1.9"), "unicast_peers[1]: 10.1.1.9 is listed twice"},
	} {
		if err := b.Commit(of(test.value)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, expected %q", err, test.want)
		}
	}
}

// Without its plugin VPP lacks the messages of an item: that one is UNIMPLEMENTED
// and names the plugin; everything else works and is synchronised.
func TestMissingPlugin(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	for _, name := range []string{
		"l3xc_update", "dhcp_proxy_config", "vrrp_vr_add_del", "teib_entry_add_del", "proxy_arp_add_del", "ip_neighbor_config",
	} {
		forget(t, target, name)
	}
	b := vpptest.Start(t, target)
	err := b.Commit(network())
	for _, want := range []string{
		"L3 cross-connect (plugin l3xc of VPP): not supported by the connected VPP (needs l3xc_update_e96aabdf",
		"DHCP proxy (plugin dhcp of VPP): not supported", "VRRP (plugin vrrp of VPP): not supported", "TEIB: not supported",
		"proxy ARP: not supported", "IP scan neighbor: not supported",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	b.Want(states{ifKey("lo"): configured, key(router(5, 100, "10.1.1.1")): impossible})
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
		{"vrrp_vr_set_peers", withPeers(router(5, 100, "10.1.1.1"), true, "10.1.1.9"), "peers of virtual router 5: vrrp_vr_set_peers: "},
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
		withPeers(router(5, 100, "10.1.1.1"), true, "10.1.1.8", "10.1.1.9"), withPeers(router(5, 100, "10.1.1.1"), true, "10.1.1.9", "10.1.1.8"),
		withPeers(router(5, 100, "10.1.1.1"), true, "10.1.1.9"),
	}
	faster := router(5, 255, "10.1.1.2")
	faster.Interval = 1009
	return append(out, faster)
}
