// Package fairqueue is a fair queue of changes: it executes them one after the other
// and reports the waiting ones. Clients are served round robin, so a client with
// many requests does not delay others, and its requests are the first to be
// rejected.
package fairqueue

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// ErrStopped is returned when the agent stops.
var ErrStopped = errors.New("the queue is stopped")

// FullError is returned when the queue is full and no other client has more
// requests in it.
type FullError struct {
	Capacity int
	// Most is the client with the most requests in the queue, Requests their
	// number.
	Most     string
	Requests int
	// Oldest is the waiting time of the oldest request.
	Oldest time.Duration
	// Running describes the running request.
	Running string
}

// Error describes the queue and the remedy.
func (e *FullError) Error() string {
	return fmt.Sprintf("%d of %d requests are queued (queue-capacity in orchestrator.conf), %d of them from %s, the oldest waiting for %v, while %s; "+
		"this request was not executed, try again later", e.Capacity, e.Capacity, e.Requests, e.Most, e.Oldest.Round(time.Millisecond), e.Running)
}

// RetryAfter estimates when there is room: the recent duration of a change, in
// whole seconds, 1 to 60.
func (e *FullError) RetryAfter() time.Duration {
	one := e.Oldest / time.Duration(max(1, e.Capacity))
	return min(time.Minute, max(time.Second, one.Truncate(time.Second)+time.Second))
}

// Class is the class of a request.
type Class int

// Client requests are limited in number, and wait until the gate is opened.
// Source requests are not limited, since each source has at most one, and do
// not wait for the gate. Urgent requests precede all others, the latest first.
const (
	Client Class = iota
	Source
	Urgent
)

// Request is a request in the queue.
type Request struct {
	Class
	Source string // the source to change; may be empty
	What   string // description of the change
	// Path identifies the client, from the general to the specific: user, host,
	// connection. Each name includes the preceding ones. Requests of the agent
	// itself have no path and are identified by their source.
	Path []string
	// Join, of a client request, allows it to be served together with the
	// request that calls Queue.Join. It must not use the queue.
	Join func()
}

// Turn is the exclusive right to change the configuration.
type Turn struct {
	q *Queue
	Request
	came    time.Time // arrival in the queue
	since   time.Time // arrival, or the start once it runs
	elem    *list.Element
	granted chan struct{} // closed when the request is granted, joined or rejected
	joined  bool          // final when granted is closed, like refused
	refused *FullError    // nil: it was not rejected
}

// Joined reports that Request.Join was called; then there is no turn to end.
func (t *Turn) Joined() bool { return t.joined }

// Times returns the arrival and the start of a granted request.
func (t *Turn) Times() (came, began time.Time) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	return t.came, t.since
}

// End ends the turn, so that the next request can run.
func (t *Turn) End() {
	if t.joined {
		return
	}
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	t.q.running = nil
	t.q.grant()
}

// Queue grants turns to clients round robin, and to the requests of each client in
// the order of arrival. It may be used concurrently.
type Queue struct {
	capacity int
	now      func() time.Time
	stopped  <-chan struct{}

	mu       sync.Mutex
	open     bool
	running  *Turn     // nil if no request is running
	waiting  list.List // of *Turn, in the order of arrival; urgent ones in front, the latest first
	groups   group     // the same without urgent requests
	refused  uint64
	canceled uint64
}

// New returns a queue with a closed gate. capacity is the maximum number of
// waiting client requests. When stopped is closed, the queue grants no more
// turns.
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
// ErrStopped, and api.ErrTxnCanceled if ctx ends before or while the turn is
// granted.
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

// enter adds a waiting request.
func (q *Queue) enter(r Request) (*Turn, error) {
	if len(r.Path) == 0 {
		r.Path = []string{r.Source}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.Class == Client && q.groups.clients >= q.capacity {
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
		q.groups.enter(r.Path, t)
	}
	q.grant()
	return t, nil
}

// makeRoom rejects a waiting request in favour of a new one, or returns the error
// of the new one. The lock is held.
func (q *Queue) makeRoom(path []string) error {
	full := &FullError{Capacity: q.capacity, Oldest: q.oldest(), Running: q.doing()}
	full.Most, full.Requests = q.groups.most()
	q.refused++
	t := q.groups.yields(path)
	if t == nil {
		return full
	}
	q.remove(t)
	t.refused = full
	close(t.granted)
	return nil
}

// leave gives up a request, granted or not. It returns false if the request was
// joined or rejected.
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
		q.groups.leave(t.Path, t)
	}
}

// grant grants the turn to the next request. The lock is held.
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
		q.groups.served(t.Path)
	}
	q.running, t.since = t, q.now()
	close(t.granted)
}

// next returns the next request to grant; nil if there is none. The lock is
// held.
func (q *Queue) next() *Turn {
	if e := q.waiting.Front(); e != nil && e.Value.(*Turn).Class == Urgent {
		return e.Value.(*Turn)
	}
	return q.groups.next(func(t *Turn) bool { return t.Class != Client || q.open })
}

// Join serves, in order, the requests that can be served together with the
// caller's.
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

// oldest returns the waiting time of the oldest request. The lock is held.
func (q *Queue) oldest() time.Duration {
	var age time.Duration // urgent requests are in front, but arrived later
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		t := e.Value.(*Turn)
		age = max(age, q.now().Sub(t.since))
		if t.Class != Urgent {
			break
		}
	}
	return age
}

// doing describes the present activity. The lock is held.
func (q *Queue) doing() string {
	switch t := q.running; {
	case t == nil && !q.open:
		return "the agent waits for the sources of the configuration"
	case t == nil:
		return "no request is executed"
	default:
		return fmt.Sprintf("%s has been running for %v", t.text(), q.now().Sub(t.since).Round(time.Millisecond))
	}
}

// text returns a description such as "PUT /configuration (grpc)".
func (t *Turn) text() string {
	if t.Source == "" {
		return t.What
	}
	return t.What + " (" + t.Source + ")"
}

// Status lists the waiting requests.
func (q *Queue) Status() api.ChangesStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	st := api.ChangesStatus{
		Capacity: q.capacity, Waiting: q.waiting.Len(), Clients: q.groups.clients, OldestAge: api.Seconds(q.oldest()),
		Sources: map[string]int{}, Closed: !q.open, Refused: q.refused, Canceled: q.canceled,
	}
	st.Most, st.MostWaiting = q.groups.most()
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		st.Sources[e.Value.(*Turn).Source]++
	}
	if t := q.running; t != nil {
		st.Running = &api.RunningChange{Source: t.Source, What: t.What, For: api.Seconds(max(0, q.now().Sub(t.since)))}
	}
	return st
}
