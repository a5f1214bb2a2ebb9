package vpptest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

// However often interfaces of CNAT change and are added again after a restart, source NAT is in their
// path of packets once, and not at all at the end.
func TestCNATNodes(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		expect := func(when string, ip4, ip6 int) {
			t.Helper()
			if got4, got6 := nodeCount(t, b, "lo", "cnat-snat-ip4"), nodeCount(t, b, "lo", "cnat-snat-ip6"); got4 != ip4 || got6 != ip6 {
				t.Errorf("%s: %d and %d nodes, expected %d and %d", when, got4, got6, ip4, ip6)
			}
		}
		uses := of(&cnat.Interface{Name: "lo", Ip4: true, Ip6: true})
		all := of(loop("lo", "10.1.1.1/24"), &cnat.Global{SnatIp4: "192.0.2.1", SnatIp6: "2001:db8::1"})
		for key, v := range uses {
			all[key] = v
		}
		b.Must(all)
		expect("created", 1, 1)
		b.Must(of(&cnat.Interface{Name: "lo", Ip4: true, Role: cnat.Interface_POD}))
		expect("changed", 1, 0)
		b.Must(of(&cnat.Global{SnatIp4: "192.0.2.2"}))
		expect("with another address", 1, 0)
		b.Must(all)
		b.Stop()
		b = vpptest.Start(t, target)
		b.FullResync(all)
		expect("restarted", 1, 1)
		b.Must(deleted(uses))
		expect("removed", 0, 0)
		b.Must(deleted(all))
	})
}

// What older releases of VPP ignore is UNIMPLEMENTED there, and says which field it is about.
func TestCNATOfOlderReleases(t *testing.T) {
	t.Parallel()
	release, err := binding.Release("22.10")
	if err != nil {
		t.Fatal(err)
	}
	b := vpptest.Start(t, vpptest.Simulator(t, vppsim.Options{Release: release, Version: "22.10-simulated"}))
	b.Must(of(loop("lo", "10.1.1.1/24"), &cnat.Global{SnatIp4: "192.0.2.1"}))
	server := []*cnat.Translation_Backend{{Address: "10.1.1.2"}}
	for says, v := range map[string]values{
		"client_affinity: CNAT translation":  of(&cnat.Translation{Vip: "192.0.2.9", Port: 1, Backends: server, ClientAffinity: true}),
		"no_return_session: needs VPP 23.10": of(&cnat.Translation{Vip: "192.0.2.9", Port: 2, Backends: server, NoReturnSession: true}),
		"CNAT interface: role HOST":          of(&cnat.Interface{Name: "lo", Role: cnat.Interface_HOST}),
	} {
		_ = b.Commit(v)
		for key := range v {
			b.Await(key, impossible)
			if why := b.Scheduler.GetValueStatus(key).GetValue().GetError(); !strings.Contains(why, says) {
				t.Errorf("%s: error %q, expected %q", key, why, says)
			}
		}
	}
}
