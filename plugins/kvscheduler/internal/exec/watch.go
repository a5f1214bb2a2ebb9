package exec

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// watch is the additional state of a walk whose callbacks have a time limit. If
// a callback blocks the driver, the supervisor abandons that driver and starts
// another one. The driver gives up callbacks in goroutines of their own.
type watch struct {
	begin time.Time
	here  *callGuard // of the callbacks that the driver runs itself

	mu      sync.Mutex
	tracked []*job // callbacks in goroutines of their own; changed by the driver only

	alarm   chan struct{} // buffered: a callback may have exceeded its limit
	look    atomic.Bool   // the driver has to check tracked
	wake    chan struct{} // buffered: the same for a driver that waits
	closing atomic.Bool   // closingLimit applies to all callbacks
}

// supervise executes the plan and gives up callbacks that exceed their limit.
func (w *walk) supervise(patience time.Duration) {
	w.watch = &watch{
		begin: w.Now(), here: &callGuard{},
		alarm: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
	o := w.Overdue
	ring := func() {
		select {
		case w.watch.alarm <- struct{}{}:
		default:
		}
	}
	stop := o.clock.AfterFunc(patience, ring)
	go w.drive()
	closing := o.closing
	for {
		select {
		case <-w.over:
			stop()
			return
		case <-closing:
			w.watch.closing.Store(true)
			closing, patience = nil, min(patience, closingLimit)
			stop()
			stop = o.clock.AfterFunc(patience, ring)
		case <-w.watch.alarm:
			stop = o.clock.AfterFunc(w.nextAlarm(patience), ring)
			if w.giveUp(w.watch.here) {
				stuck := w.here
				w.watch.here = &callGuard{}
				go w.driveOn(stuck)
			} else {
				w.watch.look.Store(true)
				select {
				case w.watch.wake <- struct{}{}:
				default:
				}
			}
		}
	}
}

// drive runs execute. It is the body of the driver, which has its own goroutine
// because a callback may end it.
func (w *walk) drive() {
	if w.execute() {
		close(w.over)
	}
}

// driveOn replaces a driver that a callback blocked or ended.
func (w *walk) driveOn(stuck *job) {
	w.complete(stuck)
	w.here = &job{inline: true} // the abandoned driver still uses the old one
	w.drain()
	w.drive()
}

// nextAlarm returns the time until the next running callback exceeds its limit,
// at most patience: a callback that starts later may be the next one.
func (w *walk) nextAlarm(patience time.Duration) time.Duration {
	look := func(t *callGuard) {
		if _, left, ok := w.remaining(t); ok && left > 0 {
			patience = min(patience, left)
		}
	}
	look(w.watch.here)
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	for _, j := range w.watch.tracked {
		look(j.guard)
	}
	return patience
}

// remaining returns how long a callback may still run. ok is false if no callback
// runs or if it has no limit.
func (w *walk) remaining(t *callGuard) (state int64, left time.Duration, ok bool) {
	state = t.state.Load()
	began, index := time.Duration(t.began.Load()), t.index.Load()
	if !isRunning(state) || t.state.Load() != state {
		return 0, 0, false
	}
	limit := w.limitOf(index)
	return state, began + limit - w.Now().Sub(w.watch.begin), limit > 0
}

// limitOf returns the time limit for the callback of an operation; 0 means no limit.
func (w *walk) limitOf(index int32) time.Duration {
	limit := w.Overdue.patience(w.ops[index].Desc)
	if w.watch.closing.Load() && (limit == 0 || limit > closingLimit) {
		return closingLimit
	}
	return limit
}

// patience returns the shortest time limit among the callbacks of the plan; 0
// if none has a limit.
func (w *walk) patience() time.Duration {
	var least time.Duration
	for i := range w.ops {
		op := &w.ops[i]
		if op.Kind == plan.Note || op.Kind == plan.Adopt || op.Desc.IsProperty() {
			continue
		}
		if d := w.Overdue.patience(op.Desc); d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// giveUp stops waiting for a callback that exceeded its limit and makes it fail
// with a TimeoutError. It returns false if the callback returned or has time left.
func (w *walk) giveUp(t *callGuard) bool {
	state, left, ok := w.remaining(t)
	if !ok || left > 0 {
		return false
	}
	if !w.Overdue.giveUp(t, state, func() []*Call { return w.overdueCalls(t) }) {
		return false
	}
	j := t.job
	op := &w.ops[j.steps[0].index]
	err := &TimeoutError{op.Desc.Name, callback(op), w.limitOf(j.steps[0].index)}
	j.end = w.Now()
	j.fail(err)
	j.ctx.cancel(cancelCause(err, w.watch.closing.Load()))
	return true
}

// overdueCalls describes the operations of a callback that is given up.
func (w *walk) overdueCalls(t *callGuard) (calls []*Call) {
	since := w.watch.begin.Add(time.Duration(t.began.Load()))
	for i := range t.job.steps {
		op := &w.ops[t.job.steps[i].index]
		calls = append(calls, &Call{
			Descriptor: op.Desc.Name, Southbound: southbound(op), Callback: callback(op), Key: op.Key, Since: since, op: op,
		})
	}
	return calls
}

// giveUpTracked gives up the callbacks in goroutines of their own that exceeded
// their limit.
func (w *walk) giveUpTracked() {
	var late []*job
	for _, j := range w.watch.tracked {
		if w.giveUp(j.guard) {
			late = append(late, j)
		}
	}
	for _, j := range late {
		w.finished(j)
	}
}

// track records the start of a callback in a goroutine of its own.
func (w *walk) track(j *job) {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	j.slot = len(w.watch.tracked)
	w.watch.tracked = append(w.watch.tracked, j)
}

// untrack records the end of such a callback.
func (w *walk) untrack(j *job) {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	last := len(w.watch.tracked) - 1
	moved := w.watch.tracked[last]
	w.watch.tracked[j.slot], moved.slot = moved, j.slot
	w.watch.tracked[last] = nil
	w.watch.tracked = w.watch.tracked[:last]
}

// callback names the callback of an operation.
func callback(op *plan.Op) string {
	switch op.Kind {
	case plan.Up:
		return "Create"
	case plan.Down:
		return "Delete"
	}
	return "Update"
}

// beginCall records the start of a callback in its guard.
func (w *walk) beginCall(j *job, t *callGuard) {
	j.start = w.Now()
	j.guard, t.job = t, j
	t.index.Store(j.steps[0].index)
	t.began.Store(int64(j.start.Sub(w.watch.begin)))
	t.begin()
}
