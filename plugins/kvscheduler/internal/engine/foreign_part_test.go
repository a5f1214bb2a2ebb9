package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// What another process added to a value is reported by the drift of the value and by orphans. It is
// never changed, not repaired, no reason to change the value, and derives nothing.
func TestForeignParts(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), sb.Descriptor("piece", "piece/", kvstest.Derived())); err != nil {
		t.Fatal(err)
	}
	item := &model.Item{Derived: []*model.Derived{{Key: "piece/a"}}}
	if _, err := s.StartNBTransaction().SetValue("tap/1", item).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	part := &model.Item{Derived: []*model.Derived{{Key: "piece/a"}}}
	api.AddUnmodeled(part, "member 7, which has no name")
	key := api.ForeignKey("tap/1", "member 7")
	sb.Put(key, part)
	sb.TakeCalls()
	reported := func() {
		t.Helper()
		report, err := s.DetectDrift(t.Context())
		if err != nil || drifted(report) != "differs tap/1 added by another process::member 7, which has no name" || !report.Drifts[0].Foreign() {
			t.Fatalf("drift %s, %v", drifted(report), err)
		}
		if seq, err := s.RepairDrift(t.Context(), report.Drifts); seq != api.NoSeqNum || err != nil {
			t.Errorf("repaired by transaction %d, %v", seq, err)
		}
		if err := s.ReadOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(s.Orphans(), func(o api.Orphan) bool { return o.Key == key && !o.Ours && !o.Marked }) {
			t.Errorf("orphans %+v", s.Orphans())
		}
	}
	reported()
	if _, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
		t.Fatal(err)
	}
	reported()
	if _, err := s.RemoveOrphans(t.Context(), []string{key}); err == nil {
		t.Error("removed as an orphan")
	}
	for _, call := range sb.TakeCalls() {
		if !strings.HasPrefix(call, "retrieve ") {
			t.Errorf("the scheduler does %s", call)
		}
	}
	sb.Remove(key)
	if report, err := s.DetectDrift(t.Context()); err != nil || drifted(report) != "" {
		t.Errorf("removed: drift %s, %v", drifted(report), err)
	}
}
