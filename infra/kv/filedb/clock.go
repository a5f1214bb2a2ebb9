package filedb

import "time"

// clock is the clock by which changes settle.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
