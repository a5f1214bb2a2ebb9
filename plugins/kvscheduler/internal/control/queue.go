package control

import (
	"context"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

// queueCapacity bounds the transactions of the northbound that wait; whoever
// commits one more waits for room. Everything else is always accepted:
// notifications are merged by key, retries and sessions are few.
const queueCapacity = 200

// job is one entry of the queue.
type job struct {
	typ  api.TxnType
	call func() // instead of a transaction: run in the order of the queue

	values []api.RecordedKVPair
	meta   map[string]api.Metadata // of notified values
	opts   api.TxnOptions

	expect *api.Plan // refuse to do anything else
	dry    bool      // only planned

	retry   *retry
	session *sessionChange
	repair  []api.Drift // instead of values
	queued  time.Time

	done chan outcome // buffered; nil: nobody waits
}

type outcome struct {
	seq uint64
	err error
}

type retry struct {
	ofTxn    uint64
	attempt  int
	failures []exec.Failure
	revision map[string]uint64 // of the base values when the retry was planned
}

type sessionChange struct {
	name   string
	up     bool
	epoch  uint64
	reason error
}

// queue is the order in which jobs are executed.
type queue struct {
	now    func() time.Time
	mu     sync.Mutex
	jobs   []*job
	nb     int // transactions of the northbound among them
	closed bool
	wake   chan struct{} // there is something to take
	room   chan struct{} // closed and replaced when there is room again
}

func newQueue(now func() time.Time) *queue {
	return &queue{now: now, wake: make(chan struct{}, 1), room: make(chan struct{})}
}

// push appends a job. With a full queue a transaction of the northbound waits,
// bounded by ctx, or fails with ErrTxnQueueFull.
func (q *queue) push(ctx context.Context, j *job) error {
	limited := j.typ == api.NBTransaction && j.call == nil
	for {
		room, err := q.try(j, limited)
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
func (q *queue) try(j *job, limited bool) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, api.ErrClosedScheduler
	}
	if limited {
		if q.nb >= queueCapacity {
			return q.room, nil
		}
		q.nb++
	}
	j.queued = q.now()
	if !q.merge(j) {
		q.jobs = append(q.jobs, j)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil, nil
}

// merge adds notifications to those at the end of the queue.
func (q *queue) merge(j *job) bool {
	if len(q.jobs) == 0 || !isNotification(j) {
		return false
	}
	last := q.jobs[len(q.jobs)-1]
	if !isNotification(last) {
		return false
	}
	at := make(map[string]int, len(last.values))
	for i, kv := range last.values {
		at[kv.Key] = i
	}
	for _, kv := range j.values {
		if i, ok := at[kv.Key]; ok {
			last.values[i] = kv
		} else {
			at[kv.Key] = len(last.values)
			last.values = append(last.values, kv)
		}
		last.meta[kv.Key] = j.meta[kv.Key]
	}
	return true
}

func isNotification(j *job) bool {
	return j.typ == api.SBNotification && j.call == nil && j.session == nil
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
	if len(q.jobs) == 0 {
		return nil
	}
	j := q.jobs[0]
	q.jobs[0] = nil
	q.jobs = q.jobs[1:]
	if j.typ == api.NBTransaction && j.call == nil {
		q.nb--
		close(q.room)
		q.room = make(chan struct{})
	}
	return j
}

// close refuses further jobs and returns those that were not executed.
func (q *queue) close() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	left := q.jobs
	q.jobs = nil
	close(q.room)
	return left
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs)
}
