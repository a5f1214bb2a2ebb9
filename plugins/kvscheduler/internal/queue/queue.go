// Package queue holds the tasks of the scheduler until its one worker takes them, and
// decides their order.
package queue

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Defaults of a Queue.
const (
	// DefaultCapacity limits the queued transactions of the northbound; the commit of
	// another one waits for capacity. Other tasks are always accepted: notifications are
	// merged by key, and retries and sessions are few.
	DefaultCapacity = 200
	// DefaultAgeing is how long transactions of the northbound may overtake another entry.
	DefaultAgeing = 200 * time.Millisecond
)

// Entry is a task with its position in the queue.
type Entry struct {
	// Task is the work; the queue does not look at it.
	Task any
	// Class is one of api.QueueClasses.
	Class string
	// Named are the values of a transaction of the northbound.
	Named []api.RecordedKVPair
	// Wide reports that a transaction of the northbound must not overtake any
	// notification, or be overtaken by one, whatever values it names.
	Wide bool
	// News are the notifications of the class QueueNotifications.
	News *News
	// Description describes the task. Status reports it while the task is executed; see
	// Describe.
	Description string
	// Queued is the time when the entry was added, Taken when it was taken. The caller
	// sets both for tasks that are not queued.
	Queued, Taken time.Time

	id        uint64 // later entries have a higher one
	after     uint64 // id of the entry to execute first: of a transaction the notifications, and vice versa
	overtaken int
	canceled  bool // of a call

	segment *segment      // of a transaction of the northbound
	elem    *list.Element // of the same; nil unless it waits
}

// Queue decides in which order tasks are executed. All its operations take constant
// time for each key that a task names. All methods may be called concurrently, but
// there is one consumer, which calls Pop, Overtaken and TakeNotifications.
//
// Transactions of the northbound keep their order, and overtake notifications and
// retries. When one of those has waited for the ageing time or was overtaken
// maxOvertaken times, the entry that was added first comes first.
//
// Queued notifications form one transaction, with the latest notification of every key.
// If a value disappeared and appeared again, its removal is executed first, so that its
// dependents are created again.
//
// All other classes are fences: nothing overtakes them, and they overtake nothing. These
// are southbounds that connect or disconnect; what reads the state at its position
// (barriers, plans, dumps of the southbound); and values that get a descriptor. So a
// barrier covers everything that came before, and notifications stay in the session they
// belong to.
//
// A notification and a transaction keep their order where it matters: if the transaction
// names the key, is wide (it reads the southbound or replaces the desired state), or
// names more than maxNamed keys. Otherwise a notification would be taken for foreign to
// what the northbound has just created or deleted, or a state older than the one that was
// read would return. The consumer uses Overtaken where the outcome of a transaction may
// depend on notifications that came before it. In all other cases only the history shows
// the order.
type Queue struct {
	now      func() time.Time
	capacity int
	ageing   time.Duration

	mu       sync.Mutex
	last     uint64     // id of the latest entry
	segments []*segment // between fences; never empty
	counts   map[string]int
	running  *Entry // taken last, until the next Pop
	closed   bool
	wake     chan struct{} // the queue is not empty
	room     chan struct{} // closed and replaced when a full queue has capacity again
}

// New returns an empty queue. Without capacity or ageing these have their defaults.
func New(now func() time.Time, capacity int, ageing time.Duration) *Queue {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	if ageing <= 0 {
		ageing = DefaultAgeing
	}
	return &Queue{
		now: now, capacity: capacity, ageing: ageing, segments: []*segment{newSegment()}, counts: map[string]int{},
		wake: make(chan struct{}, 1), room: make(chan struct{}),
	}
}

