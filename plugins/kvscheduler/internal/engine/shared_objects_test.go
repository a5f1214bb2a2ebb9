package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// sharedBy registers descriptors for objects that others use, creates tap/1 and pool/1, and adds
// what others have in them.
func sharedBy(t *testing.T, sb *kvstest.MockSB, s api.KVScheduler) {
	t.Helper()
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/", kvstest.ForeignParts()), sb.Descriptor("pool", "pool/", kvstest.KeepsShared()),
		sb.Descriptor("user", "user/")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StartNBTransaction().SetValue("tap/1", &model.Item{}).SetValue("pool/1", &model.Item{}).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	part := &model.Item{}
	api.AddUnmodeled(part, "member 7, which has no name")
	sb.Put("user/a", &model.Item{Deps: []string{"pool/1"}})
	sb.Put("user/b", &model.Item{Deps: []string{"tap/1"}})
	if err := s.ReadOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	sb.Put(api.ForeignKey("tap/1", "member 7"), part) // a plan reads it
}

// A plan that deletes an object, or creates it again, names what others have in it, and what
// happens to that.
func TestPlanNamesWhatOthersHave(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
	sharedBy(t, sb, s)
	for name, c := range map[string]struct {
		change map[string]*model.Item
		want   []api.PlanReason
	}{
		"updated": {map[string]*model.Item{"tap/1": {Value: 1}, "pool/1": {Value: 1}}, nil},
		"deleted": {map[string]*model.Item{"tap/1": nil}, []api.PlanReason{
			{Key: "tap/1", Reason: "other processes have parts in it, which are deleted with it or prevent its deletion: tap/1/foreign:member 7, user/b"}}},
		"created again": {map[string]*model.Item{"tap/1": {Value: 1, Recreate: true}}, []api.PlanReason{
			{Key: "tap/1", Reason: "other processes have parts in it, which are deleted with it or prevent its deletion: tap/1/foreign:member 7, user/b"}}},
		"left": {map[string]*model.Item{"pool/1": nil}, []api.PlanReason{
			{Key: "pool/1", Reason: "left in the southbound, because other processes use it: user/a"}}},
		"left as it is": {map[string]*model.Item{"pool/1": {Value: 1, Recreate: true}}, []api.PlanReason{
			{Key: "pool/1", Reason: "the change will fail, because it deletes and creates the object, and other processes use it: user/a"}}},
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
		if !slices.Equal(plan.Reasons, c.want) {
			t.Errorf("%s: reasons %v, expected %v", name, plan.Reasons, c.want)
		}
	}
}

// A Delete that leaves an object because others use it has succeeded, also with verification: the
// value is gone for the agent, and what stays is foreign. A later value takes it over.
func TestDeleteLeavesSharedObject(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]api.TxnOption{"": nil, "verified": {api.WithVerify(), api.WithRevert()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sb := kvstest.NewMockSB()
			s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
			sharedBy(t, sb, s)
			sb.TakeCalls()
			seq, err := s.StartNBTransaction().SetValue("pool/1", nil).Commit(t.Context(), opts...)
			if err != nil {
				t.Fatal(err)
			}
			if ops := s.GetRecordedTransaction(seq).Executed; len(ops) != 1 || !ops[0].IsLeft || ops[0].NewErrMsg != "" {
				t.Errorf("operations %+v", ops)
			}
			for range 2 { // it is not removed by a resync, which finds it
				if _, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.ContainsFunc(s.Orphans(), func(o api.Orphan) bool { return o.Key == "pool/1" && !o.Ours && !o.Marked }) {
				t.Errorf("orphans %+v", s.Orphans())
			}
			if got := strings.Join(sb.Keys(), " "); !strings.Contains(got, "pool/1") {
				t.Errorf("the southbound has %s", got)
			}
			for _, call := range sb.TakeCalls() {
				if strings.HasPrefix(call, "delete") {
					t.Errorf("the scheduler does %s", call)
				}
			}
			sb.Remove("user/a")
			if _, err := s.StartNBTransaction().SetValue("pool/1", &model.Item{Value: 2}).Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.StartNBTransaction().SetValue("pool/1", nil).Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(sb.Keys(), "pool/1") {
				t.Error("it was not deleted although no other process uses it")
			}
		})
	}
}
