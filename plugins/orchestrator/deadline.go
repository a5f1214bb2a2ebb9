package orchestrator

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// deadline is a time that survives a restart of the process: it is measured
// since the boot, independent of the wall clock, or, after a reboot, by the
// wall clock.
type deadline struct {
	Wall    time.Time     `json:"wall"`
	Boot    string        `json:"boot,omitempty"` // identifies the boot
	Uptime  time.Duration `json:"uptime"`         // time since the boot
	Timeout time.Duration `json:"timeout"`        // remaining time when it was set
}

// clocks are the clocks of the machine.
type clocks struct {
	now func() time.Time
	// uptime returns the time since the boot and the ID of the boot; empty if
	// unknown.
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

// in returns the deadline after the given time.
func (c clocks) in(timeout time.Duration) deadline {
	boot, up := c.uptime()
	return deadline{Wall: c.now().Add(timeout), Boot: boot, Uptime: up + timeout, Timeout: timeout}
}

// left returns the time until a deadline; it has passed if that is not
// positive. It is never more than the original timeout, even if the clock was
// set.
func (c clocks) left(d deadline) time.Duration {
	boot, up := c.uptime()
	if boot != "" && boot == d.Boot {
		return min(d.Uptime-up, d.Timeout)
	}
	return min(d.Wall.Sub(c.now()), d.Timeout)
}
