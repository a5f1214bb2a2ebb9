package engine

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

// timers queues tasks after a delay. All methods except delay, which belongs to the
// worker, may be called concurrently.
type timers struct {
	alarm  exec.Clock
	random *rand.Rand // for the jitter of retries
	to     *admission

	lock    sync.Mutex
	running map[*timer]struct{} // nil after stop
}

type timer struct{ stop func() bool }

func newTimers(clock exec.Clock, random *rand.Rand, to *admission) *timers {
	return &timers{alarm: clock, random: random, to: to, running: map[*timer]struct{}{}}
}

// patiently returns retry options without a limit.
func patiently() *api.RetryOpts {
	return &api.RetryOpts{Period: api.DefaultRetryPeriod, ExpBackoff: true}
}

// delay returns the delay before the retry that follows the given attempt.
func (tm *timers) delay(opts api.RetryOpts, attempt int) time.Duration {
	limit := opts.MaxPeriod
	if limit <= 0 {
		limit = api.DefaultRetryMaxPeriod
	}
	d := min(opts.Period, limit)
	if !opts.ExpBackoff {
		return d
	}
	for range attempt {
		if d >= limit {
			break
		}
		d *= 2
	}
	d = min(d, limit)
	if attempt > 0 { // jitter of up to 10 %, so that retries do not coincide
		d -= time.Duration(tm.random.Int64N(int64(d)/10 + 1))
	}
	return d
}

// after queues a task or a call after a delay.
func (tm *timers) after(d time.Duration, work any) {
	tm.lock.Lock()
	defer tm.lock.Unlock()
	if tm.running == nil {
		return
	}
	this := &timer{}
	tm.running[this] = struct{}{}
	this.stop = tm.alarm.AfterFunc(d, func() {
		tm.lock.Lock()
		delete(tm.running, this)
		tm.lock.Unlock()
		_ = tm.to.push(work) // fails if the scheduler is closed
	})
}

// stop drops all delayed tasks, and makes later calls of after do nothing.
func (tm *timers) stop() {
	tm.lock.Lock()
	defer tm.lock.Unlock()
	for t := range tm.running {
		t.stop()
	}
	tm.running = nil
}

// count returns the number of delayed tasks.
func (tm *timers) count() int {
	tm.lock.Lock()
	defer tm.lock.Unlock()
	return len(tm.running)
}
