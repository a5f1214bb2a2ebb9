// Package turns lets changes take effect one after the other, and shows who
// waits for that. Who wants many turns at once does not keep the others waiting:
// turns come round robin, and it is his requests that are refused.
package turns

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// ErrStopped: the agent stops, so there are no turns any more. Compare with
// errors.Is.
var ErrStopped = errors.New("no more turns")

// FullError is the error of a client for whom there is no room in the queue:
// nobody has more requests in it, or others came who have fewer.
type FullError struct {
	Capacity int
	// Most has the most requests in the queue, so many.
	Most     string
	Requests int
	// Oldest is how long the one that came first has been waiting.
	Oldest time.Duration
	// Running says what has its turn.
	Running string
}

// Error says what is full and how to go on.
func (e *FullError) Error() string {
	return fmt.Sprintf("%d of %d wait for their turn (queue-capacity in orchestrator.conf), %d of them from %s, the first for %v, while %s; "+
		"nothing of this one is executed, try again later", e.Capacity, e.Capacity, e.Requests, e.Most, e.Oldest.Round(time.Millisecond), e.Running)
}

// RetryAfter is about how long it takes until there is room: the time that one
// change took of late, in whole seconds, 1 to 60.
func (e *FullError) RetryAfter() time.Duration {
	one := e.Oldest / time.Duration(max(1, e.Capacity))
	return min(time.Minute, max(time.Second, one.Truncate(time.Second)+time.Second))
}

// Class says how somebody waits.
type Class int

// Clients are bounded in number, and wait until the gate is opened. Of sources
// each waits once, so they are not bounded; they do not wait for the gate. What
// is urgent goes before everything else, the latest first.
const (
	Client Class = iota
	Source
	Urgent
)

// Request is what somebody wants a turn for.
type Request struct {
	Class
	Source string // on whose behalf; may be empty
	What   string // what is going to be done
	// Path tells who asks, from the whole to the part: a user, the host that he
	// uses, a connection of that; each name says all that those before it say.
	// What asks itself has no path; it is known by its source.
	Path []string
	// Join, of a client, lets it be served together with the one that calls
	// Queue.Join. It must not use the queue.
	Join func()
}

// Turn is a turn that came.
type Turn struct {
	q *Queue
	Request
	came    time.Time // into the queue
	since   time.Time // the same; from begin on: when it began
	elem    *list.Element
	granted chan struct{} // closed when the turn comes, or when it joined another one or was refused
	joined  bool          // final when granted is closed, like refused
	refused *FullError    // nil: it was not
}

// Joined tells that Request.Join was called; then there is nothing to end.
func (t *Turn) Joined() bool { return t.joined }

// Times tells when the request came, and when its turn came, which it has to be.
func (t *Turn) Times() (came, began time.Time) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	return t.came, t.since
}

// End lets the next one begin.
func (t *Turn) End() {
	if t.joined {
		return
	}
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	t.q.running = nil
	t.q.grant()
}

// Queue gives turns round robin to those who ask, and to each of them in the order
// of arrival. It may be used concurrently.
type Queue struct {
	capacity int
	now      func() time.Time
	stopped  <-chan struct{}

	mu       sync.Mutex
	open     bool
	running  *Turn     // nil: nobody
	waiting  list.List // of *Turn, as they came; what is urgent in front, the latest first
	shares   share     // the same without what is urgent
	refused  uint64
	canceled uint64
}

// New returns a queue whose gate is closed. At most so many clients wait as its
// capacity is. When stopped is closed, nobody gets a turn any more.
func New(capacity int, now func() time.Time, stopped <-chan struct{}) *Queue {
	return &Queue{capacity: capacity, now: now, stopped: stopped}
}

// Open opens the gate for clients.
func (q *Queue) Open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = true
	q.grant()
}

// Take waits for a turn, which must be ended. The errors are a *FullError,
// ErrStopped, and api.ErrTxnCanceled if ctx ends before the turn came, or with
// it.
func (q *Queue) Take(ctx context.Context, r Request) (*Turn, error) {
	if ctx.Err() != nil {
		return nil, canceled(ctx)
	}
	t, err := q.enter(r)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.granted:
	case <-ctx.Done():
	case <-q.stopped:
	}
	switch {
	case ctx.Err() != nil && q.leave(t, true):
		return nil, canceled(ctx)
	case q.isStopped() && q.leave(t, false):
		return nil, ErrStopped
	case t.refused != nil:
		return nil, t.refused
	}
	return t, nil
}

func (q *Queue) isStopped() bool {
	select {
	case <-q.stopped:
		return true
	default:
		return false
	}
}

