package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a queue in a bubble, and what was done in its turns.
type scene struct {
	*Queue
	t       *testing.T
	ctx     context.Context
	stop    chan struct{}
	mu      sync.Mutex
	done    []string
	pending sync.WaitGroup
}

// play runs a test with an open queue for so many clients.
func play(t *testing.T, capacity int, f func(s *scene)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, ctx: t.Context(), stop: make(chan struct{})}
		s.Queue = New(capacity, time.Now, s.stop)
		s.Open()
		f(s)
		s.pending.Wait()
	})
}

// take asks for a turn of a second, and notes what became of it. It returns when
// everybody waits.
func (s *scene) take(ctx context.Context, r Request) {
	s.pending.Go(func() {
		turn, err := s.Take(ctx, r)
		if err != nil {
			s.note(fmt.Sprintf("%s: %v", r.What, err))
			return
		}
		s.note(r.What)
		if !turn.Joined() {
			time.Sleep(time.Second)
			s.note(r.What + " ends")
		}
		turn.End()
	})
	synctest.Wait()
}

func (s *scene) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, what)
}

// want compares what was done when everybody is done.
func (s *scene) want(want string) {
	s.t.Helper()
	s.pending.Wait()
	if got := strings.Join(s.done, ", "); got != want {
		s.t.Errorf("done: %s\nwant: %s", got, want)
	}
	if st := s.Status(); st.Waiting != 0 || st.Clients != 0 || st.Running != nil {
		s.t.Errorf("status when all is done: %+v", st)
	}
}

// Requests run one at a time, requests of one client in the order of arrival; urgent ones run
// first.
func TestOrder(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.take(s.ctx, Request{What: "a"})
		s.take(s.ctx, Request{What: "b"})
		s.take(s.ctx, Request{What: "file", Class: Source})
		s.take(s.ctx, Request{What: "c"})
		s.take(s.ctx, Request{What: "urgent", Class: Urgent})
		s.want("a, a ends, urgent, urgent ends, b, b ends, file, file ends, c, c ends")
	})
}

// If the queue is full, the request of the client with the most requests is rejected with the
// reason; other clients wait.
func TestCapacity(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.take(s.ctx, Request{What: "a", Source: "grpc"})
		time.Sleep(time.Second / 4)
		operator := []string{"operator"}
		s.take(s.ctx, Request{What: "b", Path: operator})
		s.take(s.ctx, Request{What: "c", Path: operator})
		time.Sleep(time.Second / 4)
		s.take(s.ctx, Request{What: "d", Path: operator})
		s.take(s.ctx, Request{What: "file", Class: Source})
		st := s.Status()
		if st.Refused != 1 || st.Clients != 2 || st.Waiting != 3 || st.OldestAge != api.Seconds(time.Second/4) || st.Running.For != api.Seconds(time.Second/2) || st.Running.Source != "grpc" {
			t.Errorf("status %+v, %+v", st, st.Running)
		}
		time.Sleep(time.Second) // b runs, so the queue has capacity for one
		s.take(s.ctx, Request{What: "e"})
		s.want("a, d: 2 of 2 requests are queued (queue-capacity in orchestrator.conf), 2 of them from operator, " +
			"the oldest waiting for 250ms, while a (grpc) has been running for 500ms; this request was not executed, try again later, " +
			"a ends, b, b ends, file, file ends, c, c ends, e, e ends")
	})
}

func TestRetryAfter(t *testing.T) {
	for oldest, want := range map[time.Duration]time.Duration{
		0: time.Second, 3 * time.Second: time.Second, 50 * time.Second: 6 * time.Second, time.Hour: time.Minute,
	} {
		if got := (&FullError{Capacity: 10, Oldest: oldest}).RetryAfter(); got != want {
			t.Errorf("after %v: %v, want %v", oldest, got, want)
		}
	}
}

