package quarantine_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
)

var start = time.Unix(1e9, 0)

// A value goes into quarantine with the given number of crashes within an hour.
func TestQuarantineAfterCrashes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		after  int
		at     []time.Duration // crashes
		caught bool
	}{
		{"too few", 3, []time.Duration{0, time.Minute}, false},
		{"enough", 3, []time.Duration{0, time.Minute, time.Hour}, true},
		{"too far apart", 3, []time.Duration{0, time.Minute, time.Hour + time.Second}, false},
		{"the clock was set back", 3, []time.Duration{time.Hour, time.Minute, 0}, true},
		{"never", 0, []time.Duration{0, 0, 0, 0}, false},
	} {
		tracker := quarantine.New(c.after)
		caught := false
		for _, d := range c.at {
			calls := []exec.InFlight{{Key: "a", Callback: "Create"}, {Key: "a", Callback: "Create"}} // one crash counts once
			caught = len(tracker.Crashed("vpp", start.Add(d), calls)) > 0
		}
		if caught != c.caught {
			t.Errorf("%s: quarantined: %v, expected %v", c.name, caught, c.caught)
		}
	}
}

// The next process gets the suspects from what TakeChanges returned.
func TestRestore(t *testing.T) {
	t.Parallel()
	tracker := quarantine.New(1)
	tracker.Crashed("vpp", start, []exec.InFlight{{Key: "a", Callback: "Update"}, {Key: "b", Callback: "Create"}})
	tracker.Get("a").Desired = wrapperspb.String("x")
	tracker.Drop("b")
	kept, err := tracker.TakeChanges(false)
	if err != nil || len(kept) != 2 || kept["b"] != nil {
		t.Fatalf("kept %q, error %v", kept, err)
	}
	if tracker.Changed() {
		t.Error("changes remain after they were taken")
	}
	next := quarantine.New(1)
	if err := next.Restore("a", kept["a"]); err != nil {
		t.Fatal(err)
	}
	a := next.Get("a")
	if !a.Early || !a.Quarantined || a.Operation != "Update" || !proto.Equal(a.Desired, wrapperspb.String("x")) {
		t.Errorf("restored %+v", a)
	}
	if err := next.Restore("c", kept["a"]); err == nil {
		t.Error("a record of another key is accepted")
	}
	if err := next.Restore("c", []byte("{")); err == nil || next.Get("c") != nil {
		t.Errorf("a damaged record: error %v, suspect %v", err, next.Get("c"))
	}
}

// Release ends the quarantine; the value remains a suspect, and pinned.
func TestRelease(t *testing.T) {
	t.Parallel()
	tracker := quarantine.New(1)
	tracker.Crashed("vpp", start, []exec.InFlight{{Key: "a"}})
	tracker.Release("a")
	if a := tracker.Get("a"); a.Quarantined || len(a.Crashes) > 0 || !tracker.Pin(nil)["a"] {
		t.Errorf("released: %+v", a)
	}
	tracker.Drop("a")
	if tracker.Len() != 0 || tracker.Pin(nil) != nil {
		t.Error("a dropped suspect is pinned")
	}
}