func canceled(ctx context.Context) error {
	return fmt.Errorf("%w: %w", api.ErrTxnCanceled, context.Cause(ctx))
}

// enter adds somebody to those who wait.
func (q *Queue) enter(r Request) (*Turn, error) {
	if len(r.Path) == 0 {
		r.Path = []string{r.Source}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.Class == Client && q.shares.clients >= q.capacity {
		if err := q.makeRoom(r.Path); err != nil {
			return nil, err
		}
	}
	now := q.now()
	t := &Turn{q: q, Request: r, came: now, since: now, granted: make(chan struct{})}
	if r.Class == Urgent {
		t.elem = q.waiting.PushFront(t)
	} else {
		t.elem = q.waiting.PushBack(t)
		q.shares.enter(r.Path, t)
	}
	q.grant()
	return t, nil
}

// makeRoom refuses a client who waits in favour of one who comes, or else the one
// who comes, whose error it returns. The lock is held.
func (q *Queue) makeRoom(path []string) error {
	full := &FullError{Capacity: q.capacity, Oldest: q.oldest(), Running: q.doing()}
	full.Most, full.Requests = q.shares.most()
	q.refused++
	t := q.shares.yields(path)
	if t == nil {
		return full
	}
	q.remove(t)
	t.refused = full
	close(t.granted)
	return nil
}

// leave gives up a turn, whether it came or not; false if it joined another one,
// or was refused.
func (q *Queue) leave(t *Turn, count bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case t.joined || t.refused != nil:
		return false
	case q.running == t:
		q.running = nil
	default:
		q.remove(t)
	}
	if count {
		q.canceled++
	}
	q.grant()
	return true
}

func (q *Queue) remove(t *Turn) {
	q.waiting.Remove(t.elem)
	if t.Class != Urgent {
		q.shares.leave(t.Path, t)
	}
}

// grant gives the turn to the next one. The lock is held.
func (q *Queue) grant() {
	if q.running != nil {
		return
	}
	t := q.next()
	if t == nil {
		return
	}
	q.remove(t)
	if t.Class != Urgent {
		q.shares.served(t.Path)
	}
	q.running, t.since = t, q.now()
	close(t.granted)
}

// next is whose turn it is; nil: nobody's. The lock is held.
func (q *Queue) next() *Turn {
	if e := q.waiting.Front(); e != nil && e.Value.(*Turn).Class == Urgent {
		return e.Value.(*Turn)
	}
	return q.shares.next(func(t *Turn) bool { return t.Class != Client || q.open })
}

// Join serves, in their order, those who can be served together with the caller,
// whose turn it is.
func (q *Queue) Join() {
	var joining []*Turn
	q.mu.Lock()
	for e := q.waiting.Front(); e != nil; {
		t := e.Value.(*Turn)
		e = e.Next()
		if t.Request.Join == nil {
			continue
		}
		q.remove(t)
		t.joined = true
		joining = append(joining, t)
	}
	q.mu.Unlock()
	for _, t := range joining {
		t.Request.Join()
		close(t.granted)
	}
}

// oldest is how long the one that came first has been waiting. The lock is held.
func (q *Queue) oldest() time.Duration {
	var age time.Duration // what is urgent is in front, and came later
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		t := e.Value.(*Turn)
		age = max(age, q.now().Sub(t.since))
		if t.Class != Urgent {
			break
		}
	}
	return age
}

// doing says what goes on. The lock is held.
func (q *Queue) doing() string {
	switch t := q.running; {
	case t == nil && !q.open:
		return "the sources of the configuration are waited for"
	case t == nil:
		return "nothing is executed"
	default:
		return fmt.Sprintf("%s is executed for %v", t.text(), q.now().Sub(t.since).Round(time.Millisecond))
	}
}

// text is "PUT /configuration (grpc)".
func (t *Turn) text() string {
	if t.Source == "" {
		return t.What
	}
	return t.What + " (" + t.Source + ")"
}

// Status tells who waits, and for what.
func (q *Queue) Status() api.ChangesStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	st := api.ChangesStatus{
		Capacity: q.capacity, Waiting: q.waiting.Len(), Clients: q.shares.clients, OldestAge: api.Seconds(q.oldest()),
		Sources: map[string]int{}, Closed: !q.open, Refused: q.refused, Canceled: q.canceled,
	}
	st.Most, st.MostWaiting = q.shares.most()
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		st.Sources[e.Value.(*Turn).Source]++
	}
	if t := q.running; t != nil {
		st.Running = &api.RunningChange{Source: t.Source, What: t.What, For: api.Seconds(max(0, q.now().Sub(t.since)))}
	}
	return st
}
