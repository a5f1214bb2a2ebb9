package orchestrator

import (
	"testing"
	"time"
)

// However the wall clock is set, a deadline is not later than it was, and
// within one boot it is exact.
func TestDeadline(t *testing.T) {
	t.Parallel()
	wall, up, boot := time.Unix(1e9, 0), time.Hour, "one"
	c := clocks{now: func() time.Time { return wall }, uptime: func() (string, time.Duration) { return boot, up }}
	d := c.in(time.Minute)
	for _, test := range []struct {
		what     string
		boot     string
		passed   time.Duration // since the boot
		moved    time.Duration // of the wall clock
		expected time.Duration
	}{
		{"at once", "one", 0, 0, time.Minute},
		{"later", "one", 20 * time.Second, 20 * time.Second, 40 * time.Second},
		{"the clock was set back", "one", 20 * time.Second, -time.Hour, 40 * time.Second},
		{"the clock was set forward", "one", 20 * time.Second, time.Hour, 40 * time.Second},
		{"the clock was set back a year", "one", 20 * time.Second, -365 * 24 * time.Hour, 40 * time.Second},
		{"the clock was set forward a year", "one", 20 * time.Second, 365 * 24 * time.Hour, 40 * time.Second},
		{"after a reboot, with the clock set back a year", "two", -time.Hour, -365 * 24 * time.Hour, time.Minute},
		{"too late", "one", 2 * time.Minute, -time.Hour, -time.Minute},
		{"after a reboot", "two", -time.Hour, 20 * time.Second, 40 * time.Second},
		{"after a reboot, with the clock set back", "two", -time.Hour, -time.Hour, time.Minute},
		{"after a reboot, too late", "two", -time.Hour, time.Hour, time.Minute - time.Hour},
		{"without a boot", "", 0, 20 * time.Second, 40 * time.Second},
	} {
		boot, up, wall = test.boot, time.Hour+test.passed, time.Unix(1e9, 0).Add(test.moved)
		if got := c.left(d); got != test.expected {
			t.Errorf("%s: %v left, expected %v", test.what, got, test.expected)
		}
	}
	real := systemClocks()
	if left := real.left(real.in(time.Hour)); left <= 0 || left > time.Hour {
		t.Errorf("%v left of an hour", left)
	}
}
