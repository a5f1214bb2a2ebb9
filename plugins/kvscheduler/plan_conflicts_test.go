package kvscheduler_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// A plan names the values that the southbound will refuse, because another value is the same
// object of it. An exchange of identities is no conflict.
func TestPlanHasConflicts(t *testing.T) {
	t.Parallel()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}))
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	is := func(ids ...string) *model.Item { return &model.Item{Identities: ids} }
	if err := commit(t, s, map[string]*model.Item{"tap/1": is("x", "y"), "tap/2": is("z")}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change map[string]*model.Item
		want   []api.PlanConflict
	}{
		{map[string]*model.Item{"tap/3": is("w")}, nil},
		{map[string]*model.Item{"tap/3": is("w", "y")}, []api.PlanConflict{{Key: "tap/3", Other: "tap/1"}}},
		{map[string]*model.Item{"tap/2": is("x")}, []api.PlanConflict{{Key: "tap/2", Other: "tap/1"}}},
		{map[string]*model.Item{"tap/3": is("a"), "tap/4": is("a")}, []api.PlanConflict{{Key: "tap/4", Other: "tap/3"}}},
		{map[string]*model.Item{"tap/1": nil, "tap/3": is("x", "y")}, nil},
		{map[string]*model.Item{"tap/1": is("z"), "tap/2": is("x", "y")}, nil},
	} {
		txn := s.StartNBTransaction()
		for key, v := range c.change {
			if v == nil {
				txn.SetValue(key, nil)
			} else {
				txn.SetValue(key, v)
			}
		}
		plan, err := txn.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(plan.Conflicts, c.want) {
			t.Errorf("%v: conflicts %v, expected %v", c.change, plan.Conflicts, c.want)
		}
	}
}
