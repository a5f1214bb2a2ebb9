package engine_test

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

// What a Delete left because others use it is foreign, also if the agent keeps a record of what it
// made: the first reading does not take it for a removal without effect.
func TestSharedObjectIsNotOnRecord(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]api.TxnOption{"": nil, "verified": {api.WithVerify(), api.WithRevert()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := engine.Options{Record: true, History: record.Options{MaxEntries: 100}, Journal: kvstest.NewJournal()}
			inBubbleWith(t, o, nil, func(t *testing.T, s *engine.Engine) {
				sb := kvstest.NewMockSB()
				sharedBy(t, sb, s)
				if _, err := s.StartNBTransaction().SetValue("pool/1", nil).Commit(t.Context(), opts...); err != nil {
					t.Fatal(err)
				}
				sb.TakeCalls()
				for i := range 2 {
					if err := s.ReadOrphans(t.Context()); err != nil {
						t.Fatal(err)
					}
					if !slices.ContainsFunc(s.Orphans(), func(o api.Orphan) bool { return o.Key == "pool/1" && !o.Ours && !o.Marked && o.Problem == "" }) {
						t.Errorf("orphans at reading %d: %+v", i, s.Orphans())
					}
				}
				if _, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(sb.Keys(), "pool/1") {
					t.Errorf("it was deleted: %q", sb.TakeCalls())
				}
			})
		})
	}
}
