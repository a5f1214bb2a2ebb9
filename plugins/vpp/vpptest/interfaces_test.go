package vpptest_test

import (
	"strings"
	"testing"

	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestLoopback(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		lo := loop("loop/1", "10.1.1.1/24", "2001:db8::1/64")
		lo.PhysAddress, lo.Mtu = "02:00:00:00:00:01", 1400
		b.Must(of(lo))
		b.Want(states{
			ifKey("loop/1"): configured,
			"vpp/interface/loop/1/address/static/10.1.1.1/24":    configured,
			"vpp/interface/loop/1/address/static/2001:db8::1/64": configured,
			"vpp/interface/loop/1/vrf/0/ip-version/both":         configured,
			"vpp/interface/loop/1/has-IP-address":                configured,
		})
		readBack(t, b, "vpp-interface", of(lo))
		b.InSync()
		b.Await("vpp/interface/loop/1/link-state/UP", obtained)

		changed := proto.CloneOf(lo)
		changed.Enabled, changed.Mtu, changed.PhysAddress = false, 2000, "02:00:00:00:00:02"
		changed.IpAddresses = []string{"10.1.1.2/24"}
		b.Must(of(changed))
		readBack(t, b, "vpp-interface", of(changed))
		b.InSync()
		b.Await("vpp/interface/loop/1/link-state/UP", gone)

		changed = proto.CloneOf(changed)
		changed.Mtu = 9000 // the MTU of its device from the start
		b.Must(of(changed))
		readBack(t, b, "vpp-interface", of(changed))

		b.Must(deleted(of(lo)))
		readBack(t, b, "vpp-interface", nil)
		b.Want(states{ifKey("loop/1"): gone, ifKey("local0"): obtained})
	})
}

// readBack compares what a descriptor reads from VPP, without local0.
func readBack(t *testing.T, b *vpptest.Harness, descriptor string, want values) {
	t.Helper()
	got := b.Dump(descriptor)
	delete(got, ifKey("local0"))
	for key, w := range want {
		infratest.EqualMessages(t, "read back of "+key, got[key], w)
		delete(got, key)
	}
	for key, v := range got {
		t.Errorf("read back %s, which is not expected: %v", key, v)
	}
}

func TestRxQueues(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	tun := tap("tap1")
	tun.RxModes = []*interfaces.Interface_RxMode{
		{DefaultMode: true, Mode: interfaces.Interface_RxMode_ADAPTIVE}, {Queue: 0, Mode: interfaces.Interface_RxMode_POLLING},
	}
	tun.RxPlacements = []*interfaces.Interface_RxPlacement{{Queue: 0, MainThread: true, Worker: 7}, {Queue: 5}}
	modes, first, fifth := "vpp/interface/tap1/rx-modes", "vpp/interface/tap1/rx-placement/queue/0", "vpp/interface/tap1/rx-placement/queue/5"
	b.Must(of(tun))
	b.Await(modes, configured) // when the link is up
	b.Await(fifth, failed)     // there is no queue 5
	b.Want(states{ifKey("tap1"): configured, first: configured})

	tun = proto.CloneOf(tun)
	tun.RxPlacements = tun.RxPlacements[:1]
	tun.RxModes = tun.RxModes[1:]
	b.Must(of(tun))
	b.InSync()
	got, _ := b.Dump("vpp-interface")[ifKey("tap1")].(*interfaces.Interface)
	if len(got.GetRxModes()) != 1 || got.GetRxModes()[0].GetMode() != interfaces.Interface_RxMode_POLLING {
		t.Errorf("read back %v", got)
	}

	// No link: the queues wait.
	down := proto.CloneOf(tun)
	down.Enabled = false
	b.Must(of(down))
	b.Await(modes, pending)

	wrong := proto.CloneOf(tun)
	wrong.RxModes = []*interfaces.Interface_RxMode{{DefaultMode: true, Mode: 1}, {DefaultMode: true, Mode: 2}, {Queue: 3}}
	err := b.Commit(of(wrong))
	b.Want(states{ifKey("tap1"): configured, modes: invalid})
	for _, want := range []string{"rx_modes[1].default_mode: ", "rx_modes[2].mode: UNKNOWN"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}

func TestLinkLocalAddress(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		for _, lo := range []*interfaces.Interface{
			loop("lo", "fe80::5/64"), loop("lo", "2001:db8::1/64", "fe80::6/10"), loop("lo", "2001:db8::1/64"),
		} {
			b.Must(of(lo))
			readBack(t, b, "vpp-interface", of(as(b, lo)))
			b.InSync()
		}
	})
}

