package exec

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Overdue tracks the callbacks that exceeded their time limit and still run,
// since a goroutine cannot be stopped from outside. No operation touches the
// key of such a callback until the callback has returned and its effect was
// read back. All methods may be called concurrently.
type Overdue struct {
	clock    Clock
	limit    time.Duration
	contexts *contexts
	// told is called for every callback that is given up, and again when it
	// returns; then Take may return it.
	told    func(c Call)
	closing chan struct{} // see Close
	// Records returns how many records the southbounds have sent so far. While that
	// number grows, a Retrieve is not given up. nil means that the number is unknown.
	// Records must be set before the first callback.
	Records func() uint64

	count   atomic.Int32 // len(calls)
	mu      sync.Mutex
	calls   map[*Call]struct{}
	byKey   map[string]*Call  // calls for single values
	hanging map[string]int    // number of operations that have not returned, by descriptor
	refused map[string]error  // see refuse
	given   map[string]uint64 // see Given
	kept    int               // see Keep
	closed  bool
	cancel  func() bool // stops the timer that ends all contexts; nil before Close
}

// NewOverdue returns an Overdue that gives up callbacks after limit (0 disables
// it). It calls told when a callback is given up and again when that callback
// returns; told must not block.
func NewOverdue(clock Clock, limit time.Duration, told func(c Call)) *Overdue {
	return &Overdue{
		clock: clock, limit: limit, told: told, contexts: newContexts(), closing: make(chan struct{}),
		calls: map[*Call]struct{}{}, byKey: map[string]*Call{},
		hanging: map[string]int{}, refused: map[string]error{}, given: map[string]uint64{},
	}
}

// callGuard decides between the two ends of a running callback: its goroutine
// reports its return, or the supervisor gives it up. The first of them wins. A
// guard serves one callback after the other until one is given up.
type callGuard struct {
	state atomic.Int64 // number of starts and ends: odd while a callback runs
	index atomic.Int32 // of the first operation; read by the supervisor
	began atomic.Int64 // start time; read by the supervisor
	job   *job         // owned by the goroutine that ends the callback
	given []*Call      // guarded by Overdue.mu
}

// abandoned is the state of a guard whose callback was given up.
const abandoned = -2

func isRunning(state int64) bool { return state&1 == 1 }

// begin and end enclose a callback. end returns false if the callback was given up.
func (t *callGuard) begin() { t.state.Add(1) }
func (t *callGuard) end() bool {
	state := t.state.Load()
	return state != abandoned && t.state.CompareAndSwap(state, state+1)
}

// givenUp reports whether the last callback of the guard was given up.
func (t *callGuard) givenUp() bool { return t.state.Load() == abandoned }

// Call is a callback that was given up. For each operation of a batch there is one.
type Call struct {
	Descriptor string
	Southbound string
	Callback   string // "Create", "Retrieve" and so on
	Key        string // empty: the call concerns all values of the descriptor
	Since      time.Time

	// Owed is the failure that the transaction left to handle; set by Owe.
	Owed *Failure
	// OfTxn and Attempt identify the transaction that gave up the call.
	OfTxn    uint64
	Attempt  int
	Revision uint32 // of the base value when the call was given up

	// The outcome, set when the callback returns.
	Returned time.Time
	Err      error
	Stale    bool // the southbound disconnected in the meantime
	kept     bool // see Keep
	op       *plan.Op
	meta     api.Metadata
	found    bool // Create found the object
}

// String names the callback.
func (c *Call) String() string {
	if c.Key == "" {
		return fmt.Sprintf("descriptor %q: %s", c.Descriptor, c.Callback)
	}
	return fmt.Sprintf("descriptor %q: %s of %s", c.Descriptor, c.Callback, c.Key)
}

// TimeoutError is the failure of an operation whose callback did not return in
// time. The effect of the callback is unknown and may still occur.
type TimeoutError struct {
	Descriptor, Callback string
	After                time.Duration
}

// Error names the descriptor and the callback.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("descriptor %q: %s did not return within %v; outcome unknown", e.Descriptor, e.Callback, e.After)
}

// Is reports that the error is an api.ErrCallbackTimeout.
func (e *TimeoutError) Is(target error) bool { return target == api.ErrCallbackTimeout }

// refusedError is the failure of an operation that was not started because too
// many callbacks of its descriptor hang.
type refusedError struct {
	first   *Call
	hanging int
}

// Error names one of the callbacks that hang.
func (e *refusedError) Error() string {
	return fmt.Sprintf("descriptor %q: not called, because %d of its callbacks have not returned: %s of %s and others",
		e.first.Descriptor, e.hanging, e.first.Callback, e.first.Key)
}

// hangs reports whether err is a timeout. The callback still runs then, so
// reading the value back would prove nothing.
func hangs(err error) bool {
	_, ok := err.(*TimeoutError)
	return ok
}

