package kvscheduler_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// When a southbound goes down with many values that one transaction made, each of
// them costs as much as if it were the only one. (Reading the record of the whole
// transaction for each kept an agent with 100,000 routes busy for a minute and more.)
// It is not parallel, because it counts allocations.
func TestLosingManyIsLinear(t *testing.T) {
	each := func(values int) float64 {
		sb := kvstest.NewMockSB()
		s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
		if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/", kvstest.WithSouthbound("vpp"))); err != nil {
			t.Fatal(err)
		}
		s.SouthboundUp("vpp", 1)
		txn := s.StartNBTransaction()
		for i := range values {
			txn.SetValue(fmt.Sprint("tap/", i), &model.Item{Value: 1})
		}
		if _, err := txn.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.SouthboundDown("vpp", errors.New("gone"))
		s.TransactionBarrier()
		runtime.ReadMemStats(&after)
		if got := s.GetValueStatus("tap/0").GetValue().GetState(); got != pb.ValueState_PENDING {
			t.Fatalf("state %v", got)
		}
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(values)
	}
	few, many := each(200), each(2000)
	if many > 3*few {
		t.Errorf("%.0f bytes for each of 200 values, %.0f for each of 2000", few, many)
	}
}
