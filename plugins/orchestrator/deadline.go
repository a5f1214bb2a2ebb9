package orchestrator

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// deadline is a moment that a later process can recognise: by the time since
// the machine was booted, which no one can set, or, after a reboot, by the wall
// clock.
type deadline struct {
	Wall    time.Time     `json:"wall"`
	Boot    string        `json:"boot,omitempty"` // identifies the boot
	Uptime  time.Duration `json:"uptime"`         // since then
	Timeout time.Duration `json:"timeout"`        // it was in the future when it was set
}

// clocks are the clocks of the machine.
type clocks struct {
	now func() time.Time
	// uptime is the time since the boot, and which boot that was; empty: not known.
	uptime func() (boot string, d time.Duration)
}

func systemClocks() clocks { return clocks{now: time.Now, uptime: uptime} }

func uptime() (boot string, d time.Duration) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var ts unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return "", 0
	}
	return strings.TrimSpace(string(id)), time.Duration(ts.Nano())
}

// in is the deadline after a while.
func (c clocks) in(timeout time.Duration) deadline {
	boot, up := c.uptime()
	return deadline{Wall: c.now().Add(timeout), Boot: boot, Uptime: up + timeout, Timeout: timeout}
}

// left is how long it is until a deadline; 0 and less: it is over. Never longer
// than it was in the beginning, however the clock was set meanwhile.
func (c clocks) left(d deadline) time.Duration {
	boot, up := c.uptime()
	if boot != "" && boot == d.Boot {
		return min(d.Uptime-up, d.Timeout)
	}
	return min(d.Wall.Sub(c.now()), d.Timeout)
}
