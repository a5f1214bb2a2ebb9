package kvscheduler_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// What the southbound reports as lost is created again, unless drift is only to be
// reported.
func TestPolicyForLostValues(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]pb.ValueState{
		"": pb.ValueState_CONFIGURED, kvscheduler.DriftRepair: pb.ValueState_CONFIGURED, kvscheduler.DriftReport: pb.ValueState_MISSING,
	} {
		cfg := kvscheduler.DefaultConfig()
		if policy != "" {
			cfg.DriftRepairFor = map[string]string{"tap": policy}
		}
		s := kvscheduler.NewPlugin(kvscheduler.UseConf(cfg))
		agenttest.Start(t, s)
		sb := kvstest.NewMockSB()
		if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.StartNBTransaction().SetValue("tap/1", &model.Item{}).Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		sb.Remove("tap/1")
		if err := s.ReportLost("tap/1"); err != nil {
			t.Fatal(err)
		}
		s.TransactionBarrier()
		if got := s.GetValueStatus("tap/1").GetValue().GetState(); got != want {
			t.Errorf("policy %q: the value is %v, expected %v", policy, got, want)
		}
	}
}
