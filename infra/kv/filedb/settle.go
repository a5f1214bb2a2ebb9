package filedb

import (
	"time"
)

const (
	// quiet is how long no change may happen before changes are read, so that
	// all steps of a save, or of the replacement of links, count as one.
	quiet = 100 * time.Millisecond
	// quietEmpty is the same while a file that had content is empty or deleted:
	// it is probably about to be written.
	quietEmpty = 400 * time.Millisecond
	// latest is how long changes are delayed at most, even if they continue.
	latest = 600 * time.Millisecond
)

// settler decides when changes have settled. It has no clock of its own.
type settler struct {
	first, last time.Time // of the pending changes; zero if there are none
	wait        time.Duration
}

// touch records a change; empty reports that a file is empty or deleted.
func (s *settler) touch(now time.Time, empty bool) {
	if s.first.IsZero() {
		s.first = now
	}
	s.last, s.wait = now, quiet
	if empty {
		s.wait = quietEmpty
	}
}

// waits reports whether there are changes that have not settled.
func (s *settler) waits() bool { return !s.first.IsZero() }

// due returns when to read the changes; ok is false if there are none.
func (s *settler) due() (at time.Time, ok bool) {
	if s.first.IsZero() {
		return time.Time{}, false
	}
	at, bound := s.last.Add(s.wait), s.first.Add(latest)
	if bound.Before(at) {
		at = bound
	}
	return at, true
}

func (s *settler) reset() { *s = settler{} }

// clock is the clock by which changes settle.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
