package control

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Defaults of the queue.
const (
	// DefaultQueueCapacity bounds the transactions of the northbound that wait;
	// whoever commits one more waits for room. Everything else is always
	// accepted: notifications are merged by key, retries and sessions are few.
	DefaultQueueCapacity = 200
	// DefaultQueueAgeing is how long the northbound may go before others.
	DefaultQueueAgeing = 200 * time.Millisecond
)

// job is one entry of the queue.
type job struct {
	typ  api.TxnType
	call func() // instead of a transaction: run in its turn

	values []api.RecordedKVPair
	meta   map[string]api.Metadata // of notified values
	opts   api.TxnOptions

	expect *api.Plan // refuse to do anything else
	dry    bool      // only planned

	retry   *retry
	session *sessionChange
	repair  []api.Drift // instead of values
	lost    []string    // instead of values: existing ones that the southbound does not have any more
	again   []string    // instead of values: lost ones that are to be created again
	orphans bool        // only what is nobody's wish is deleted
	back    *wayBack    // instead of what the messages of the values amount to now
	observe bool        // instead of values: look at what is observed
	reread  bool        // instead of values: read what could not be read
	decide  bool        // instead of values: read what undecided operations did

	done chan outcome // buffered; nil: nobody waits

	queued time.Time // when it came into the queue
	taken  time.Time // when its turn came; guarded by the lock of the queue
	place
}

type outcome struct {
	seq uint64
	err error
}

// wayBack is to what was wanted before.
type wayBack struct {
	wants map[string]*registry.Value
	touch []string // planned anew, because they are not what they were believed to be
}

type retry struct {
	trial    string // the southbound whose next suspect is tried; instead of failures
	suspect  string // the one
	ofTxn    uint64
	attempt  int
	failures []exec.Failure
	revision map[string]uint32 // of the base values when the retry was planned
}

type sessionChange struct {
	name   string
	up     bool
	epoch  uint64
	reason error
}

// queue decides in which order jobs are executed. All its operations take
// constant time for each key that a job names.
//
// Transactions of the northbound keep their order, and go before notifications
// and retries, until one of those has waited for the time of ageing or was
// overtaken maxOvertaken times: then the one that came first goes first.
//
// Notifications that wait are one transaction, with the latest news of every
// key. A key that was gone meanwhile is executed as gone first, so that what
// depends on it is made again.
//
// What nobody overtakes and what overtakes nobody, a fence: a southbound that
// comes or goes; what looks at the state in its turn (barriers, plans, dumps of
// the southbound); and values that get a descriptor. So a barrier covers all
// that came before, and notifications stay in the session they belong to.
//
// What the order of a notification and a transaction decides is kept: they do
// not change places if the transaction names the key, reads the southbound or
// replaces what is wanted (resyncs, repairs), or names more than maxNamed keys.
// Otherwise a notification would be taken for foreign to what the northbound
// has just got or given up, or a state older than the one that was read would
// come back. Nor do they where the outcome of the transaction may depend on the
// news: one that would leave something PENDING, or makes something that stands on
// what they are about, is executed after those that came before it; see overtaken. So
// what was told before Commit is there for what is committed. In all other cases a
// change of places cannot be seen but in the history.
type queue struct {
	now      func() time.Time
	capacity int
	ageing   time.Duration

	mu       sync.Mutex
	last     uint64     // id of the latest job
	segments []*segment // between fences; never empty
	counts   map[string]int
	running  *job // taken last, until the next one is asked for
	closed   bool
	wake     chan struct{} // there is something to take
	room     chan struct{} // closed and replaced when there is room again
}

func newQueue(now func() time.Time, capacity int, ageing time.Duration) *queue {
	if capacity <= 0 {
		capacity = DefaultQueueCapacity
	}
	if ageing <= 0 {
		ageing = DefaultQueueAgeing
	}
	return &queue{
		now: now, capacity: capacity, ageing: ageing, segments: []*segment{newSegment()}, counts: map[string]int{},
		wake: make(chan struct{}, 1), room: make(chan struct{}),
	}
}

