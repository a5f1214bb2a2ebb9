package vpptest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	lldp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/lldp"
)

// VPP would enable LLDP on another interface where it has another number than its hardware.
func TestLLDPOfWrongHardware(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		first, sub := loop("first"), loop("sub")
		sub.Type = interfaces.Interface_SUB_INTERFACE
		sub.Link = &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: "first", SubId: 5}}
		on := func(name string) *lldp.Interface { return &lldp.Interface{Interface: name} }
		all := of(first, on("first"))
		b.Must(all)
		b.Must(of(sub))
		b.Must(of(loop("late")))
		for name, says := range map[string]string{"sub": `"sub" is a sub-interface`, "late": `another one for "late"`} {
			err := b.Commit(of(on(name)))
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("LLDP on %s: error %v, expected %q", name, err, says)
			}
			b.Must(deleted(of(on(name))))
		}
		if target.Sim == nil {
			if shown := b.CLI("show lldp"); strings.Count(shown, "\nloop") != 1 {
				t.Errorf("VPP has LLDP on:\n%s", shown)
			}
		}
		b.Must(deleted(of(loop("late"), sub)))
		b.Must(deleted(all))
	})
}

// A sub-interface cannot have LLDP: that is not tried again until the interface is another one.
func TestLLDPOfSubInterface(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		parent, sub, lldpOn := loop("parent"), loop("sub"), &lldp.Interface{Interface: "sub"}
		sub.Type = interfaces.Interface_SUB_INTERFACE
		sub.Link = &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: "parent", SubId: 5}}
		all := of(parent, lldpOn)
		b.Must(all)
		key := catalogue.Key(lldpOn)
		is := func(state kvscheduler.ValueState) {
			t.Helper()
			b.Want(map[string]kvscheduler.ValueState{key: state})
		}
		is(kvscheduler.ValueState_PENDING)
		if err := b.Commit(of(sub)); err == nil || !strings.Contains(err.Error(), `interface: "sub" is a sub-interface`) {
			t.Errorf("the sub-interface: error %v", err)
		}
		is(kvscheduler.ValueState_INVALID)
		status := b.Scheduler.GetValueStatus(key).GetValue()
		if !strings.Contains(status.GetError(), `interface: "sub" is a sub-interface`) || !slices.Equal(status.GetDetails(), []string{"interface"}) {
			t.Errorf("status %v", status)
		}
		b.Must(deleted(of(sub)))
		is(kvscheduler.ValueState_PENDING)
		b.Must(deleted(of(parent)))
		b.Must(of(loop("sub")))
		is(kvscheduler.ValueState_CONFIGURED)
		b.Must(deleted(of(loop("sub"), lldpOn)))
	})
}
