package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
)

// of2510 are the options of a simulator of VPP 25.10.
func of2510(t *testing.T) vppsim.Options {
	t.Helper()
	table, err := binding.Release("25.10")
	if err != nil {
		t.Fatal(err)
	}
	return vppsim.Options{Release: table, Version: "25.10-simulated"}
}

// Pairs are made in the default namespace, and made again when it changes; other settings leave
// them alone, and a restarted agent does too, even if all settings are as in a new VPP.
func TestLinuxCPDefaultNamespace(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, of2510(t)))
	p, own := &linuxcp.Pair{Interface: "lo", HostInterface: "e0"}, &linuxcp.Pair{Interface: "lo2", HostInterface: "e0", Namespace: "own"}
	b.Must(of(p, own, loop("lo", "10.1.0.1/24"), loop("lo2")))
	b.Want(states{key(p): pending, key(own): configured})
	for _, test := range []struct {
		global *linuxcp.Global
		pairs  int // that were changed
		ns     string
	}{
		{&linuxcp.Global{}, 1, ""},
		{&linuxcp.Global{DefaultNamespace: "dataplane"}, 2, "dataplane"},
		{&linuxcp.Global{DefaultNamespace: "dataplane", Sync: true}, 0, "dataplane"},
		{&linuxcp.Global{Sync: true}, 2, ""},
		{&linuxcp.Global{}, 0, ""},
	} {
		before := b.Sim.Count("lcp_itf_pair_add_del_v3")
		b.Must(of(test.global))
		if n := int(b.Sim.Count("lcp_itf_pair_add_del_v3") - before); n != test.pairs {
			t.Errorf("%v: %d requests for pairs, expected %d", test.global, n, test.pairs)
		}
		for pair, ns := range map[*linuxcp.Pair]string{p: test.ns, own: "own"} {
			m := b.Dump("vpp-linuxcp-pair")[key(pair)]
			if got, ok := m.(*linuxcp.Pair); !ok || got.Namespace != ns && got.Namespace != pair.Namespace {
				t.Errorf("%v: VPP has %v, expected namespace %q", test.global, m, ns)
			}
		}
		b.InSync()
	}
	b.Stop()
	next := vpptest.Start(t, b.Target)
	if ops := next.FullResync(of(p, own, loop("lo", "10.1.0.1/24"), loop("lo2"), &linuxcp.Global{})); len(ops) > 0 {
		t.Errorf("the next agent had to %v", ops)
	}
}

// The default namespace is not read with the message whose answer is of any content if there is
// none. Without the item VPP has the settings that it starts with.
func TestLinuxCPSettingsAreRead(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		before := b.CLI("show lcp")
		if target.Sim != nil {
			forget(t, target, "lcp_default_ns_get")
		}
		for _, g := range []*linuxcp.Global{{DefaultNamespace: "dataplane"}, {Sync: true}, {}} {
			b.Must(of(g))
			b.InSync()
		}
		b.Must(deleted(of(&linuxcp.Global{})))
		if after := b.CLI("show lcp"); after != before {
			t.Errorf("VPP has\n%sit began with\n%s", after, before)
		}
		if left := b.Dump("vpp-linuxcp-global"); len(left) > 0 {
			t.Errorf("read without the item: %v", left)
		}
	})
}

// Addresses of unnumbered interfaces are for Linux as well from 26.06 on. The pair of a
// sub-interface follows the pair of its parent, and the error of a VPP without TAPs names
// the requirement.
func TestLinuxCPNeeds(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, of2510(t)))
	g := &linuxcp.Global{SyncUnnumbered: true}
	_ = b.Commit(of(g)) // seen below
	b.Want(states{key(g): impossible})
	g = &linuxcp.Global{}
	sub := &linuxcp.Pair{Interface: "lo.7", HostInterface: "e0.7", Parent: "lo"}
	b.Must(of(g, loop("lo"), subif("lo.7", "lo", 7), sub))
	b.Want(states{key(sub): pending})
	p := &linuxcp.Pair{Interface: "lo", HostInterface: "e0"}
	if err := b.Sim.Fail("lcp_itf_pair_add_del_v3", api.SYSCALL_ERROR_2, 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(of(p)); err == nil || !strings.Contains(err.Error(), "it needs /dev/vhost-net") {
		t.Errorf("error %v, expected what VPP needs for a TAP", err)
	}
	b.Must(of(p, sub))
	b.Want(states{key(sub): configured, key(p): configured})
	b.InSync()
	b.Must(deleted(of(p)))
	b.Want(states{key(sub): pending})
}
