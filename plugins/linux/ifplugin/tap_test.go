package ifplugin_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	vppmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// announce makes a TAP of VPP exist, as a value from the southbound.
func announce(t *testing.T, a *linuxtest.Agent, tap string, there bool) {
	t.Helper()
	kv := api.KVWithMetadata{Key: vppmodel.InterfaceModel.KeyFor(tap), Origin: api.FromSB}
	if there {
		kv.Value = &emptypb.Empty{}
	}
	must(t, a.PushSBNotification(kv))
	a.TransactionBarrier()
}

func describeVPP(t *testing.T, a *linuxtest.Agent) {
	t.Helper()
	must(t, a.RegisterKVDescriptor(api.Adapt(&api.Descriptor[*emptypb.Empty, any]{
		Name: "fake-vpp-interface", KeySelector: vppmodel.InterfaceModel.Matches,
	})))
}

// The Linux side of a TAP is taken from VPP, moved, and given back.
func TestTap(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		tap := &interfaces.Interface{Name: "t", Type: interfaces.Interface_TAP_TO_VPP, Namespace: named("left"), Enabled: true,
			HostIfName: "eth0", IpAddresses: []string{"10.1.0.1/24"},
			Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{VppTapIfName: "vpp-tap"}}}
		a := linuxtest.StartWith(t, w, linuxtest.TAPs{"vpp-tap": "tap7"})
		describeVPP(t, a)
		must(t, a.Apply(tap))
		a.Expect(pending, tap)
		w.MakeTap(t, "tap7")
		announce(t, a, "vpp-tap", true)
		a.Expect(configured, tap)
		left := w.Open(t, "left")
		if l := expectLink(t, left, "eth0"); l.Alias != "/vnf-agent/test/t/vpp-tap/tap7" || !l.Up || !hasAddress(t, left, "eth0", "10.1.0.1/24") {
			t.Errorf("link is %+v", l)
		}
		expectNoLink(t, own, "tap7")
		unchanged(t, a, tap)
		must(t, a.Delete(tap))
		expectLinks(t, left)
		if l := expectLink(t, own, "tap7"); l.Up || l.Alias != "" {
			t.Errorf("link is %+v, expected as VPP made it", l)
		}
	})
}

// VPP deletes the TAP: the value waits, and that it is gone is no error.
func TestTapDeletedByVPP(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	tap := &interfaces.Interface{Name: "t", Type: interfaces.Interface_TAP_TO_VPP, Enabled: true,
		Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{VppTapIfName: "vpp-tap"}}}
	a := linuxtest.StartWith(t, w, linuxtest.TAPs{"vpp-tap": "tap7"})
	describeVPP(t, a)
	w.MakeTap(t, "tap7")
	announce(t, a, "vpp-tap", true)
	must(t, a.Apply(tap))
	a.Expect(configured, tap)
	w.Sim.RemoveDevice("t")
	announce(t, a, "vpp-tap", false)
	a.Expect(pending, tap)
}
