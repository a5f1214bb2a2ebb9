package vpptest_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

func TestXConnectChanges(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		there, back := xconnect("a", "b"), xconnect("b", "a")
		b.Must(of(there, back, loop("a")))
		b.Want(states{key(there): pending, key(back): pending})
		b.Must(of(memif("b", 1, ""), loop("c")))
		b.Want(states{key(there): configured, key(back): configured})
		readBack(t, b, "vpp-xconnect", of(there, back))
		b.InSync()

		// It gets another end without a moment with none.
		moved := xconnect("a", "c")
		b.Must(of(moved))
		readBack(t, b, "vpp-xconnect", of(moved, back))
		if target.Sim != nil && target.Sim.Count("sw_interface_set_l2_xconnect") != 3 {
			t.Errorf("%d requests, expected 3", target.Sim.Count("sw_interface_set_l2_xconnect"))
		}
		b.InSync()
		b.Must(deleted(of(moved, back)))
		readBack(t, b, "vpp-xconnect", nil)
	})
}

// VPP receives on a loopback what it sends on it: a circle of them would keep VPP busy for ever.
func TestLoopbacksInACircle(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		ab, bc, ca, cm := xconnect("a", "b"), xconnect("b", "c"), xconnect("c", "a"), xconnect("c", "m")
		b.Must(of(loop("a"), loop("b"), loop("c"), memif("m", 1, ""), ab))
		back := xconnect("b", "a")
		err := b.Commit(of(back))
		if err == nil || !strings.Contains(err.Error(), `transmit_interface: a frame would go round for ever (b -> a -> b)`) {
			t.Errorf("error %v", err)
		}
		b.Must(deleted(of(back)))
		b.Must(of(bc))
		err = b.Commit(of(ca))
		if err == nil || !strings.Contains(err.Error(), `transmit_interface: a frame would go round for ever (c -> a -> b -> c)`) {
			t.Errorf("error %v", err)
		}
		b.Want(states{key(ab): configured, key(bc): configured, key(ca): failed})
		b.Must(of(cm))
		b.InSync()

		// A sub-interface of a loopback is no way out of it.
		b.Must(deleted(of(ab, bc, cm)))
		vlan := &interfaces.Interface{Name: "a.7", Type: interfaces.Interface_SUB_INTERFACE, Enabled: true,
			Link: &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: "a", SubId: 7}}}
		b.Must(of(vlan))
		for _, pair := range []*l2.XConnectPair{xconnect("a", "a.7"), xconnect("a.7", "a")} {
			if err := b.Commit(of(pair)); err == nil || !strings.Contains(err.Error(), "transmit_interface: a frame would go round for ever (") {
				t.Errorf("%v: error %v", pair, err)
			}
			b.Must(deleted(of(pair)))
		}
		b.Must(of(xconnect("a.7", "b")))
		if err := b.Commit(of(back)); err == nil || !strings.Contains(err.Error(), "transmit_interface: a frame would go round for ever (b -> a -> ") && !strings.Contains(err.Error(), "(b -> a.7 -> b)") {
			t.Errorf("error %v", err)
		}
		b.Must(deleted(of(vlan, xconnect("a.7", "b"), back)))
		b.Must(of(ab, bc, cm))

		// The direction of a pair changes in one transaction.
		b.Must(deleted(of(bc, cm)))
		change := of(back)
		change[key(ab)] = nil
		b.Must(change)
		b.InSync()
	})
}

// An interface is in a bridge domain or cross-connected, not both; it moves in one
// transaction, there and back.
func TestCrossConnectedOrBridged(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		pair, bd := xconnect("a", "b"), bridge("bd1", "a")
		b.Must(of(pair, loop("a"), loop("b")))
		err := b.Commit(of(bd))
		if err == nil || !strings.Contains(err.Error(), `interfaces.name: "a": is cross-connected to interface "b" already`) {
			t.Errorf("error %v", err)
		}
		b.Want(states{key(pair): configured, "vpp/bd/bd1/interface/a": failed})
		b.Must(deleted(of(bd)))
		b.InSync()

		change := of(bd)
		change[key(pair)] = nil
		b.Must(change)
		b.InSync()
		err = b.Commit(of(pair))
		if err == nil || !strings.Contains(err.Error(), `receive_interface: "a": is in bridge domain "bd1" (number 1) already`) {
			t.Errorf("error %v", err)
		}
		b.Want(states{key(pair): failed, "vpp/bd/bd1/interface/a": configured})
		b.Must(deleted(of(pair)))
		b.InSync()

		change = of(pair)
		change[bdKey("bd1")] = nil
		b.Must(change)
		readBack(t, b, "vpp-xconnect", of(pair))
		b.InSync()
	})
}

