package kvscheduler_test

import (
	"errors"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

// A resync records which descriptors it could not read.
func TestResyncRecordsWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	clock, sb := kvstest.NewClock(), kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, clock)
	route := sb.Descriptor("route", "route/")
	route.Southbound = "vpp"
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), route); err != nil {
		t.Fatal(err)
	}
	resync := func(when string, want ...api.DriftUnread) {
		t.Helper()
		seq, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false))
		if err != nil {
			t.Fatal(err)
		}
		got := s.GetRecordedTransaction(seq).Unread
		if len(got) != len(want) {
			t.Fatalf("%s: got %v, expected %v", when, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got %v, expected %v", when, got[i], want[i])
			}
		}
	}
	s.SouthboundDown("vpp", errors.New("gone"))
	resync("while the southbound is down", api.DriftUnread{Descriptor: "route", Reason: `southbound "vpp" is disconnected`})
	s.SouthboundUp("vpp", 1)
	resync("while it is up")
	sb.Inject(kvstest.Fault{Op: kvstest.Retrieve, Key: "tap", Times: 1})
	resync("when Retrieve fails", api.DriftUnread{Descriptor: "tap", Reason: "injected failure of retrieve tap"})
	resync("when all is read")
}
