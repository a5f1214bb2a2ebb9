package vpptest_test

import (
	"fmt"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestRoutes(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		in7 := loop("in7", "10.7.0.1/24", "2001:db8:7::1/64")
		in7.Vrf = 7
		routes := []*l3.Route{
			{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "lo"},
			{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.3", OutgoingInterface: "lo", Weight: 5},
			{DstNetwork: "10.8.0.0/16", NextHopAddr: "10.1.1.2"},
			{DstNetwork: "10.10.0.0/16", OutgoingInterface: "lo", Preference: 4},
			{DstNetwork: "10.11.0.0/16", Type: l3.Route_DROP},
			{DstNetwork: "0.0.0.0/0", NextHopAddr: "10.1.1.9", OutgoingInterface: "lo"},
			{DstNetwork: "2001:DB8:9::/48", NextHopAddr: "2001:db8:0::2", OutgoingInterface: "lo"},
			{DstNetwork: "2001:db8:a::/48", Type: l3.Route_DROP},
			{DstNetwork: "10.20.0.0/16", VrfId: 7, NextHopAddr: "10.7.0.2", OutgoingInterface: "in7"},
			{DstNetwork: "10.21.0.0/16", VrfId: 7, Type: l3.Route_INTER_VRF, ViaVrfId: 0},
			{DstNetwork: "10.22.0.0/16", Type: l3.Route_INTER_VRF, ViaVrfId: 7},
			{DstNetwork: "2001:db8:b::/48", VrfId: 7, Type: l3.Route_INTER_VRF, ViaVrfId: 0},
			{DstNetwork: "10.23.0.0/16", Type: l3.Route_INTER_VRF, ViaVrfId: 7, NextHopAddr: "10.7.0.9"},
			{DstNetwork: "10.24.0.0/16", NextHopAddr: "2001:db8::24", OutgoingInterface: "lo"},
			{DstNetwork: "10.25.0.0/16", VrfId: 7, NextHopAddr: "2001:db8:7::25"},
		}
		all := values{}
		for _, r := range routes {
			all[routeKey(r)] = r
		}
		b.Must(all)
		b.Want(states{routeKey(routes[0]): pending, routeKey(routes[2]): configured, routeKey(routes[8]): pending})
		b.Must(of(loop("lo", "10.1.1.1/24", "2001:db8::1/64"), in7, &l3.VrfTable{Id: 7}, &l3.VrfTable{Id: 7, Protocol: l3.VrfTable_IPV6}))
		for key := range all {
			b.Want(states{key: configured})
		}
		b.InSync()
		readBack(t, b, "vpp-route", all) // as they were asked for: no weight is weight 1

		// One path of two goes, the other one changes its share.
		b.Must(values{routeKey(routes[0]): nil})
		other := proto.CloneOf(routes[1])
		other.Weight = 9
		b.Must(of(other))
		b.InSync()

		b.Must(deleted(all))
		readBack(t, b, "vpp-route", nil)
		b.InSync()
	})
}

func TestRouteWaitsForItsInterface(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		route := &l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "lo"}
		arp := &l3.ARPEntry{Interface: "lo", IpAddress: "10.1.1.2", PhysAddress: "02:00:00:00:00:0A", Static: true}
		b.Must(of(route, arp))
		b.Want(states{routeKey(route): pending})
		b.Must(of(loop("lo", "10.1.1.1/24")))
		b.Want(states{routeKey(route): configured})
		b.Must(deleted(of(loop("lo"))))
		b.Want(states{routeKey(route): pending})
		readBack(t, b, "vpp-route", nil)
		b.Must(of(loop("lo", "10.1.1.1/24")))
		b.Want(states{routeKey(route): configured})
		b.InSync()
	})
}

func TestVrfTable(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		hash := &l3.VrfTable_FlowHashSettings{UseSrcIp: true, UseDstIp: true}
		named := &l3.VrfTable{Id: 3, Label: "customers", FlowHashSettings: hash}
		all := of(named, &l3.VrfTable{Id: 3, Protocol: l3.VrfTable_IPV6}, &l3.VrfTable{Id: 0, FlowHashSettings: hash})
		b.Must(all)
		for key := range all {
			b.Want(states{key: configured})
		}
		b.InSync()
		renamed := proto.CloneOf(named)
		renamed.Label, renamed.FlowHashSettings = "clients", nil
		b.Must(of(renamed))
		b.InSync()
		if text := b.CLI("show ip fib table 3 summary"); strings.Contains(text, "customers") {
			t.Errorf("after the renaming:\n%s", text)
		}
		b.Must(deleted(all))
		if got := b.Dump("vpp-vrf-table"); len(got) != 2 { // table 0 of both
			t.Errorf("read back %v", got)
		}
	})
}

// A table in use: what uses it goes first and waits for it.
func TestVrfTableInUse(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		in7 := loop("in7", "10.7.0.1/24")
		in7.Vrf = 7
		route := &l3.Route{DstNetwork: "10.20.0.0/16", VrfId: 7, NextHopAddr: "10.7.0.2", OutgoingInterface: "in7"}
		into := &l3.Route{DstNetwork: "10.21.0.0/16", Type: l3.Route_INTER_VRF, ViaVrfId: 7}
		table := of(&l3.VrfTable{Id: 7})
		b.Must(of(in7, route, into))
		b.Must(table)
		for range 2 {
			b.Want(states{routeKey(route): configured, routeKey(into): configured, ifKey("in7"): configured})
			b.InSync()
			b.Must(deleted(table))
			b.Want(states{routeKey(route): pending, routeKey(into): pending, "vpp/interface/in7/vrf/7/ip-version/v4": pending})
			if got := b.Dump("vpp-vrf-table"); len(got) != 2 { // table 0 of both
				t.Errorf("tables left: %v", got)
			}
			b.Must(table)
		}
	})
}

// A destination with many paths; some are rejected.
func TestMultipath(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		all := of(loop("lo", "10.1.0.1/16"))
		b.Must(all)
		routes := values{}
		for n := range 150 {
			r := &l3.Route{
				DstNetwork: "10.9.0.0/16", NextHopAddr: fmt.Sprintf("10.1.1.%d", n), OutgoingInterface: "lo", Weight: uint32(n%9 + 1),
			}
			routes[routeKey(r)] = r
		}
		b.Must(routes)
		readBack(t, b, "vpp-route", routes)
		b.InSync()
		b.Must(deleted(routes))
		readBack(t, b, "vpp-route", nil)
	})
}

func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	b.Must(of(loop("lo", "10.1.0.1/16")))
	if err := target.Sim.Fail("ip_route_add_del", api.VPPApiError(-1), -1); err != nil {
		t.Fatal(err)
	}
	routes := values{}
	for n := range 20 {
		r := &l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: fmt.Sprintf("10.1.1.%d", n), OutgoingInterface: "lo", Weight: 1}
		routes[routeKey(r)] = r
	}
	if err := b.Commit(routes); err == nil || strings.Count(err.Error(), "ip_route_add_del: ") != len(routes) {
		t.Errorf("error %v, expected one for each path", err)
	}
	target.Sim.Heal()
	b.Must(routes)
	readBack(t, b, "vpp-route", routes)
}
