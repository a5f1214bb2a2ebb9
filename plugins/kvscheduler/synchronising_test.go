package kvscheduler_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// A southbound that has connected makes the agent INIT, thus not ready, until its values are
// synchronised: while that waits in the queue, and while it runs. It ends with failures of
// values, which are DEGRADED. What is lost while a southbound is up is not INIT.
func TestInitUntilSynchronised(t *testing.T) {
	t.Parallel()
	tree := health.NewTree(nil)
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}),
		kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.Health = tree.Plugin("kvscheduler") }))
	agenttest.Start(t, s)
	tree.Ready("kvscheduler")
	far, near := kvstest.NewMockSB(), kvstest.NewMockSB()
	d := far.Descriptor("tap", "tap/")
	d.Southbound = "far"
	if err := s.RegisterKVDescriptor(d, near.Descriptor("acl", "acl/")); err != nil {
		t.Fatal(err)
	}
	want := func(when string, state health.State) {
		t.Helper()
		if got := tree.StateWithout(); got != state {
			t.Errorf("%s: %v, expected %v", when, got, state)
		}
	}
	hang := func(sb *kvstest.MockSB, key string) {
		sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: key, Hang: true, Times: 1})
	}
	commit := func(key string) {
		t.Helper()
		if _, err := s.StartNBTransaction().SetValue(key, &model.Item{}).Commit(t.Context(), api.WithoutBlocking()); err != nil {
			t.Fatal(err)
		}
	}

	commit("tap/1")
	s.TransactionBarrier()
	want("the southbound has never been connected", health.OK)

	hang(near, "acl/1")
	commit("acl/1")
	near.AwaitHang("acl/1")
	hang(far, "tap/1")
	s.SouthboundUp("far", 1)
	want("the synchronisation is queued", health.Init)
	near.Release("acl/1")
	far.AwaitHang("tap/1")
	want("the synchronisation runs", health.Init)
	far.Release("tap/1")
	s.TransactionBarrier()
	want("the values are synchronised", health.OK)

	s.SouthboundDown("far", errors.New("gone"))
	s.TransactionBarrier()
	want("the southbound is down", health.OK) // the plugin that connects reports that
	far.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: "tap/2", Times: 1})
	commit("tap/2")
	s.SouthboundUp("far", 2)
	want("the southbound is connected again", health.Init)
	s.TransactionBarrier()
	want("a value failed", health.Degraded)
	if _, err := s.StartNBTransaction().SetValue("tap/2", nil).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("the value is gone", health.OK)

	hang(near, "acl/2")
	commit("acl/2")
	near.AwaitHang("acl/2")
	s.SouthboundUp("far", 3)
	want("a southbound that is up is read again", health.OK)
	s.SouthboundDown("far", errors.New("gone"))
	s.SouthboundUp("far", 4)
	s.SouthboundDown("far", errors.New("gone"))
	want("the southbound came and went while the queue was busy", health.Init)
	near.Release("acl/2")
	s.TransactionBarrier()
	want("it is down for good", health.OK)
}
