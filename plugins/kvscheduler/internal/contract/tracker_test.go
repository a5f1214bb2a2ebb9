package contract_test

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
)

// Violations are reported when they change, counted each time, and forgotten with the
// next Retrieve, or when the value is described again.
func TestTracker(t *testing.T) {
	t.Parallel()
	var reports [][]contract.Violation
	tracker := contract.New(logging.Nop(), func(v []contract.Violation) { reports = append(reports, v) })
	tracker.Value("a", "a/1", "no key")
	tracker.Value("a", "a/1", "no key")
	tracker.Retrieve("a", "a foreign value")
	want := []contract.Violation{{Descriptor: "a", Problem: "a foreign value"}, {Descriptor: "a", Key: "a/1", Problem: "no key"}}
	if len(reports) != 2 || !slices.Equal(reports[1], want) {
		t.Errorf("reported %v", reports)
	}
	if got := tracker.Of("a/1"); !slices.Equal(got, []string{"no key"}) {
		t.Errorf("problems %q", got)
	}
	tracker.Begin("a")
	tracker.Begin("a")
	if len(reports) != 3 || !slices.Equal(reports[2], want[1:]) {
		t.Errorf("after the next Retrieve: %v", reports)
	}
	tracker.Forget("a/1")
	if len(tracker.List()) > 0 || tracker.Of("a/1") != nil || tracker.Counts()["a"] != 3 {
		t.Errorf("left %v, counted %v", tracker.List(), tracker.Counts())
	}
}