func TestVrfOfInterface(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		lo := loop("lo", "10.1.1.1/24")
		lo.Vrf = 5
		b.Must(of(lo))
		address := "vpp/interface/lo/address/static/10.1.1.1/24"
		b.Want(states{ifKey("lo"): configured, address: pending, "vpp/interface/lo/vrf/5/ip-version/v4": pending})

		b.Must(of(&l3.VrfTable{Id: 5}, &l3.VrfTable{Id: 6}, &l3.VrfTable{Id: 5, Protocol: l3.VrfTable_IPV6}))
		b.Want(states{address: configured, "vpp/interface/lo/vrf/5/ip-version/v4": configured})
		b.InSync()

		both := proto.CloneOf(lo)
		both.IpAddresses = append(both.IpAddresses, "2001:db8::1/64")
		b.Must(of(both))
		b.Want(states{address: configured, "vpp/interface/lo/vrf/5/ip-version/both": configured})
		readBack(t, b, "vpp-interface", of(as(b, both)))
		b.InSync()

		moved := proto.CloneOf(lo)
		moved.Vrf = 6
		b.Must(of(moved))
		b.Want(states{address: configured, "vpp/interface/lo/vrf/6/ip-version/v4": configured})
		readBack(t, b, "vpp-interface", of(as(b, moved)))

		// The table goes, and with it the address; the interface stays.
		b.Must(deleted(of(&l3.VrfTable{Id: 6})))
		b.Want(states{ifKey("lo"): configured, address: pending})
		b.Resync()
		b.Want(states{ifKey("lo"): configured, address: pending})
		b.Must(of(&l3.VrfTable{Id: 6}))
		b.Want(states{address: configured})
	})
}

// as fills in what VPP chose for the interface.
func as(b *vpptest.Harness, i *interfaces.Interface) *interfaces.Interface {
	out := proto.CloneOf(i)
	if found, ok := b.Dump("vpp-interface")[ifKey(i.Name)].(*interfaces.Interface); ok {
		out.PhysAddress, out.Mtu = found.PhysAddress, found.Mtu
	}
	return out
}

func TestUnnumbered(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		borrower := loop("borrower")
		borrower.Unnumbered = &interfaces.Interface_Unnumbered{InterfaceWithIp: "lender"}
		b.Must(of(borrower, loop("lender")))
		borrowing := "vpp/interface/unnumbered/borrower"
		b.Want(states{ifKey("borrower"): configured, borrowing: pending})

		b.Must(of(loop("lender", "10.1.1.1/24", "10.2.2.2/24")))
		b.Want(states{borrowing: configured, "vpp/interface/borrower/vrf/from-interface/lender": configured})
		readBack(t, b, "vpp-interface", of(as(b, borrower), as(b, loop("lender", "10.1.1.1/24", "10.2.2.2/24"))))
		b.InSync()

		// One of two addresses goes: any of them is enough.
		b.Must(of(loop("lender", "10.2.2.2/24")))
		b.Want(states{borrowing: configured})
		b.InSync()

		// Into another table, with the borrower behind.
		lender := loop("lender", "10.2.2.2/24")
		lender.Vrf = 7
		b.Must(of(lender, &l3.VrfTable{Id: 7}))
		b.Want(states{borrowing: configured})
		b.InSync()

		// The last address goes: the borrowing ends before.
		b.Must(of(loop("lender")))
		b.Want(states{ifKey("borrower"): configured, borrowing: pending})
		b.Resync()
		b.Want(states{ifKey("borrower"): configured, borrowing: pending})
	})
}

