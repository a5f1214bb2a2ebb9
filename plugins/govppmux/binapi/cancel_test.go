package binapi

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vpe"
)

// hesitant is a server that executes no request of the main connection until it is
// released, and requests of the connection for dumps at once.
type hesitant struct {
	*server
	release  chan struct{}
	executed atomic.Int64 // requests of the main connection
}

func newHesitant() *hesitant {
	h := &hesitant{server: newServer(nil)}
	h.handle = func(r *incoming) {
		switch r.name {
		case "show_version":
			<-h.release
			h.executed.Add(1)
			r.reply(&vpe.ShowVersionReply{Version: "late"})
		case "show_vpe_system_time":
			r.reply(&vpe.ShowVpeSystemTimeReply{VpeSystemTime: 7})
		case "sw_interface_dump":
			for range h.executed.Load() {
				r.reply(&interfaces.SwInterfaceDetails{})
			}
		}
	}
	return h
}

// canceledRequests sends n requests and cancels them.
func canceledRequests(t *testing.T, c *Conn, n int) {
	t.Helper()
	reason := errors.New("no longer needed")
	ctx, cancel := context.WithCancelCause(t.Context())
	var sent []Future
	for range n {
		sent = append(sent, c.Send(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{}))
	}
	cancel(reason)
	for _, f := range sent {
		if err := f.Wait(); !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || !OutcomeUnknown(err) {
			t.Fatalf("canceled request: %v, want context.Canceled, the cause and an unknown outcome", err)
		}
	}
}

// TestDumpWaitsForCanceledRequests: a dump does not overtake a canceled request, and is
// canceled as well while it waits.
func TestDumpWaitsForCanceledRequests(t *testing.T) {
	t.Parallel()
	s := newHesitant()
	bubble(t, s.server, Options{ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		s.release = make(chan struct{}) // of the bubble
		if n, err := dumpInterfaces(t, c); n != 0 || err != nil {
			t.Fatalf("dump without canceled requests: %d records, %v", n, err)
		}
		canceledRequests(t, c, 3)
		if !c.Unanswered() {
			t.Error("nothing is unanswered after canceled requests")
		}
		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan error)
		go func() {
			_, err := Dump[*interfaces.SwInterfaceDetails](ctx, c, &interfaces.SwInterfaceDump{})
			impatient <- err
		}()
		found := make(chan int)
		go func() {
			n, err := dumpInterfaces(t, c)
			if err != nil {
				t.Error(err)
			}
			found <- n
		}()
		synctest.Wait()
		cancel()
		if err := <-impatient; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled dump: %v", err)
		}
		synctest.Wait()
		select {
		case <-found:
			t.Error("the dump overtook canceled requests")
		default:
		}
		close(s.release)
		if n := <-found; n != 3 {
			t.Errorf("the dump found the effects of %d of 3 canceled requests", n)
		}
		synctest.Wait() // the reader is done with the batch
		if c.Unanswered() {
			t.Error("canceled requests are unanswered after VPP has answered a later one")
		}
	})
}

// TestLateReplyIsDropped: the reply to a canceled request does not answer the next one,
// which has its place.
func TestLateReplyIsDropped(t *testing.T) {
	t.Parallel()
	s := newHesitant()
	bubble(t, s.server, Options{MaxRequests: 1, ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		s.release = make(chan struct{})
		canceledRequests(t, c, 1)
		next := &vpe.ShowVpeSystemTimeReply{}
		answered := c.Send(t.Context(), &vpe.ShowVpeSystemTime{}, next)
		close(s.release)
		if err := answered.Wait(); err != nil || next.VpeSystemTime != 7 {
			t.Errorf("reply %+v, %v", next, err)
		}
		synctest.Wait()
		if st := c.Stats(); st.Late != 1 || st.InFlight != 0 {
			t.Errorf("stats %+v, want one late reply and nothing in flight", st)
		}
	})
}

// TestLateRepliesAreProgress: a VPP that answers canceled requests is not silent.
func TestLateRepliesAreProgress(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		time.Sleep(700 * time.Millisecond)
		r.reply(&vpe.ShowVersionReply{})
		r.peer.flush()
	})
	bubble(t, s, Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		canceledRequests(t, c, 5)
		if err := c.Invoke(t.Context(), &memclnt.ControlPing{}, &memclnt.ControlPingReply{}); err != nil {
			t.Errorf("request behind canceled ones: %v", err)
		}
	})
}

// TestCanceledAtDisconnect: the error of a request that is canceled because its connection
// ended names the end.
func TestCanceledAtDisconnect(t *testing.T) {
	t.Parallel()
	bubble(t, newServer(func(*incoming) {}), Options{ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		ctx, cancel := context.WithCancel(t.Context())
		pending := c.Send(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		synctest.Wait()
		c.Stall(ErrReplyTimeout)
		cancel()
		_, dumped := Dump[*interfaces.SwInterfaceDetails](ctx, c, &interfaces.SwInterfaceDump{})
		for what, err := range map[string]error{
			"in flight": pending.Wait(),
			"later":     c.Invoke(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{}),
			"dump":      dumped,
		} {
			if !errors.Is(err, ErrDisconnected) || OutcomeUnknown(err) != (what == "in flight") {
				t.Errorf("%s: %v (outcome unknown: %t)", what, err, OutcomeUnknown(err))
			}
		}
	})
}
