package exec

import "time"

// Clock provides the time and timers; tests inject their own. The time of day may
// jump, so use AfterFunc to wait.
type Clock interface {
	// Now returns the time of day. As with time.Now, the difference of two results
	// should be the time that has passed between the calls.
	Now() time.Time
	// AfterFunc runs f in a goroutine of its own after d, unless it is stopped. Changes
	// of the time of day do not affect it.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the real time.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}
