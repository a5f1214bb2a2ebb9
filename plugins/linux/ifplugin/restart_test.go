package ifplugin_test

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// items are values of all kinds that the agent makes itself.
func items() []proto.Message {
	return []proto.Message{
		veth("x", "y", "", "10.1.0.1/24"),
		veth("y", "x", "left", "10.1.0.2/24", "fd00:1::2/64"),
		&interfaces.Interface{Name: "lo1", Type: interfaces.Interface_LOOPBACK, Namespace: named("left"), Enabled: true},
		&interfaces.Interface{Name: "d", Type: interfaces.Interface_DUMMY, Namespace: named("left"), Enabled: true,
			IpAddresses: []string{"10.2.0.1/32"}, VrfMasterInterface: "red"},
		&interfaces.Interface{Name: "red", Type: interfaces.Interface_VRF_DEVICE, Namespace: named("left"), Enabled: true,
			Link: &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: 10}}},
		&interfaces.Interface{Name: "v", Type: interfaces.Interface_VLAN, Namespace: named("left"), Enabled: true, MasterInterface: "br",
			Link: &interfaces.Interface_Vlan{Vlan: &interfaces.VlanLink{ParentInterface: "x", VlanId: 5}}},
		&interfaces.Interface{Name: "br", Type: interfaces.Interface_BRIDGE, Namespace: named("left"), Enabled: true},
	}
}

// A restart finds everything as it was and does nothing.
func TestRestart(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		values := items()
		if w.Sim == nil {
			values = values[:3] // kernels without dummy, VRF and VLAN devices are common
		}
		a := linuxtest.Start(t, w)
		must(t, a.Apply(values...))
		a.Expect(configured, values...)
		a.Stop()

		a = linuxtest.Start(t, w)
		unchanged(t, a, values...)
		a.Expect(configured, values...)
		a.Stop()

		// The marks do not say who made them, so another process leaves them alone
		// until it is asked.
		before := w.Open(t, "left")
		marked, err := before.Links(t.Context())
		must(t, err)
		a = linuxtest.Start(t, w)
		must(t, a.Resync())
		must(t, a.Resync())
		after, err := before.Links(t.Context())
		must(t, err)
		for _, links := range [][]netlinkapi.Link{marked, after} {
			for i := range links {
				links[i].Counters = netlinkapi.Counters{} // the kernel sends packets of its own
			}
		}
		if !reflect.DeepEqual(marked, after) {
			t.Errorf("links were %v, are %v", marked, after)
		}
		var keys []string
		for _, o := range a.Orphans() {
			if o.Marked {
				keys = append(keys, o.Key)
			}
		}
		if len(keys) != len(values) {
			t.Errorf("%d orphans are marked, expected %d: %q", len(keys), len(values), keys)
		}
		if _, err := a.RemoveOrphans(t.Context(), keys); err != nil {
			t.Error(err)
		}
		expectLinks(t, w.Open(t, ""))
		expectLinks(t, w.Open(t, "left"))
		if l := expectLink(t, w.Open(t, "left"), "lo"); l.Alias != "" {
			t.Errorf("alias of lo is %q", l.Alias)
		}
	})
}

// Killed at any moment, of coming up or going down, the next run converges to
// whatever is wanted then, and leaves nothing behind.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		for changes := 0; ; changes++ {
			if !testKilled(t, changes, down) {
				t.Logf("down=%t: %d changes", down, changes)
				break
			}
		}
	}
}

// testKilled returns false if everything was done before the kill.
func testKilled(t *testing.T, changes int, down bool) (killed bool) {
	for _, empty := range []bool{false, true} {
		t.Run(fmt.Sprintf("down=%t,changes=%d,empty=%t", down, changes, empty), func(t *testing.T) {
			w := nltest.Sim()
			before, stateDir := w.Sim.String(), t.TempDir()
			a := linuxtest.StartIn(t, w, stateDir)
			if down {
				must(t, a.Apply(items()...))
			}
			w.Sim.CrashAfter(changes, func() { // what the process would write to its state-dir after its death does not count
				dead := t.TempDir()
				must(t, os.CopyFS(dead, os.DirFS(stateDir)))
				stateDir = dead
			})
			if down {
				_ = a.Delete(items()...)
			} else {
				_ = a.Apply(items()...)
			}
			killed = w.Sim.Crashed()
			a.Stop()
			crashed := w.Sim.String()
			w.Sim.CrashAfter(-1, nil)

			a = linuxtest.StartIn(t, w, stateDir)
			if empty {
				must(t, a.Resync())
				w.Sim.RemoveNamespace(w.Path("left"))
				if after := w.Sim.String(); after != before {
					t.Errorf("left behind:\n%s\nafter the kill it was:\n%s", after, crashed)
				}
				return
			}
			must(t, a.Resync(items()...))
			a.Expect(configured, items()...)
			unchanged(t, a, items()...)
			expectLinks(t, w.Open(t, ""), "h-x")
			expectLinks(t, w.Open(t, "left"), "h-y", "d", "red", "v", "br")
			if t.Failed() {
				t.Logf("after the kill it was:\n%s\nthen:\n%s", crashed, w.Sim)
			}
		})
	}
	return killed
}
