package binapi

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vpe"
)

// bubble runs a test with a fake clock against a server in memory.
func bubble(t *testing.T, s *server, opts Options, f func(t *testing.T, c *Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := dialPipe(t, s, opts)
		f(t, c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		s.close()
	})
}

// TestReplyTimeout: silence ends the connection, and everything in flight fails with
// an unknown outcome.
func TestReplyTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, newServer(func(*incoming) {}), Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		begin := time.Now()
		other := c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		for _, err := range []error{c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}), other.Wait()} {
			if !errors.Is(err, ErrReplyTimeout) || !errors.Is(err, ErrDisconnected) || !OutcomeUnknown(err) {
				t.Errorf("error %v, want ErrReplyTimeout and ErrDisconnected with an unknown outcome", err)
			}
		}
		if d := time.Since(begin); d < time.Second || d > 1500*time.Millisecond {
			t.Errorf("failed after %v, want about 1s", d)
		}
		err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		if !errors.Is(err, ErrReplyTimeout) || OutcomeUnknown(err) {
			t.Errorf("later request: %v, want ErrReplyTimeout with a known outcome", err)
		}
		if st := c.Stats(); st.Timeouts != 1 {
			t.Errorf("stats %+v: want 1 timeout", st)
		}
	})
}

// TestDrain waits until VPP has done everything that it was sent, with replies of
// any age, and until it has closed the connection.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		resume, executed := make(chan struct{}), 0
		s := newServer(nil)
		s.handle = func(r *incoming) {
			if executed == 0 {
				<-resume
				if dies {
					_ = r.peer.nc.Close()
					return
				}
			}
			executed++
			r.reply(&vpe.ShowVersionReply{})
			r.peer.flush()
		}
		bubble(t, s, Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
			resume = make(chan struct{}) // of the bubble
			for range 10 {
				c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
			}
			<-c.Done()
			if !c.Unanswered() {
				t.Error("nothing is unanswered")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := c.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("drained a VPP that does nothing: %v", err)
			}
			close(resume)
			if err := c.Drain(t.Context()); errors.Is(err, ErrDisconnected) != dies || executed != 10 && !dies {
				t.Errorf("drained after %d of 10 requests: %v", executed, err)
			}
		})
	}
}

// TestReplyTimeoutCountsSilenceOnly: requests wait in the queue as long as
// VPP answers those before them.
func TestReplyTimeoutCountsSilenceOnly(t *testing.T) {
	t.Parallel()
	const n = 50
	s := newServer(nil)
	s.handle = func(r *incoming) {
		time.Sleep(400 * time.Millisecond) // of the fake clock
		r.reply(&vpe.ShowVersionReply{})
		r.peer.flush()
	}
	bubble(t, s, Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		begin := time.Now()
		var fs []Future
		for range n {
			fs = append(fs, c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}))
		}
		for i, f := range fs {
			if err := f.Wait(); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		if d := time.Since(begin); d < n*400*time.Millisecond {
			t.Fatalf("took %v; the test did not test what it says", d)
		}
	})
}

// TestReplyTimeoutOfALostReply: a reply that never comes fails its request, and no other,
// if others are answered all the time.
func TestReplyTimeoutOfALostReply(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		if r.name != "show_vpe_system_time" {
			r.reply(&vpe.ShowVersionReply{})
		}
	})
	bubble(t, s, Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		lost := c.Send(t.Context(), &vpe.ShowVpeSystemTime{}, &vpe.ShowVpeSystemTimeReply{})
		begin := time.Now()
		done := make(chan error, 1)
		go func() { done <- lost.Wait() }()
		for {
			select {
			case err := <-done:
				if !errors.Is(err, ErrReplyLost) || errors.Is(err, ErrDisconnected) || !OutcomeUnknown(err) {
					t.Errorf("error %v, want ErrReplyLost with an unknown outcome", err)
				}
				if st := c.Stats(); c.Err() != nil || st.InFlight != 0 || st.Timeouts != 1 {
					t.Errorf("connection: %v, stats %+v, want one timeout and nothing in flight", c.Err(), st)
				}
				if d := time.Since(begin); d > 3*time.Second {
					t.Errorf("failed after %v", d)
				}
				return
			case <-time.After(100 * time.Millisecond):
				if err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil && c.Err() == nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestDeadlineOfTheContextReplacesTheReplyTimeout in both directions.
func TestDeadlineOfTheContextReplacesTheReplyTimeout(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		time.Sleep(10 * time.Second)
		r.reply(&vpe.ShowVersionReply{Version: "slow"})
	})
	bubble(t, s, Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Invoke(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil {
			t.Errorf("patient request: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := c.Invoke(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		if !errors.Is(err, context.DeadlineExceeded) || !OutcomeUnknown(err) {
			t.Errorf("impatient request: %v", err)
		}
	})
}

func TestCancelledRequestFreesItsPlace(t *testing.T) {
	t.Parallel()
	s := newServer(func(*incoming) {}) // never answers
	bubble(t, s, Options{MaxRequests: 2, ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			f := c.Send(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
			cancel()
			if err := f.Wait(); !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want context.Canceled", err)
			}
		}
		if n := c.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight after all were cancelled", n)
		}
		if err := c.Invoke(t.Context(), &memclnt.ControlPing{}, &memclnt.ControlPingReply{}); err != nil {
			t.Error(err)
		}
	})
}

// TestWindow: callers beyond the window wait, honour their context, and continue
// in their order.
func TestWindow(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var held []*incoming
	s := newServer(func(r *incoming) {
		mu.Lock()
		defer mu.Unlock()
		held = append(held, r)
	})
	bubble(t, s, Options{MaxRequests: 4, ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		var fs []Future
		for range 4 {
			fs = append(fs, c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := c.Send(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{}).Wait()
		if !errors.Is(err, context.DeadlineExceeded) || OutcomeUnknown(err) {
			t.Errorf("request beyond the window: %v, want its deadline and a known outcome", err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}) }()
		synctest.Wait()
		answerAll := func() {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range held {
				r.reply(&vpe.ShowVersionReply{})
				r.peer.flush()
			}
			held = nil
		}
		answerAll()
		for _, f := range fs {
			if err := f.Wait(); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		answerAll()
		if err := <-waiting; err != nil {
			t.Error(err)
		}
		if c.Stats().Waits != 2 {
			t.Errorf("%d waits, want 2", c.Stats().Waits)
		}
	})
}

// TestBytesInFlight: the bound is on bytes too, and a request larger than the
// bound is sent alone.
func TestBytesInFlight(t *testing.T) {
	t.Parallel()
	s := interfaceServer(10)
	bubble(t, s, Options{MaxBytes: 10, ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		var fs []Future
		for i := range 10 {
			fs = append(fs, c.Send(t.Context(), &interfaces.SwInterfaceSetFlags{SwIfIndex: interface_types.InterfaceIndex(i)}, &interfaces.SwInterfaceSetFlagsReply{}))
		}
		for _, f := range fs {
			if err := f.Result(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestFutureIsGoodForOneWait(t *testing.T) {
	t.Parallel()
	bubble(t, interfaceServer(1), Options{}, func(t *testing.T, c *Conn) {
		f := c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		if err := f.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := f.Wait(); !errors.Is(err, ErrClosed) {
			t.Errorf("second Wait: %v, want ErrClosed", err)
		}
	})
}