// patience returns the time limit for the callbacks of a descriptor; 0 means
// no limit.
func (o *Overdue) patience(d *registry.Descriptor) time.Duration {
	switch {
	case d == nil || d.Timeout < 0:
		return 0
	case d.Timeout > 0:
		return d.Timeout
	}
	return o.limit
}

// giveUp stops waiting for a callback; calls returns one Call for each of its operations.
// It returns false if the callback has returned in the meantime.
func (o *Overdue) giveUp(t *callGuard, state int64, calls func() []*Call) bool {
	told, won := o.add(t, state, calls)
	for _, c := range told {
		o.told(c)
	}
	return won
}

func (o *Overdue) add(t *callGuard, state int64, calls func() []*Call) (told []Call, won bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !t.state.CompareAndSwap(state, abandoned) {
		return nil, false
	}
	t.given = calls()
	for _, c := range t.given {
		told = append(told, *c)
		o.calls[c] = struct{}{}
		o.count.Add(1)
		o.given[c.Descriptor]++
		if c.op != nil || c.Key != "" && o.byKey[c.Key] == nil { // reading a value may time out while an operation on it does
			o.byKey[c.Key] = c
		}
		if c.op != nil {
			o.hanging[c.Descriptor]++
			delete(o.refused, c.Descriptor)
		}
	}
	return told, true
}

// back records the outcome of a callback that was given up: one result for each of its
// operations.
func (o *Overdue) back(t *callGuard, results []api.KVBatchResult) {
	for _, c := range o.returned(t, results) {
		o.told(c)
	}
}

func (o *Overdue) returned(t *callGuard, results []api.KVBatchResult) (told []Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Now()
	for i, c := range t.given {
		c.Returned, c.meta, c.Err = now, results[i].Metadata, results[i].Err
		if c.op != nil {
			c.found, c.Err = foundBy(c.op, c.Err)
			_, c.Err = leftBy(c.op, c.Err)
			o.hanging[c.Descriptor]--
			delete(o.refused, c.Descriptor)
		} else if c.Key == "" { // a read of all values: no operation waits for it
			o.drop(c)
		}
		told = append(told, *c)
	}
	return told
}

func (o *Overdue) drop(c *Call) {
	o.wake(c)
	delete(o.calls, c)
	o.count.Add(-1)
	if o.byKey[c.Key] == c {
		delete(o.byKey, c.Key)
	}
}

// Any reports whether there is any call.
func (o *Overdue) Any() bool { return o.count.Load() > 0 }

// Pin excludes the keys of unfinished calls from a planning request.
func (o *Overdue) Pin(req *plan.Request) {
	if !o.Any() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	pinned := make(map[string]bool, len(req.Pinned)+len(o.byKey))
	maps.Copy(pinned, req.Pinned)
	req.Unfinished = make(map[string]plan.Unfinished, len(o.byKey))
	for key, c := range o.byKey {
		pinned[key] = true
		switch {
		case c.op == nil:
		case c.op.Kind == plan.Down:
			req.Unfinished[key] = plan.Unfinished{Leaving: true}
		default:
			req.Unfinished[key] = plan.Unfinished{Coming: c.op.Target}
		}
	}
	req.Pinned = pinned
}

// Of describes the call that blocks a key, and reports whether that call may
// still remove the value. why is empty if no call blocks the key.
func (o *Overdue) Of(key string) (why string, leaving bool) {
	if !o.Any() {
		return "", false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.byKey[key]
	if c == nil {
		return "", false
	}
	since := c.Since.UTC().Format(time.RFC3339)
	why = fmt.Sprintf("descriptor %q: %s has not returned since %s", c.Descriptor, c.Callback, since)
	if !c.Returned.IsZero() {
		why = fmt.Sprintf("descriptor %q: what %s did is not known since %s, as reading it failed", c.Descriptor, c.Callback, since)
	}
	return why, c.op != nil && c.op.Kind == plan.Down
}

// Holds reports whether a call blocks a key.
func (o *Overdue) Holds(key string) bool {
	why, _ := o.Of(key)
	return why != ""
}

// Owe records the failure that is to be handled when the call for its key returns.
func (o *Overdue) Owe(f *Failure, ofTxn uint64, attempt int, revision uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.byKey[f.Key]; c != nil {
		c.Owed, c.OfTxn, c.Attempt, c.Revision = f, ofTxn, attempt, revision
	}
}

// Take removes and returns the calls of one transaction that have returned, which
// unblocks their keys. more reports that calls of other transactions have returned
// as well. Call it between transactions only.
func (o *Overdue) Take() (calls []*Call, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.sorted() {
		switch {
		case c.Returned.IsZero() || c.kept:
		case len(calls) == 0 || calls[0].OfTxn == c.OfTxn:
			calls = append(calls, c)
		default:
			more = true
		}
	}
	for _, c := range calls {
		o.drop(c)
	}
	return calls, more
}

// sorted lists the calls by key, then by descriptor. The caller holds mu.
func (o *Overdue) sorted() []*Call {
	return slices.SortedFunc(maps.Keys(o.calls), func(a, b *Call) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Descriptor, b.Descriptor))
	})
}

