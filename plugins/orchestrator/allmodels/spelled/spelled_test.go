package spelled_test

import (
	"testing"

	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"

	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// The canonical key of an item is the key with addresses as Go prints them; empty if it is that already.
func TestCanonicalKeys(t *testing.T) {
	t.Parallel()
	fib := func(mac string) string {
		return l2model.FIBModel.CanonicalKey(&l2.FIBEntry{BridgeDomain: "AA", PhysAddress: mac})
	}
	arp := func(ip string) string {
		return l3model.ARPModel.CanonicalKey(&l3.ARPEntry{Interface: "FE80::1", IpAddress: ip})
	}
	route := func(dst, gw string) string {
		return l3model.RouteModel.CanonicalKey(&l3.Route{OutgoingInterface: "a", DstNetwork: dst, NextHopAddr: gw})
	}
	for _, c := range []struct{ got, want string }{
		{fib("62:89:C6:A3:6D:5C"), "config/vpp/l2/v2/fib/AA/mac/62:89:c6:a3:6d:5c"},
		{fib("6289.c6a3.6d5c"), "config/vpp/l2/v2/fib/AA/mac/62:89:c6:a3:6d:5c"},
		{fib("62:89:c6:a3:6d:5c"), ""},
		{fib("no address"), ""},
		{arp("2001:DB8::0:1"), "config/vpp/v2/arp/FE80::1/2001:db8::1"},
		{arp("::ffff:10.0.0.1"), "config/vpp/v2/arp/FE80::1/10.0.0.1"},
		{arp("10.0.0.1"), ""},
		{arp("alloc:net/AA"), ""},
		{route("10.1.2.3/16", "10.0.0.1"), ""},
		{route("10.1.2.3/16", "10.0.0.1/24"), "config/vpp/v2/route/if/a/vrf/0/dst/10.1.0.0/16/gw/10.0.0.1"},
		{linuxmodel.ARPModel.CanonicalKey(&linuxl3.ARPEntry{Interface: "a", IpAddress: "10.0.0.1/24"}), "config/linux/l3/v2/arp/a/10.0.0.1"},
	} {
		if c.got != c.want {
			t.Errorf("canonical key %q, expected %q", c.got, c.want)
		}
	}
}

// Each operation looks whether the key is canonical, which takes no memory if it is.
func TestCanonicalKeysTakeNoMemory(t *testing.T) {
	route := &l3.Route{DstNetwork: "2001:db8::/32", NextHopAddr: "fe80::1", OutgoingInterface: "tap0"}
	arp := &l3.ARPEntry{Interface: "tap0", IpAddress: "10.1.1.1", PhysAddress: "02:00:00:00:00:01"}
	if n := testing.AllocsPerRun(100, func() {
		if l3model.RouteModel.CanonicalKey(route)+l3model.ARPModel.CanonicalKey(arp) != "" {
			t.Error("a canonical key has another spelling")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCanonicalKey(b *testing.B) {
	route := &l3.Route{DstNetwork: "10.1.2.0/24", NextHopAddr: "10.9.9.9", OutgoingInterface: "tap0"}
	for b.Loop() {
		_ = l3model.RouteModel.CanonicalKey(route)
	}
}
