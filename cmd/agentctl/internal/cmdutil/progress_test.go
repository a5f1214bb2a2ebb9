package cmdutil

import (
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Progress has the rate of the phase, and the time that is left.
func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	begun := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		seconds int
		now     api.Progress
		want    string
	}{
		{0, api.Progress{Phase: "executing", Done: 1000, Total: 100000}, "executing 1,000/100,000 operations"},
		{10, api.Progress{Phase: "executing", Done: 21000, Total: 100000}, "executing 21,000/100,000 operations, 2,000/s, 40s left"},
		{20, api.Progress{Phase: "retrieving", Descriptor: "vpp-route", Done: 100}, "retrieving vpp-route 100"},
		{21, api.Progress{Phase: "retrieving", Descriptor: "vpp-route", Done: 1100}, "retrieving vpp-route 1,100, 1,000/s"},
	} {
		if got := p.text(&c.now, begun.Add(time.Duration(c.seconds)*time.Second)); got != c.want {
			t.Errorf("%q, expected %q", got, c.want)
		}
	}
}