// push adds a job. With a full queue a transaction of the northbound waits,
// bounded by ctx, or fails with ErrTxnQueueFull.
func (q *queue) push(ctx context.Context, j *job) error {
	for {
		room, err := q.try(j)
		if room == nil {
			return err
		}
		if j.opts.NonBlocking {
			return api.ErrTxnQueueFull
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try returns a channel to wait on if there is no room.
func (q *queue) try(j *job) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, api.ErrClosedScheduler
	}
	class := j.class()
	if class == api.QueueNorthbound && q.counts[class] >= q.capacity {
		return q.room, nil
	}
	q.last++
	j.id, j.queued = q.last, q.now()
	if q.add(j, class) {
		q.counts[class]++
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil, nil
}

// add is false if the job was merged into one that waits.
func (q *queue) add(j *job, class string) bool {
	s := q.segments[len(q.segments)-1]
	switch class {
	case api.QueueNorthbound:
		s.addNorthbound(j)
	case api.QueueNotifications:
		return s.addNotification(j)
	case api.QueueRetries:
		s.retries = append(s.retries, j)
	default:
		s.fence = j
		q.segments = append(q.segments, newSegment())
	}
	return true
}

// pop takes the next job; nil when the context ends.
func (q *queue) pop(ctx context.Context) *job {
	for {
		if ctx.Err() != nil {
			return nil
		}
		if j := q.take(); j != nil {
			return j
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
}

func (q *queue) take() *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, now := q.segments[0], q.now()
	j := s.take(now, q.ageing)
	if j == nil && s.fence != nil {
		j = s.fence
		q.segments[0] = nil
		q.segments = q.segments[1:]
	}
	if j != nil {
		j.taken = now
		q.left(j.class())
	}
	q.running = j
	return j
}

// left counts one job less.
func (q *queue) left(class string) {
	full := q.counts[api.QueueNorthbound] >= q.capacity
	q.counts[class]--
	if full && class == api.QueueNorthbound {
		close(q.room)
		q.room = make(chan struct{})
	}
}

// cancel takes a job out of its queue; false if its turn has come already.
func (q *queue) cancel(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed || !j.taken.IsZero():
		return false
	case j.call != nil:
		j.call = func() {} // as a fence it stays where it is
	case j.elem == nil:
		return false
	default:
		j.segment.removeNorthbound(j)
		q.left(api.QueueNorthbound)
	}
	return true
}

// close refuses further jobs and returns those that were not executed.
func (q *queue) close() (left []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, s := range q.segments {
		for e := s.northbound.Front(); e != nil; e = e.Next() {
			left = append(left, e.Value.(*job))
		}
		left = append(append(left, s.notifications...), s.retries...)
		if s.fence != nil {
			left = append(left, s.fence)
		}
	}
	q.segments = []*segment{newSegment()}
	clear(q.counts)
	close(q.room)
	return left
}

// status tells what waits.
func (q *queue) status() api.QueueStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	st := api.QueueStatus{Capacity: q.capacity, Waiting: make(map[string]int, len(api.QueueClasses()))}
	for _, class := range api.QueueClasses() {
		st.Waiting[class] = q.counts[class]
		st.Length += q.counts[class]
	}
	// What came first is in the first segment.
	s := q.segments[0]
	var oldest time.Time
	for _, j := range []*job{front(&s.northbound), first(s.notifications), first(s.retries), s.fence} {
		if j != nil && (oldest.IsZero() || j.queued.Before(oldest)) {
			oldest = j.queued
		}
	}
	if !oldest.IsZero() {
		st.OldestAge = api.Seconds(max(0, q.now().Sub(oldest))) // the clock may have been set back
	}
	if j := q.running; j != nil {
		st.Running = &api.RunningTxn{Class: j.class(), Description: j.opts.Description, For: api.Seconds(max(0, q.now().Sub(j.taken)))}
	}
	return st
}

func front(l *list.List) *job {
	if e := l.Front(); e != nil {
		return e.Value.(*job)
	}
	return nil
}

func first(jobs []*job) *job {
	if len(jobs) > 0 {
		return jobs[0]
	}
	return nil
}