// Two interfaces of a bridge domain change their parts in one transaction, though
// VPP knows one BVI at a time.
func TestBVIMoves(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		bd := bridge("bd1", "a", "b")
		bd.Interfaces[0].BridgedVirtualInterface = true
		b.Must(of(bd, loop("a", "10.0.0.1/24"), loop("b")))
		for range 2 {
			bd = proto.CloneOf(bd)
			for _, m := range bd.Interfaces {
				m.BridgedVirtualInterface = !m.BridgedVirtualInterface
			}
			b.Must(of(bd))
			sameBD(t, b, bd)
			b.InSync()
		}
	})
}

// The same address is in two bridge domains, and its entries change in place.
func TestFIBEntryChanges(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		const mac = "62:89:c6:a3:6d:5c"
		one := &l2.FIBEntry{PhysAddress: mac, BridgeDomain: "bd1", OutgoingInterface: "a", StaticConfig: true}
		two := &l2.FIBEntry{PhysAddress: mac, BridgeDomain: "bd2", Action: l2.FIBEntry_DROP, StaticConfig: true}
		b.Must(of(bridge("bd1", "a", "b"), bridge("bd2", "c"), loop("a"), loop("b"), loop("c"), one, two))
		readBack(t, b, "vpp-l2-fib", of(one, two))
		for _, changed := range []*l2.FIBEntry{
			{PhysAddress: mac, BridgeDomain: "bd1", OutgoingInterface: "b", StaticConfig: true},
			{PhysAddress: mac, BridgeDomain: "bd1", Action: l2.FIBEntry_DROP, StaticConfig: true},
			{PhysAddress: mac, BridgeDomain: "bd1", OutgoingInterface: "a"},
		} {
			before := uint64(0)
			if target.Sim != nil {
				before = target.Sim.Count("l2fib_add_del")
			}
			b.Must(of(changed))
			readBack(t, b, "vpp-l2-fib", of(changed, two))
			if target.Sim != nil && target.Sim.Count("l2fib_add_del") != before+1 {
				t.Errorf("%d requests for a change", target.Sim.Count("l2fib_add_del")-before)
			}
			b.InSync()
		}
		// It waits for an interface that is in another bridge domain.
		elsewhere := &l2.FIBEntry{PhysAddress: mac, BridgeDomain: "bd1", OutgoingInterface: "c"}
		b.Must(of(elsewhere))
		b.Want(states{key(elsewhere): pending})
		readBack(t, b, "vpp-l2-fib", of(two))
		b.Must(deleted(of(elsewhere, two)))
		readBack(t, b, "vpp-l2-fib", nil)
	})
}

// A bridge domain with two sub-interfaces of loopbacks, or with one and its loopback, would flood a frame
// for ever.
func TestLoopbacksInABridgeDomain(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		sub := func(parent string, id uint32) *interfaces.Interface {
			return &interfaces.Interface{Name: fmt.Sprintf("%s.%d", parent, id), Type: interfaces.Interface_SUB_INTERFACE, Enabled: true,
				Link: &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: parent, SubId: id}}}
		}
		b.Must(of(loop("a"), loop("b"), sub("a", 7), sub("a", 8), sub("b", 7), memif("m", 1, "")))
		for _, members := range [][]string{{"a.7", "a.8"}, {"m", "a.7", "b.7"}, {"a", "a.7"}, {"a.7", "m", "a"}} {
			bd := bridge("bd", members...)
			if err := b.Commit(of(bd)); err == nil || !strings.Contains(err.Error(), "a frame would go round for ever, from and to ") {
				t.Errorf("%v: error %v", members, err)
			}
			b.Must(deleted(of(bd)))
		}
		for _, members := range [][]string{{"a.7", "m"}, {"a.7", "b"}, {"a", "b", "m"}} {
			bd := bridge("bd", members...)
			b.Must(of(bd))
			b.Must(deleted(of(bd)))
		}
		b.InSync()
	})
}
