package engine_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// A resync that finds a value equivalent to its desired state is not an operation on it:
// its last operation and transaction stay recorded.
func TestAResyncWithoutAChangeIsNoOperation(t *testing.T) {
	t.Parallel()
	sb, clock := kvstest.NewMockSB(), kvstest.NewClock()
	s, _ := kvstest.NewScheduler(t, clock)
	tap := sb.Descriptor("tap", "tap/", kvstest.WithOrigin(api.FromNB))
	tap.ValueComparator = func(_ string, a, b proto.Message) bool {
		return a.(*model.Item).GetValue()/10 == b.(*model.Item).GetValue()/10
	}
	if err := s.RegisterKVDescriptor(tap, sb.Descriptor("piece", "piece/", kvstest.Derived())); err != nil {
		t.Fatal(err)
	}
	wanted := &model.Item{Derived: []*model.Derived{{Key: "piece/a"}}}
	if _, err := s.StartNBTransaction().SetValue("tap/1", wanted).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	since := s.Explain("tap/1").Since
	sb.Put("tap/1", &model.Item{Value: 1, Derived: wanted.Derived})
	for _, resync := range []api.ResyncType{api.FullResync, api.UpstreamResync, api.DownstreamResync} {
		clock.Advance(time.Hour, func() {})
		txn := s.StartNBTransaction()
		if resync != api.DownstreamResync {
			txn.SetValue("tap/1", wanted)
		}
		if _, err := txn.Commit(t.Context(), api.WithResync(resync, false)); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"tap/1", "piece/a"} {
			if e := s.Explain(key); !e.Since.Equal(since) {
				t.Errorf("%v: %s is so since %v, expected %v", resync, key, e.Since, since)
			}
		}
		v := s.GetValueStatus("tap/1")
		for _, v := range append(v.GetDerivedValues(), v.GetValue()) {
			if v.GetLastOperation() != kvscheduler.TxnOperation_CREATE {
				t.Errorf("%v: the last operation of %s is %v", resync, v.GetKey(), v.GetLastOperation())
			}
		}
	}
	sb.Put("tap/1", &model.Item{Value: 17, Derived: wanted.Derived}) // by another hand
	if _, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
		t.Fatal(err)
	}
	if v := s.GetValueStatus("tap/1").GetValue(); v.GetLastOperation() != kvscheduler.TxnOperation_UPDATE {
		t.Errorf("after a repair the last operation is %v", v.GetLastOperation())
	}
}
