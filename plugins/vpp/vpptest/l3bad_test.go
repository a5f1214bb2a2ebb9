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
		{"dhcp_proxy_config", &l3.DHCPProxy{SourceIpAddress: "10.0.0.1", Servers: []*l3.DHCPProxy_DHCPServer{dhcpServer("10.0.0.3", 0)}}, "server 10.0.0.3 in table 0: dhcp_proxy_config: "},
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