// Push adds an entry. If the queue is full, a transaction of the northbound waits until it
// has capacity, ctx ends or the queue is closed (ErrClosedScheduler).
func (q *Queue) Push(ctx context.Context, e *Entry) error {
	for {
		room, err := q.try(e)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Offer is Push that fails with ErrTxnQueueFull instead of waiting.
func (q *Queue) Offer(e *Entry) error {
	room, err := q.try(e)
	if room != nil {
		return api.ErrTxnQueueFull
	}
	return err
}

// try adds an entry. If the queue is full, it returns a channel to wait on.
func (q *Queue) try(e *Entry) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, api.ErrClosedScheduler
	}
	if e.Class == api.QueueNorthbound && q.counts[e.Class] >= q.capacity {
		return q.room, nil
	}
	q.last++
	e.id, e.Queued = q.last, q.now()
	if q.add(e) {
		q.counts[e.Class]++
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil, nil
}

// add returns false if it merged the entry into a queued one.
func (q *Queue) add(e *Entry) bool {
	s := q.segments[len(q.segments)-1]
	switch e.Class {
	case api.QueueNorthbound:
		s.addNorthbound(e)
	case api.QueueNotifications:
		return s.addNotification(e)
	case api.QueueRetries:
		s.retries = append(s.retries, e)
	default:
		s.fence = e
		q.segments = append(q.segments, newSegment())
	}
	return true
}

// Pop takes the next entry and waits for it; nil when ctx ends.
func (q *Queue) Pop(ctx context.Context) *Entry {
	for {
		if ctx.Err() != nil {
			return nil
		}
		if e := q.take(); e != nil {
			return e
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
}

// take takes the next entry; nil if there is none.
func (q *Queue) take() *Entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		e := q.next()
		if e != nil {
			q.left(e.Class)
		}
		if e == nil || !e.canceled {
			q.running = e
			return e
		}
	}
}

func (q *Queue) next() *Entry {
	s, now := q.segments[0], q.now()
	e := s.take(now, q.ageing)
	if e == nil && s.fence != nil {
		e = s.fence
		q.segments[0] = nil
		q.segments = q.segments[1:]
	}
	if e != nil {
		e.Taken = now
	}
	return e
}

// left updates the counts after the removal of an entry.
func (q *Queue) left(class string) {
	full := q.counts[api.QueueNorthbound] >= q.capacity
	q.counts[class]--
	if full && class == api.QueueNorthbound {
		close(q.room)
		q.room = make(chan struct{})
	}
}

// Cancel removes a transaction of the northbound or a call. It returns false if the entry
// was already taken.
func (q *Queue) Cancel(e *Entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed || !e.Taken.IsZero():
		return false
	case e.elem != nil:
		e.segment.removeNorthbound(e)
		q.left(api.QueueNorthbound)
	case e.Class == api.QueueCalls:
		e.canceled = true // it stays in the queue as a fence
	default:
		return false
	}
	return true
}

// Describe replaces the description of the running entry in Status.
func (q *Queue) Describe(e *Entry, description string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.Description = description
}

// Close makes the queue reject further entries, and returns the remaining ones.
func (q *Queue) Close() (left []*Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, s := range q.segments {
		for e := s.northbound.Front(); e != nil; e = e.Next() {
			left = append(left, e.Value.(*Entry))
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

// Status reports the queued entries and the running one.
func (q *Queue) Status() api.QueueStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	st := api.QueueStatus{Capacity: q.capacity, Waiting: make(map[string]int, len(api.QueueClasses()))}
	for _, class := range api.QueueClasses() {
		st.Waiting[class] = q.counts[class]
		st.Length += q.counts[class]
	}
	// The oldest entry is in the first segment.
	s := q.segments[0]
	var oldest time.Time
	for _, e := range []*Entry{front(&s.northbound), first(s.notifications), first(s.retries), s.fence} {
		if e != nil && (oldest.IsZero() || e.Queued.Before(oldest)) {
			oldest = e.Queued
		}
	}
	if !oldest.IsZero() {
		st.OldestAge = api.Seconds(max(0, q.now().Sub(oldest))) // the clock may have been set back
	}
	if e := q.running; e != nil {
		st.Running = &api.RunningTxn{Class: e.Class, Description: e.Description, For: api.Seconds(max(0, q.now().Sub(e.Taken)))}
	}
	return st
}

func front(l *list.List) *Entry {
	if e := l.Front(); e != nil {
		return e.Value.(*Entry)
	}
	return nil
}

func first(entries []*Entry) *Entry {
	if len(entries) > 0 {
		return entries[0]
	}
	return nil
}

// Overtaken returns how many entries of notifications a transaction of the northbound
// overtook, and their keys.
func (q *Queue) Overtaken(e *Entry) (count int, keys map[string]struct{}) {
	if e.Class != api.QueueNorthbound {
		return 0, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.segments[0]
	for _, n := range s.notifications {
		if n.id > e.id || !s.executed(n.after) {
			break
		}
		if count++; keys == nil {
			keys = map[string]struct{}{}
		}
		for _, kv := range n.News.Values {
			keys[kv.Key] = struct{}{}
		}
	}
	return count, keys
}

// TakeNotifications takes the first entries of notifications. Only the consumer takes
// entries, so the entries that Overtaken counted are still queued; later notifications may
// have been merged into them.
func (q *Queue) TakeNotifications(count int) (entries []*Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.segments[0]
	for range count {
		n := s.takeOther(s.notifications[0])
		n.Taken = q.now()
		q.left(n.Class)
		entries = append(entries, n)
	}
	return entries
}
