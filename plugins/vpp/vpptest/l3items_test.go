package vpptest_test

import (
	"runtime"
	"strings"
	"testing"

	arpapi "go.fd.io/govpp/binapi/arp"
	"go.fd.io/govpp/binapi/ip_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

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

		// A range of another client goes, also one that this one would not make.
		if err := b.Mux.Conn().Call(t.Context(), &arpapi.ProxyArpAddDel{IsAdd: true, Proxy: arpapi.ProxyArp{
			Low: ip_types.IP4Address{10, 1, 1, 9}, Hi: ip_types.IP4Address{10, 1, 1, 8},
		}}, &arpapi.ProxyArpAddDelReply{}); err != nil {
			t.Fatal(err)
		}
		b.Resync()
		b.InSync()
		if got := b.Dump("vpp-proxy-arp")[key(p)].(*l3.ProxyARP); len(got.Ranges) != 2 {
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
		// Another process changes what cannot be expressed here.
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

// forwarding reports what L3 cross-connects do with packets.
func forwarding(b *vpptest.Harness) string {
	if b.Sim != nil {
		return b.Sim.Dump()
	}
	return b.CLI("show l3xc")
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

// withPeers makes a router a unicast one, or not, and gives it peers.
func withPeers(e *l3.VRRPEntry, unicast bool, peers ...string) *l3.VRRPEntry {
	e.Unicast, e.UnicastPeers = unicast, peers
	return e
}

// A unicast router talks to its peers, which change while it is configured.
func TestUnicastVRRP(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		v4 := withPeers(router(5, 100, "10.1.1.100"), true, "10.1.1.8", "10.1.1.9")
		v6 := withPeers(router(6, 100, "fe80::100"), true, "2001:DB8::9")
		multicast := router(7, 100, "10.1.1.101")
		idle := withPeers(router(8, 100, "10.1.1.102"), true)
		idle.Enabled = false
		lo := loop("lo", "10.1.1.1/24", "2001:db8::1/64")
		b.Must(of(v4, v6, multicast, idle, lo))
		allConfigured(t, b, of(v4, v6, multicast, idle))
		readBack(t, b, "vrrp", of(v4, v6, multicast, idle))
		b.InSync()

		for _, changed := range []*l3.VRRPEntry{
			withPeers(router(5, 100, "10.1.1.100"), true, "10.1.1.9", "10.1.1.7"),
			router(5, 100, "10.1.1.100"),
			withPeers(router(5, 100, "10.1.1.100"), true, "10.1.1.9"),
		} {
			b.Must(of(changed))
			allConfigured(t, b, of(changed))
			readBack(t, b, "vrrp", of(changed, v6, multicast, idle))
			b.InSync()
		}
		b.Must(deleted(of(v4, v6, multicast, idle)))
		readBack(t, b, "vrrp", nil)
	})
}

// The addresses that a master gives its interface are not left over from
// anybody: a resync lets them be. The simulator holds no elections; there the
// address is given by hand.
func TestVRRPMasterKeepsItsAddresses(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		master := router(5, 100, "10.1.1.100")
		master.Accept, master.Interval = true, 10
		b.Must(of(master, loop("lo", "10.1.1.1/24")))
		if b.Sim != nil {
			giveAddress(t, b, "lo", "10.1.1.100/24")
		} else {
			for !strings.Contains(b.CLI("show vrrp vr"), "Master") { // elected when no other router was heard
				runtime.Gosched()
			}
		}
		b.InSync()
		has := func() string {
			if b.Sim != nil {
				return b.Sim.Dump()
			}
			return b.CLI("show interface address")
		}
		if text := has(); !strings.Contains(text, "10.1.1.100/24") {
			t.Errorf("the address of the master is gone:\n%s", text)
		}
		b.Must(deleted(of(master)))
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
