package vpptest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// onTop are values that stand on the interfaces of network, besides those.
func onTop() values {
	return of(
		&interfaces.Span{InterfaceFrom: "lo", InterfaceTo: "x1", Direction: interfaces.Span_BOTH},
		&l3.Route{DstNetwork: "10.77.0.0/16", NextHopAddr: "10.1.1.9", OutgoingInterface: "lo"}, // no neighbour
		&l3.Route{DstNetwork: "2001:db8:77::/48", NextHopAddr: "2001:db8::9", OutgoingInterface: "lo"},
		&l3.Route{DstNetwork: "10.78.0.0/16", OutgoingInterface: "lo"},
	)
}

// sound fails the test unless VPP uses everything that it received.
func sound(t *testing.T, b *vpptest.Harness) {
	t.Helper()
	if b.Sim != nil {
		return // it never fails to resolve what is there
	}
	for _, cmd := range []string{"show ip fib", "show ip6 fib"} {
		if text := b.CLI(cmd); strings.Contains(text, "unresolved") {
			t.Errorf("%s:\n%s", cmd, text)
		}
	}
}

// routersRun fails the test if a virtual router waits for its interface.
func routersRun(t *testing.T, b *vpptest.Harness) {
	t.Helper()
	if b.Sim != nil {
		if text := b.Sim.Dump(); strings.Contains(text, "INTF_DOWN") {
			t.Error(text)
		}
	} else if text := b.CLI("show vrrp vr"); strings.Contains(text, "Interface Down") {
		t.Error(text)
	}
}

// Another client of VPP deletes interfaces that everything stands on, and creates one
// in their place. They are created again at once, or, where lost values are only
// reported, by a resync, with all that stood on them. What VPP had kept for the index of
// a deleted interface is listed as an orphan, and removed on request.
func TestDeletedByHandUnderLoad(t *testing.T) {
	reported := func(t *testing.T, b *vpptest.Harness) {
		for _, name := range []string{"lo", "port"} {
			b.Await(ifKey(name), pb.ValueState_MISSING)
		}
		b.Resync()
	}
	for name, repair := range map[string]func(*testing.T, *vpptest.Harness){"lost": awaitRepaired, "resync": reported} {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				var opts []vpptest.Option
				if name == "lost" {
					opts = append(opts, vpptest.RepairLost())
				}
				b := vpptest.Start(t, target, opts...)
				all := network()
				for key, v := range onTop() {
					all[key] = v
				}
				b.Must(all)
				allConfigured(t, b, all)
				sound(t, b)
				for _, usurped := range []bool{false, true} {
					for _, name := range []string{"lo", "port"} {
						deleteLoopback(t, b, name)
					}
					if usurped {
						b.CLI("create loopback interface")
					}
					repair(t, b)
					for key := range all {
						b.Await(key, configured)
					}
					b.Scheduler.TransactionBarrier() // values derived from them follow in the same transaction
					allConfigured(t, b, all)
					b.FullResync(all)
					removeMarked(t, b) // what VPP kept for an index that another one of ours has now
					if !usurped {
						routersRun(t, b)
					}
					b.InSync()
					sound(t, b)
				}
			})
		})
	}
}

// awaitRepaired waits until VPP has both interfaces again.
func awaitRepaired(t *testing.T, b *vpptest.Harness) {
	t.Helper()
	for _, name := range []string{"lo", "port"} {
		tick := time.NewTicker(5 * time.Millisecond)
		for deadline := time.Now().Add(time.Minute); len(tagged(b, name)) == 0; <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("%s was not created again: it is %s", name, b.State(ifKey(name)))
			}
		}
		tick.Stop()
		b.Await(ifKey(name), configured)
	}
}

// removeMarked removes what looks like the agent's work and is not on record.
func removeMarked(t *testing.T, b *vpptest.Harness) {
	t.Helper()
	var keys []string
	for _, o := range b.Scheduler.Orphans() {
		if o.Marked {
			keys = append(keys, o.Key)
		}
	}
	if _, err := b.Scheduler.RemoveOrphans(t.Context(), keys); err != nil {
		t.Error(err)
	}
}

func deleteLoopback(t *testing.T, b *vpptest.Harness, name string) {
	t.Helper()
	for _, d := range b.AllInterfaces() {
		if d.Tag == name {
			b.CLI("delete loopback interface intfc " + d.InterfaceName)
			return
		}
	}
	t.Fatalf("no interface has the tag %q", name)
}