func TestAfPacketWaitsForHostInterface(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	af := afPacket("af", "eth1")
	b.Must(of(af))
	b.Want(states{ifKey("af"): pending})

	host := "linux/interface/host-name/eth1"
	b.SetHostInterface("eth1", true)
	b.Want(states{host: obtained, ifKey("af"): configured})
	readBack(t, b, "vpp-interface", of(as(b, af)))

	b.SetHostInterface("eth1", false)
	b.Want(states{ifKey("af"): pending})
	readBack(t, b, "vpp-interface", nil)
}

// A TAP cannot change its rings: it is created again, and what depends on it
// leaves before and returns after.
func TestTapIsRecreatedUnderRoute(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	tun := tap("tap1", "10.1.1.1/24")
	route := &l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "tap1"}
	b.Must(of(tun, route))
	b.Want(states{ifKey("tap1"): configured, routeKey(route): configured})

	bigger := proto.CloneOf(tun)
	bigger.GetTap().RxRingSize = 512
	b.Must(of(bigger))
	b.Want(states{ifKey("tap1"): configured, routeKey(route): configured})
	for name, want := range map[string]uint64{"tap_create_v3": 2, "tap_delete_v2": 1, "ip_route_add_del": 3} {
		if got := target.Sim.Count(name); got != want {
			t.Errorf("%d times %s, expected %d", got, name, want)
		}
	}
	b.InSync()
	m, ok := b.If.Interfaces().LookupByName("tap1")
	if !ok || !strings.HasPrefix(m.TAPHostIfName, "tap-") {
		t.Errorf("metadata of the TAP: %+v", m)
	}
}

func TestInterfacesOfOthersAreLeftAlone(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		// Another process makes an interface, without a tag.
		reply := &interfacesapi.CreateLoopbackReply{}
		if err := b.Mux.Conn().Call(t.Context(), &interfacesapi.CreateLoopback{}, reply); err != nil {
			t.Fatal(err)
		}
		b.Must(of(loop("mine")), kvs.WithResync(kvs.FullResync, false))
		b.Must(nil, kvs.WithResync(kvs.FullResync, false))
		readBack(t, b, "vpp-interface", nil)
		// Setting a flag succeeds only if the interface is still there.
		err := b.Mux.Conn().Call(t.Context(), &interfacesapi.SwInterfaceSetFlags{
			SwIfIndex: reply.SwIfIndex, Flags: interface_types.IF_STATUS_API_FLAG_ADMIN_UP,
		}, &interfacesapi.SwInterfaceSetFlagsReply{})
		if err != nil {
			t.Errorf("the interface of another process: %v", err)
		}
	})
}

// An address that waits for its VRF table, and a borrowed one that waits for its lender,
// are nothing to do for a resync, and no drift.
func TestPendingAddressesAreNoChange(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		waits, borrows := loop("waits", "10.7.0.1/24", "10.8.0.1/24"), loop("borrows")
		waits.Vrf = 7
		borrows.Unnumbered = &interfaces.Interface_Unnumbered{InterfaceWithIp: "lender"}
		b.Must(of(waits, borrows))
		b.Want(states{"vpp/interface/waits/address/static/10.7.0.1/24": pending, "vpp/interface/unnumbered/borrows": pending})
		for range 2 {
			if ops := b.Resync(); len(ops) > 0 {
				t.Errorf("resync: %q", ops)
			}
			report, err := b.Scheduler.DetectDrift(t.Context())
			if err != nil || len(report.Drifts) > 0 {
				t.Errorf("drift: %+v, %v", report.Drifts, err)
			}
		}
		down := proto.CloneOf(borrows)
		down.Enabled = false
		b.Must(of(&l3.VrfTable{Id: 7}, loop("lender", "10.1.0.1/24"), down))
		b.Want(states{"vpp/interface/waits/address/static/10.7.0.1/24": configured, "vpp/interface/unnumbered/borrows": configured})
		b.InSync()
		b.Must(values{key(&l3.VrfTable{Id: 7}): nil})
		b.Want(states{"vpp/interface/waits/address/static/10.7.0.1/24": pending})
		if ops := b.Resync(); len(ops) > 0 {
			t.Errorf("resync after the table went: %q", ops)
		}
	})
}
