package vpptest_test

import (
	"strings"
	"testing"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// onTop are values that stand on the interfaces of network, besides those.
func onTop() values {
	return of(
		&interfaces.Span{InterfaceFrom: "lo", InterfaceTo: "x1", Direction: interfaces.Span_BOTH},
		&l3.Route{DstNetwork: "10.77.0.0/16", NextHopAddr: "10.1.1.9", OutgoingInterface: "lo"}, // nobody's neighbour
		&l3.Route{DstNetwork: "2001:db8:77::/48", NextHopAddr: "2001:db8::9", OutgoingInterface: "lo"},
		&l3.Route{DstNetwork: "10.78.0.0/16", OutgoingInterface: "lo"},
	)
}

// sound fails the test unless VPP makes use of all that it was told.
func sound(t *testing.T, b *vpptest.Bench) {
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

// onePath fails the test if a route has another path than the one of its value.
func onePath(t *testing.T, b *vpptest.Bench) {
	t.Helper()
	text, mark := "", "path:["
	if b.Sim != nil {
		mark = "10.1.1.9"
		text, _, _ = strings.Cut(b.Sim.Dump()[strings.Index(b.Sim.Dump(), "route 10.77.0.0/16"):], "\n")
	} else {
		text, _, _ = strings.Cut(b.CLI("show ip fib 10.77.0.0/16"), "forwarding:")
	}
	if strings.Count(text, mark) != 1 {
		t.Errorf("paths:\n%s", text)
	}
}

// routersRun fails the test if a virtual router waits for its interface.
func routersRun(t *testing.T, b *vpptest.Bench) {
	t.Helper()
	if b.Sim != nil {
		if text := b.Sim.Dump(); strings.Contains(text, "INTF_DOWN") {
			t.Error(text)
		}
	} else if text := b.CLI("show vrrp vr"); strings.Contains(text, "Interface Down") {
		t.Error(text)
	}
}

// Somebody deletes interfaces that everything stands on, and takes their places.
// The drift tells what is gone with them, and its repair, or a resync, makes all of
// it again. What VPP had kept for the index of a deleted interface is listed as an
// orphan, and removed on request.
func TestDeletedByHandUnderLoad(t *testing.T) {
	for name, repair := range map[string]func(*testing.T, *vpptest.Bench){
		"drift": func(t *testing.T, b *vpptest.Bench) {
			report, err := b.Scheduler.DetectDrift(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			missing := map[string]bool{}
			for _, d := range report.Drifts {
				missing[d.Key] = d.Kind == kvs.DriftMissing
			}
			for _, key := range []string{
				ifKey("lo"), ifKey("port"), "vpp/bd/bd1/interface/port",
				routeKey(&l3.Route{DstNetwork: "10.77.0.0/16", NextHopAddr: "10.1.1.9", OutgoingInterface: "lo"}),
				key(router(5, 100, "10.1.1.100")),
			} {
				if !missing[key] {
					t.Errorf("%s is not said to be missing: %v", key, missing)
				}
			}
			if _, err := b.Scheduler.RepairDrift(t.Context(), report.Drifts); err != nil {
				t.Fatal(err)
			}
		},
		"resync": func(_ *testing.T, b *vpptest.Bench) { b.Resync() },
	} {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				b := vpptest.Start(t, target)
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
					allConfigured(t, b, all)
					b.FullResync(all)
					removeMarked(t, b) // what VPP kept for an index that another one of ours has now
					if !usurped {
						routersRun(t, b)
					}
					b.InSync()
					if name != "resync" { // which forgets first what had the index
						onePath(t, b)
					}
					sound(t, b)
				}
			})
		})
	}
}

// removeMarked removes what looks like the agent's work and is not on record.
func removeMarked(t *testing.T, b *vpptest.Bench) {
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

func deleteLoopback(t *testing.T, b *vpptest.Bench, name string) {
	t.Helper()
	for _, d := range b.AllInterfaces() {
		if d.Tag == name {
			b.CLI("delete loopback interface intfc " + d.InterfaceName)
			return
		}
	}
	t.Fatalf("no interface has the tag %q", name)
}
