package vpptest_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// A mark changes its map in place, waits for it, and is in effect on an interface that has the index
// of a deleted one.
func TestQoS(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		maps := of(&qos.Map{Id: 1, Translations: []*qos.Map_Translation{{Input: 184, Output: 40}}}, &qos.Map{Id: 2})
		mark := &qos.Mark{Interface: "lo", Map: 1}
		all := of(loop("lo", "10.1.1.1/24"), &qos.Record{Interface: "lo"}, mark)
		for key, v := range maps {
			all[key] = v
		}
		b.Must(all)
		other := of(&qos.Mark{Interface: "lo", Map: 2})
		if ops := b.Change(other); len(ops) != 1 {
			t.Errorf("another map needs %q", ops)
		}
		b.Must(deleted(of(&qos.Map{Id: 2})))
		for key := range other {
			b.Await(key, pb.ValueState_PENDING)
		}
		b.Must(of(mark))
		deleteLoopback(t, b, "lo")
		b.Await(ifKey("lo"), pb.ValueState_MISSING)
		b.Resync()
		if n := nodeCount(t, b, "lo", "ip4-qos-mark"); n != 1 {
			t.Errorf("%d times ip4-qos-mark", n)
		}
		b.Must(deleted(all))
	})
}
