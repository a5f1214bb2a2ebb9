package vpptest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

func TestBridgeDomain(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		bd := bridge("bd1", "a", "b")
		bd.Interfaces[0].SplitHorizonGroup = 3
		bd.ArpTermination, bd.MacAge = true, 5
		bd.ArpTerminationTable = []*l2.BridgeDomain_ArpTerminationEntry{{IpAddress: "10.0.0.1", PhysAddress: "02:00:00:00:00:01"}}
		b.Must(of(bd, loop("a")))
		b.Want(states{bdKey("bd1"): configured, "vpp/bd/bd1/interface/a": configured, "vpp/bd/bd1/interface/b": pending})
		b.Must(of(loop("b")))
		b.Want(states{"vpp/bd/bd1/interface/b": configured})
		sameBD(t, b, bd)
		b.InSync()
		if text := b.CLI("show bridge-domain 1 detail"); !strings.Contains(text, "loop0") {
			t.Errorf("bridge domain 1 is\n%s", text)
		}

		// All of it changes in place: no interface leaves the bridge domain.
		changed := proto.CloneOf(bd)
		changed.Learn, changed.Flood, changed.MacAge = false, false, 0
		changed.ArpTerminationTable = []*l2.BridgeDomain_ArpTerminationEntry{
			{IpAddress: "10.0.0.2", PhysAddress: "02:00:00:00:00:02"}, {IpAddress: "2001:db8::2", PhysAddress: "02:00:00:00:00:03"},
		}
		b.Must(of(changed))
		sameBD(t, b, changed)
		b.InSync()
		if target.Sim != nil && target.Sim.Count("sw_interface_set_l2_bridge") != 2 {
			t.Error("the interfaces left the bridge domain for a change in place")
		}

		// A BVI, and another member list.
		changed = proto.CloneOf(changed)
		changed.Interfaces = []*l2.BridgeDomain_Interface{{Name: "b", BridgedVirtualInterface: true}}
		b.Must(of(changed))
		sameBD(t, b, changed)
		b.InSync()

		b.Must(deleted(of(bd)))
		readBack(t, b, "vpp-bridge-domain", nil)
		b.InSync()
	})
}

// sameBD compares the only bridge domain with what is read back, whatever the
// order of its lists.
func sameBD(t *testing.T, b *vpptest.Harness, want *l2.BridgeDomain) {
	t.Helper()
	all := b.Dump("vpp-bridge-domain")
	got, _ := all[bdKey(want.Name)].(*l2.BridgeDomain)
	if len(all) != 1 || got == nil {
		t.Fatalf("read back %v", all)
	}
	if lines(got) != lines(want) {
		t.Errorf("read back\n%sexpected\n%s", lines(got), lines(want))
	}
}

func lines(bd *l2.BridgeDomain) string {
	flat := proto.CloneOf(bd)
	flat.Interfaces, flat.ArpTerminationTable = nil, nil
	parts := map[string]bool{}
	for _, m := range bd.Interfaces {
		parts[text(m)] = true
	}
	for _, e := range bd.ArpTerminationTable {
		parts[text(e)] = true
	}
	return text(flat) + "\n" + strings.Join(sorted(parts), "\n") + "\n"
}

func TestInterfaceInTwoBridgeDomains(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	b.Must(of(bridge("bd1", "a"), loop("a")))
	err := b.Commit(of(bridge("bd2", "a")))
	if err == nil || !strings.Contains(err.Error(), `interfaces.name: "a": is in bridge domain "bd1" (number 1) already`) {
		t.Errorf("error %v", err)
	}
	b.Want(states{"vpp/bd/bd1/interface/a": configured, "vpp/bd/bd2/interface/a": failed})
	// It moves, in one transaction.
	b.Must(of(bridge("bd1"), bridge("bd2", "a")))
	b.Want(states{"vpp/bd/bd2/interface/a": configured})
	b.InSync()
}

// The story of the order of configuration: done by hand, VPP ends up with an
// entry that cannot be removed. Here it never does, whatever goes first.
func TestFIBEntryIsNeverStale(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		entry := &l2.FIBEntry{
			PhysAddress: "62:89:C6:A3:6D:5C", BridgeDomain: "bd1", OutgoingInterface: "if1", StaticConfig: true,
		}
		drop := &l2.FIBEntry{PhysAddress: "62:89:c6:a3:6d:5d", BridgeDomain: "bd1", Action: l2.FIBEntry_DROP}
		b.Must(of(entry, drop))
		b.Want(states{fibKey(entry): pending, fibKey(drop): pending})
		b.Must(of(bridge("bd1", "if1")))
		b.Want(states{fibKey(entry): pending, fibKey(drop): configured})
		b.Must(of(loop("if1")))
		b.Want(states{fibKey(entry): configured})
		b.InSync()

		for name, removed := range map[string]values{
			"interface": of(loop("if1")), "bridge domain": of(bridge("bd1")), "member": of(bridge("bd1")),
		} {
			change := deleted(removed)
			if name == "member" {
				change = of(bridge("bd1")) // without its interface
			}
			b.Must(change)
			b.Want(states{fibKey(entry): pending})
			noStale(t, b, name)
			b.Must(of(bridge("bd1", "if1"), loop("if1")))
			b.Want(states{fibKey(entry): configured, fibKey(drop): configured})
			b.InSync()
		}
		b.Must(deleted(of(entry, drop, bridge("bd1"), loop("if1"))))
		noStale(t, b, "all")
		if got := b.Dump("vpp-l2-fib"); len(got) != 0 {
			t.Errorf("left over: %v", got)
		}
	})
}

func noStale(t *testing.T, b *vpptest.Harness, what string) {
	t.Helper()
	if text := b.CLI("show l2fib verbose"); strings.Contains(text, "Stale") || strings.Contains(strings.ToLower(text), "62:89:c6:a3:6d:5c") {
		t.Errorf("after the removal of the %s:\n%s", what, text)
	}
}
