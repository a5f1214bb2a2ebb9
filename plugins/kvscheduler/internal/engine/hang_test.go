package engine_test

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

// manualClock fires timers when told to.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	count  int
	timers map[int]manualTimer
	closed bool // see close
}

type manualTimer struct {
	d time.Duration
	f func()
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

// advance sets the clock forward; no timer runs.
func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *manualClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers == nil {
		c.timers = map[int]manualTimer{}
	}
	c.count++
	id := c.count
	c.timers[id] = manualTimer{d, f}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, pending := c.timers[id]
		delete(c.timers, id)
		return pending
	}
}

func (c *manualClock) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.timers)
	c.closed = false
}

// close makes alarm fire all timers, until drop: a scheduler that stops waits for less.
func (c *manualClock) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// jump sets the time of day; nothing of d has passed.
func (c *manualClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// hanging is how long a callback may take; no other time is as long.
const hanging = time.Hour

// looking is the time between two looks at what is only observed.
const looking = 10 * time.Second

// fire fires the timers of retries, in the order in which they were made.
func (c *manualClock) fire() int { return c.run(func(d time.Duration) bool { return d < hanging/4 }) }

// fireOnce is the same but for what is done again and again.
func (c *manualClock) fireOnce() int {
	return c.run(func(d time.Duration) bool { return d < hanging/4 && d != looking })
}

// alarm lets so much time pass that callbacks are given up.
func (c *manualClock) alarm() {
	c.mu.Lock()
	c.now = c.now.Add(hanging)
	all := c.closed
	c.mu.Unlock()
	c.run(func(d time.Duration) bool { return all || d >= hanging/4 })
}

func (c *manualClock) run(which func(time.Duration) bool) int {
	c.mu.Lock()
	var due []func()
	for _, id := range slices.Sorted(maps.Keys(c.timers)) {
		if which(c.timers[id].d) {
			due = append(due, c.timers[id].f)
			delete(c.timers, id)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
	return len(due)
}

// await runs f and lets the time pass that callbacks which hang meanwhile are
// waited for.
func (s *simulation) await(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	defer s.w.await(func() bool { return !s.w.ending() })
	for {
		select {
		case <-done:
			return
		case key := <-s.w.hung:
			for s.w.hangs(key) && !s.givenUp(key) {
				s.clock.alarm()
				runtime.Gosched()
			}
		}
	}
}

func (s *simulation) givenUp(key string) bool {
	return slices.ContainsFunc(s.c.Overdue(), func(call exec.Call) bool { return call.Key == key })
}

func (s *simulation) barrier() { s.await(s.c.TransactionBarrier) }

// digest waits until the scheduler has seen to the callbacks that were given up
// and no longer hang: it must not do so between a change of the southbound
// and the news of it.
func (s *simulation) digest() {
	s.settleCalls(func(call exec.Call) bool { return !s.w.hangs(call.Key) })
}

// maxRounds is how often settleCalls looks before it fails. A call that returns is settled
// within a few rounds.
const maxRounds = 1 << 20

// settleCalls waits until the scheduler has handled the matching callbacks that timed out.
// It does not wait for those whose effect could not be read: a timer reads it again.
func (s *simulation) settleCalls(which func(exec.Call) bool) {
	waits := func(call exec.Call) bool { return !call.Unread() && which(call) }
	for range maxRounds {
		if !slices.ContainsFunc(s.c.Overdue(), waits) {
			s.barrier() // the last one is being looked at
			return
		}
		s.barrier()
		runtime.Gosched()
	}
	s.fatal("callbacks that were given up are not settled: %+v", s.c.Overdue())
}

// release lets everything that hangs return, and waits until that is digested.
func (s *simulation) release() {
	rate := s.rate
	s.rate = 0 // nothing else begins to hang
	defer func() { s.rate = rate }()
	s.w.mu.Lock()
	if len(s.w.hanging) > 0 {
		s.log("release %v", slices.Sorted(maps.Keys(s.w.hanging)))
	}
	for _, h := range s.w.hanging {
		close(h.until)
	}
	s.w.mu.Unlock()
	s.barrier()
	s.settleCalls(func(exec.Call) bool { return true })
}
