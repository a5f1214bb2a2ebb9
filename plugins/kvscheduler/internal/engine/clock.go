package engine

import "time"

// Clock is the time as the scheduler sees it; tests inject their own. The time
// of day may be set: what waits for a while has to use AfterFunc.
type Clock interface {
	// Now tells the time of day. The difference of two times of one process should
	// be what has passed between them, as it is with time.Now.
	Now() time.Time
	// AfterFunc runs f in a goroutine of its own after d, unless stopped, however
	// the time of day is set meanwhile.
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
