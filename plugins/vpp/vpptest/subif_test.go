package vpptest_test

import (
	"testing"

	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// What happens to tags changes while the sub-interface stays.
func TestTagRewrite(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		i := subif("s", "loop", 100)
		i.GetSub().TagRwOption = interfaces.SubInterface_POP1
		b.Must(of(loop("loop"), i))
		index := indexOf(b, "s")
		for _, l := range []*interfaces.SubInterface{
			{TagRwOption: interfaces.SubInterface_POP1},
			{TagRwOption: interfaces.SubInterface_PUSH1, Tag1: 5},
			{TagRwOption: interfaces.SubInterface_PUSH2, PushDot1Q: true, Tag1: 5, Tag2: 6},
			{TagRwOption: interfaces.SubInterface_TRANSLATE11, Tag1: 7},
			{TagRwOption: interfaces.SubInterface_TRANSLATE12, PushDot1Q: true, Tag1: 7, Tag2: 8},
			{},
		} {
			i = proto.CloneOf(i)
			l.ParentName, l.SubId = "loop", 100
			i.Link = &interfaces.Interface_Sub{Sub: l}
			b.Must(of(i))
			wantLink(t, b, i)
			b.InSync()
		}
		// Tags that nothing puts on make no difference.
		i = proto.CloneOf(i)
		i.GetSub().Tag1 = 9
		b.Must(of(i))
		b.InSync()
		if now := indexOf(b, "s"); now != index {
			t.Errorf("the sub-interface was created again: index %d, was %d", now, index)
		}
	})
}

// The parent is created again, and takes its sub-interfaces along.
func TestSubInterfaceFollowsParent(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	parent := tap("tap1")
	s := subif("s", "tap1", 100)
	s.IpAddresses = []string{"10.1.1.1/24"}
	b.Must(of(parent, s))
	bigger := proto.CloneOf(parent)
	bigger.GetTap().RxRingSize = 512
	b.Must(of(bigger))
	allConfigured(t, b, of(bigger, s))
	b.InSync()
	b.Must(deleted(of(parent)))
	b.Want(states{ifKey("s"): pending})
	b.Must(of(parent))
	allConfigured(t, b, of(parent, s))
}

// Under a parent that is down VPP sets none up. It exists with all that stands on
// it, and its state follows the parent, there and back.
func TestSubInterfaceUnderDisabledParent(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		parent, s := loop("loop"), subif("s", "loop", 100)
		s.IpAddresses = []string{"10.1.1.1/24"}
		off := proto.CloneOf(s)
		off.Enabled = false
		parent.Enabled = false
		b.Must(of(parent, s))
		want := func(up bool) {
			t.Helper()
			b.Want(states{ifKey("s"): configured, "vpp/interface/s/address/static/10.1.1.1/24": configured})
			if isUp(b, "s") != up {
				t.Errorf("up: %v, expected %v", !up, up)
			}
			b.InSync()
		}
		want(false)
		index := indexOf(b, "s")
		for range 2 {
			b.Must(of(loop("loop")))
			want(true)
			b.Must(of(parent))
			want(false)
		}
		b.Must(of(off))
		b.Must(of(loop("loop")))
		want(false) // is not enabled
		b.Must(of(s))
		want(true)
		b.Must(of(off))
		want(false)
		b.Must(of(parent, s))
		want(false)
		b.Must(of(loop("loop"), subif("t", "loop", 200))) // at once
		want(true)
		if !isUp(b, "t") {
			t.Error("a sub-interface that comes while the parent goes up is down")
		}
		if now := indexOf(b, "s"); now != index {
			t.Errorf("it was created again: index %d, was %d", now, index)
		}
		b.Must(of(parent))
		b.Must(deleted(of(s)))
		b.Must(of(loop("loop")))
		b.InSync()
	})
}

// An operator sets the parent down by hand: both come up when that is repaired.
func TestParentSetDownByHand(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("loop")))
		for range 2 {
			b.CLI("set interface state loop0 down")
			b.Must(of(subif("s", "loop", 100)))
			b.Resync()
			if !isUp(b, "loop") || !isUp(b, "s") {
				t.Errorf("after the repair the parent is up: %v, the sub-interface: %v", isUp(b, "loop"), isUp(b, "s"))
			}
			b.InSync()
		}
	})
}

func isUp(b *vpptest.Harness, name string) bool {
	for _, d := range b.AllInterfaces() {
		if d.Tag == name {
			return d.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0
		}
	}
	return false
}
