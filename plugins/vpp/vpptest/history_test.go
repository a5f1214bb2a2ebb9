package vpptest_test

import (
	"testing"

	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	l2api "go.fd.io/govpp/binapi/l2"
	"google.golang.org/protobuf/proto"

	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// found returns what VPP has of an interface.
func found(t *testing.T, b *vpptest.Harness, name string) *interfacesapi.SwInterfaceDetails {
	t.Helper()
	for _, d := range b.AllInterfaces() {
		if d.Tag == name {
			return d
		}
	}
	t.Fatalf("VPP has no interface %s", name)
	return nil
}

func bvi(bd *l2.BridgeDomain) *l2.BridgeDomain {
	bd.Interfaces[0].BridgedVirtualInterface = true
	return bd
}

// VPP keeps the rewrite of VLAN tags by index. The interface that gets the index of a deleted
// sub-interface has none in layer 2, even if another client left one.
func TestTagRewriteOfReusedIndex(t *testing.T) {
	pop := func() *interfaces.Interface {
		s := subif("p.10", "p", 10)
		s.GetSub().TagRwOption = interfaces.SubInterface_POP1
		return s
	}
	for name, next := range map[string]*interfaces.Interface{
		"loopback": loop("next"), "sub-interface": subif("next", "p", 20), "vxlan": vxlan("next", "10.0.0.1", "10.0.0.2", 7), "memif": memif("next", 5, ""),
	} {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				b := vpptest.Start(t, target)
				check := func(index interface_types.InterfaceIndex) {
					t.Helper()
					d := found(t, b, "next")
					if d.SwIfIndex != index {
						t.Fatalf("next has index %d, expected %d: the test has no sense", d.SwIfIndex, index)
					}
					if d.VtrOp != 0 {
						t.Errorf("next has the rewrite %d", d.VtrOp)
					}
					b.InSync()
				}
				b.Must(of(loop("p"), loop("q"), pop(), bridge("bd", "p.10", "q")))
				index := found(t, b, "p.10").SwIfIndex
				b.FullResync(of(loop("p"), loop("q"), next, bridge("bd", "next", "q")))
				check(index)

				// Another client leaves one.
				b.FullResync(of(loop("p"), loop("q"), pop()))
				b.FullResync(of(loop("p"), loop("q")))
				leave := &interfacesapi.CreateVlanSubifReply{}
				calls := b.Mux.Conn()
				parent := found(t, b, "p").SwIfIndex
				if err := calls.Call(t.Context(), &interfacesapi.CreateVlanSubif{SwIfIndex: parent, VlanID: 30}, leave); err != nil {
					t.Fatal(err)
				}
				if err := calls.Call(t.Context(), &l2api.L2InterfaceVlanTagRewrite{SwIfIndex: leave.SwIfIndex, VtrOp: 3}, &l2api.L2InterfaceVlanTagRewriteReply{}); err != nil {
					t.Fatal(err)
				}
				if err := calls.Call(t.Context(), &interfacesapi.DeleteSubif{SwIfIndex: leave.SwIfIndex}, &interfacesapi.DeleteSubifReply{}); err != nil {
					t.Fatal(err)
				}
				b.Must(of(next, bridge("bd", "next", "q")))
				check(leave.SwIfIndex)
			})
		})
	}
}

// An interface that joins a bridge domain or a cross-connect has no rewrite that another client
// left on it.
func TestTagRewriteByHand(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("a"), loop("b")))
		for _, way := range []values{of(bvi(bridge("bd", "a", "b"))), of(xconnect("a", "b"))} {
			a := found(t, b, "a").SwIfIndex
			if err := b.Mux.Conn().Call(t.Context(), &l2api.L2InterfaceVlanTagRewrite{SwIfIndex: a, VtrOp: 1, Tag1: 7}, &l2api.L2InterfaceVlanTagRewriteReply{}); err != nil {
				t.Fatal(err)
			}
			b.Must(way)
			if op := found(t, b, "a").VtrOp; op != 0 {
				t.Errorf("a has the rewrite %d", op)
			}
			b.Must(deleted(way))
		}
	})
}

// A setting that is removed from an interface gets back what it was, in place if that is
// possible; plans say so, and resyncs and restarts of the agent have nothing to do.
func TestRemovedMTUAndMAC(t *testing.T) {
	for name, plain := range map[string]*interfaces.Interface{
		"device": {Name: "pg0", Type: interfaces.Interface_DPDK, Enabled: true}, "tun": tun("x"),
		"loopback": loop("x"), "tap": tap("x"), "memif": memif("x", 3, ""), "vxlan": vxlan("x", "10.0.0.1", "10.0.0.2", 5),
		"af_packet": afPacket("x", "eth0"), "bond": bond("x", 3), "gre": gre("x", "10.0.0.1", "10.0.0.2", interfaces.GreLink_TEB),
		"ipip": ipip("x", "10.0.0.1", "10.0.0.2"), "wireguard": wireguard("x"),
		"memif of mode IP": memifIP("x", 4), "sub-interface": subif("x", "p", 10), "vxlan gpe": vxlanGpe("x", "10.0.0.1", "10.0.0.2", 5), "gtpu": gtpu("x", "10.0.0.1", "10.0.0.2", 5),
	} {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				removedSettings(t, target, plain)
			})
		})
	}
}

