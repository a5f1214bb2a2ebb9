package kvstest

import (
	"slices"
	"sync"
	"time"
)

// Clock is a time that only moves when told to.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*clockTimer
	count  int
}

type clockTimer struct {
	at    time.Time
	order int // among timers of the same time: as they were made
	run   func()
}

// NewClock returns a clock that stands at the first second of 2026.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc makes Advance call f when d has passed, unless it is stopped. stop
// reports whether it was in time.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	t := &clockTimer{c.now.Add(d), c.count, f}
	c.timers = append(c.timers, t)
	return func() bool { return c.remove(t) }
}

func (c *Clock) remove(t *clockTimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.timers, t)
	if i < 0 {
		return false
	}
	c.timers = slices.Delete(c.timers, i, i+1)
	return true
}

// Advance moves the clock to the next timer that is due within d, runs it and
// so on, until d has passed. settle, if given, is called after every timer, to
// wait for what it started. It reports how many timers ran.
func (c *Clock) Advance(d time.Duration, settle func()) (ran int) {
	c.mu.Lock()
	end := c.now.Add(d)
	c.mu.Unlock()
	for {
		t := c.due(end)
		if t == nil {
			return ran
		}
		t.run()
		ran++
		if settle != nil {
			settle()
		}
	}
}

// Jump sets the time of day forward, or back if d is negative, as an operator or
// a time server does: nothing of d has passed, so timers have as long to wait as
// before.
func (c *Clock) Jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for _, t := range c.timers {
		t.at = t.at.Add(d)
	}
}

// due takes the earliest timer up to end and sets the clock to its time; if
// there is none, it sets the clock to end.
func (c *Clock) due(end time.Time) *clockTimer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var next *clockTimer
	for _, t := range c.timers {
		if !t.at.After(end) && (next == nil || t.at.Before(next.at) || t.at.Equal(next.at) && t.order < next.order) {
			next = t
		}
	}
	if next == nil {
		c.now = end
		return nil
	}
	c.timers = slices.DeleteFunc(c.timers, func(t *clockTimer) bool { return t == next })
	if next.at.After(c.now) {
		c.now = next.at
	}
	return next
}

// Pending is the number of timers that did not run yet.
func (c *Clock) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}