// A client that disconnects while it waits gets no turn, even if it comes at that moment, and
// leaves room.
func TestCancel(t *testing.T) {
	play(t, 2, func(s *scene) {
		const canceled = ": canceled while it waited in the queue; nothing of it is executed: context "
		first, err := s.Take(s.ctx, Request{})
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(s.ctx)
		late, end := context.WithTimeout(s.ctx, time.Second)
		defer end()
		s.take(gone, Request{What: "a"})
		s.take(late, Request{What: "b"})
		time.Sleep(time.Second)
		synctest.Wait()
		s.take(s.ctx, Request{What: "c"})
		cancel()
		first.End() // it is the turn of a, who does not know yet that he is gone
		s.take(gone, Request{What: "d"})
		if n := s.Status().Canceled; n != 2 { // who is gone before he comes never waited
			t.Errorf("%d canceled, want 2", n)
		}
		s.pending.Wait()
		slices.Sort(s.done[1:]) // a and d end at the same time as c begins
		s.want("b" + canceled + "deadline exceeded, a" + canceled + "canceled, c, c ends, d" + canceled + "canceled")
	})
}

// Before the gate is opened, clients can only join the synchronisation; those
// who cannot wait on.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, ctx: t.Context(), stop: make(chan struct{})}
		s.Queue = New(5, time.Now, s.stop)
		join := func(what string) Request {
			return Request{What: what, Join: func() { s.note("join " + what) }}
		}
		s.take(s.ctx, join("a"))
		s.take(s.ctx, Request{What: "plan"})
		gone, cancel := context.WithCancel(s.ctx)
		s.take(gone, join("gone"))
		s.take(s.ctx, join("b"))
		cancel()
		synctest.Wait()
		if st := s.Status(); !st.Closed || st.Clients != 3 || st.Running != nil || s.doing() != "the agent waits for the sources of the configuration" {
			t.Errorf("status %+v", st)
		}
		sync, err := s.Take(s.ctx, Request{What: "sync", Class: Source})
		if err != nil {
			t.Fatal(err)
		}
		s.Join()
		synctest.Wait()
		s.take(s.ctx, join("late"))
		s.Open()
		sync.End()
		s.pending.Wait()
		slices.Sort(s.done[1:]) // joined requests continue in any order
		s.want("gone: canceled while it waited in the queue; nothing of it is executed: context canceled, " +
			"a, b, join a, join b, late, late ends, plan, plan ends")
	})
}

func TestStopped(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.take(s.ctx, Request{What: "a"})
		s.take(s.ctx, Request{What: "b"})
		close(s.stop)
		synctest.Wait()
		s.want("a, b: the queue is stopped, a ends")
		if _, err := s.Take(s.ctx, Request{}); !errors.Is(err, ErrStopped) {
			t.Errorf("after the stop: %v", err)
		}
	})
}

// Many concurrent clients take turns, and some disconnect: at most one runs at a time, and
// none is forgotten.
func TestMany(t *testing.T) {
	t.Parallel()
	const clients = 300
	q := New(clients, time.Now, nil)
	q.Open()
	var inTurn, served, canceled, open atomic.Int32
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				all.Go(cancel)
			}
			turn, err := q.Take(ctx, Request{Class: Class(rand.IntN(3))})
			if errors.Is(err, api.ErrTxnCanceled) {
				canceled.Add(1)
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if inTurn.Add(1) != 1 {
				open.Add(1)
			}
			served.Add(1)
			inTurn.Add(-1)
			turn.End()
		})
	}
	all.Wait()
	if open.Load() > 0 || served.Load()+canceled.Load() != clients || canceled.Load() > clients/3 {
		t.Errorf("%d served, %d canceled, %d at the same time as another", served.Load(), canceled.Load(), open.Load())
	}
	if st := q.Status(); st.Waiting != 0 || st.Clients != 0 || st.Running != nil {
		t.Errorf("status %+v", st)
	}
}