// tun is a TAP without Ethernet.
func tun(name string) *interfaces.Interface {
	i := tap(name)
	i.GetTap().EnableTunnel = true
	return i
}

// memifIP is a memif without Ethernet.
func memifIP(name string, id uint32) *interfaces.Interface {
	i := memif(name, id, "")
	i.GetMemif().Mode = interfaces.MemifLink_IP
	return i
}

func removedSettings(t *testing.T, target vpptest.Target, plain *interfaces.Interface) {
	dir := t.TempDir()
	b := vpptest.Start(t, target, vpptest.StateDir(dir))
	announceHosts(t, b)
	parent := loop("p")
	with := proto.CloneOf(plain)
	with.Mtu = 1400
	hasMAC := plain.Type == interfaces.Interface_SOFTWARE_LOOPBACK
	switch plain.Type {
	case interfaces.Interface_DPDK:
		hasMAC = true
		b.CLI("create packet-generator interface " + plain.Name)
	case interfaces.Interface_TAP, interfaces.Interface_MEMIF, interfaces.Interface_AF_PACKET, interfaces.Interface_BOND_INTERFACE:
		hasMAC = true
	}
	if hasMAC = hasMAC && ifmodel.WithoutMAC(plain) == ""; hasMAC {
		with.PhysAddress = "02:00:00:00:00:11"
	}
	same := func(when string, mtu uint32) {
		t.Helper()
		d := found(t, b, plain.Name)
		if d.Mtu[0] != mtu {
			t.Errorf("%s: MTU %d, expected %d", when, d.Mtu[0], mtu)
		}
		if chosen := d.L2Address.String() == with.PhysAddress; hasMAC && chosen != (mtu == 1400) {
			t.Errorf("%s: MAC address %s", when, d.L2Address)
		}
		b.InSync()
	}
	_ = b.Commit(of(parent, plain))
	b.Await(key(plain), configured)
	fresh := found(t, b, plain.Name).Mtu[0]
	for range 2 {
		b.Must(of(with))
		same("set", 1400)
		plan, err := b.Scheduler.StartNBTransaction().SetValue(key(plain), plain).Plan(t.Context())
		if err != nil || len(plan.Operations) == 0 {
			t.Errorf("the plan is %v, %v", plan, err)
		}
		b.Must(of(plain))
		same("removed", fresh)
	}
	b.Must(of(with))
	b.FullResync(of(parent, plain))
	same("removed by a resync", fresh)
	b.Must(deleted(of(plain)))
	b.Must(of(with)) // created with it
	b.Must(of(plain))
	same("created with it, removed", fresh)

	// The agent restarts with another configuration.
	b.Must(of(with))
	b.Stop()
	b = vpptest.Start(t, target, vpptest.StateDir(dir))
	announceHosts(t, b)
	b.FullResync(of(parent, plain))
	same("removed while the agent was stopped", fresh)
	b.Must(deleted(of(with)))
	b.Must(of(with))
	b.Must(deleted(of(with)))
	b.Must(of(plain))
	same("created after one that had it", fresh)
}

// VPP gives the MTU of a device to its sub-interfaces; they keep theirs.
func TestMTUOfParent(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		p, own := tap("p"), subif("p.10", "p", 10)
		p.Mtu, own.Mtu = 9000, 1500
		b.Must(of(p, own, subif("p.20", "p", 20)))
		check := func(mtu uint32) {
			t.Helper()
			for name, want := range map[string]uint32{"p": mtu, "p.10": 1500, "p.20": 0} {
				if got := found(t, b, name).Mtu[0]; got != want {
					t.Errorf("%s has MTU %d, expected %d", name, got, want)
				}
			}
			b.InSync()
		}
		check(9000)
		for _, mtu := range []uint32{8000, 1400, 9216} {
			p = proto.CloneOf(p)
			p.Mtu = mtu
			b.Must(of(p))
			check(mtu)
			if got := readOne(b, "p").GetMtu(); got != mtu {
				t.Errorf("read back MTU %d, expected %d", got, mtu)
			}
		}
		b.Must(of(tap("p")))
		check(9000)
		// A value for the sub-interface and one for its parent at once.
		p, own = proto.CloneOf(p), proto.CloneOf(own)
		p.Mtu, own.Mtu = 2000, 1300
		b.Must(of(p, own))
		if got := found(t, b, "p.10").Mtu[0]; got != 1300 {
			t.Errorf("p.10 has MTU %d", got)
		}
	})
}
