package filedb

import "time"

const (
	// quiet is how long nothing may happen before changes are looked at, so that
	// all steps of a save, or a swap of links, count as one.
	quiet = 100 * time.Millisecond
	// quietEmpty is the same while a file that had content is empty or gone: it
	// is probably about to be written.
	quietEmpty = 400 * time.Millisecond
	// latest is how long changes wait at most, even if they do not cease.
	latest = 600 * time.Millisecond
)

// settler decides when changes have settled. It has no clock of its own.
type settler struct {
	first, last time.Time // of the changes that wait; zero: none
	wait        time.Duration
}

// touch notes that something changed; empty, that a file is empty or gone.
func (s *settler) touch(now time.Time, empty bool) {
	if s.first.IsZero() {
		s.first = now
	}
	s.last, s.wait = now, quiet
	if empty {
		s.wait = quietEmpty
	}
}

// waits tells whether there are changes that have not settled.
func (s *settler) waits() bool { return !s.first.IsZero() }

// due is when to look at the changes; ok is false if there are none.
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