// List describes the calls, sorted by key.
func (o *Overdue) List() []Call {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []Call
	for _, c := range o.sorted() {
		list = append(list, *c)
	}
	return list
}

// Hanging lists the calls that have not returned.
func (o *Overdue) Hanging() []Call {
	return slices.DeleteFunc(o.List(), func(c Call) bool { return !c.Returned.IsZero() })
}

// Given returns how many callbacks were given up, by descriptor.
func (o *Overdue) Given() map[string]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.given)
}

// Forget handles the end of a southbound's session. It drops the calls that have
// returned: the read after the reconnect replaces their outcome. It marks the
// others as stale, since their results say nothing about the next session.
func (o *Overdue) Forget(southbound string) {
	if !o.Any() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.calls {
		switch {
		case c.Southbound != southbound:
		case c.Returned.IsZero():
			c.Stale = true
		default:
			o.drop(c)
		}
	}
}

// hangingLimit is how many callbacks of a descriptor may hang before the executor
// starts no other. The problem is then the descriptor and not a value, and each
// further callback would cost a timeout and a goroutine.
const hangingLimit = 4

// refuse returns an error if too many callbacks of the descriptor hang to start
// another one.
func (o *Overdue) refuse(d *registry.Descriptor) error {
	if !o.Any() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hanging[d.Name] < max(hangingLimit, d.Concurrency) {
		return nil
	}
	if o.refused[d.Name] == nil {
		for _, c := range o.sorted() {
			if c.Descriptor == d.Name && c.op != nil && c.Returned.IsZero() {
				o.refused[d.Name] = &refusedError{c, o.hanging[d.Name]}
				break
			}
		}
	}
	return o.refused[d.Name]
}

// Read runs f, which calls Retrieve, or RetrieveValue if key is not empty. It returns a
// TimeoutError and cancels the context of f when no record has arrived for the time limit
// of the descriptor. The result of f is then ignored, and f must not access data that its
// caller uses. While such a call hangs, Read refuses to start another one.
func (o *Overdue) Read(d *registry.Descriptor, key string, f func(context.Context) error) error {
	c := &Call{Descriptor: d.Name, Southbound: d.Southbound, Callback: "Retrieve", Key: key}
	if key != "" {
		c.Callback = "RetrieveValue"
	}
	limit := o.patience(d)
	if limit > 0 {
		c.Since = o.clock.Now()
		if err := o.stillReading(c); err != nil {
			return err
		}
	}
	t, ctx := &callGuard{}, o.contexts.take(d.Southbound)
	t.begin()
	done := make(chan error, 1)
	go func() {
		err := error(&PanicError{Descriptor: c.Descriptor, Callback: c.Callback})
		defer func() { // f may not return
			if t.end() {
				o.contexts.give(ctx)
				done <- err
			} else {
				o.back(t, []api.KVBatchResult{{Err: err}})
			}
		}()
		err = f(ctx.Context)
	}()
	if limit == 0 {
		return <-done
	}
	return o.await(t, ctx, c, limit, done)
}

// await waits for a callback, and gives it up after its time limit.
func (o *Overdue) await(t *callGuard, ctx *callContext, c *Call, limit time.Duration, done <-chan error) error {
	closing, before := o.closing, o.records()
	for {
		alarm := make(chan struct{})
		stop := o.clock.AfterFunc(limit, func() { close(alarm) })
		select {
		case err := <-done:
			stop()
			return err
		case <-closing:
			stop()
			closing, limit = nil, min(limit, closingLimit)
			continue
		case <-alarm:
		}
		if now := o.records(); now != before && closing != nil {
			before = now
			continue
		}
		if state := t.state.Load(); isRunning(state) && o.giveUp(t, state, func() []*Call { return []*Call{c} }) {
			err := &TimeoutError{c.Descriptor, c.Callback, limit}
			ctx.cancel(cancelCause(err, closing == nil))
			return err
		}
		return <-done
	}
}

// records returns how many records have arrived; 0 if that is unknown.
func (o *Overdue) records() uint64 {
	if o.Records == nil {
		return 0
	}
	return o.Records()
}

// stillReading returns an error if an earlier read of the same values still hangs.
func (o *Overdue) stillReading(c *Call) error {
	if !o.Any() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for other := range o.calls {
		if other.Descriptor == c.Descriptor && other.op == nil && (other.Key == c.Key || other.Key == "") {
			return fmt.Errorf("descriptor %q: %s has not returned since %s", c.Descriptor, other.Callback, other.Since.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

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
