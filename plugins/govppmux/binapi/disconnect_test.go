package binapi

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/vpe"
)

// TestEverythingPendingFailsWhenVPPDies: requests, waiters for the window,
// dumps, streams and watches, all at once and without a timeout.
func TestEverythingPendingFailsWhenVPPDies(t *testing.T) {
	t.Parallel()
	s := newServer(func(*incoming) {}) // never answers, except pings
	bubble(t, s, Options{MaxRequests: 8, ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		var wg sync.WaitGroup
		begin := time.Now()
		expect := func(what string, f func() error) {
			wg.Go(func() {
				if err := f(); !errors.Is(err, ErrDisconnected) {
					t.Errorf("%s: %v, want ErrDisconnected", what, err)
				}
			})
		}
		w, err := c.Watch(t.Context(), &interfaces.SwInterfaceEvent{}, WatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expect("watch", func() error {
			for range w.Events() {
			}
			return w.Err()
		})
		stream, err := c.NewStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(&vpe.ShowVersion{}); err != nil {
			t.Fatal(err)
		}
		expect("stream", func() error { _, err := stream.RecvMsg(); return err })
		expect("cursor", func() error {
			return c.Page(t.Context(), &vpe.ShowVpeSystemTime{}, &vpe.ShowVpeSystemTimeReply{}, newOf[*interfaces.SwInterfaceDetails](), nil)
		})
		for range 20 {
			expect("request", func() error {
				return c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
			})
		}
		synctest.Wait()
		s.kill()
		wg.Wait()
		<-c.Done()
		if d := time.Since(begin); d != 0 {
			t.Errorf("it took %v of a clock that should stand still", d)
		}
		if err := c.Err(); !errors.Is(err, ErrDisconnected) || errors.Is(err, ErrClosed) {
			t.Errorf("Err: %v", err)
		}
		expect("request afterwards", func() error {
			return c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		})
		wg.Wait()
		if _, err := c.NewStream(t.Context()); !errors.Is(err, ErrDisconnected) {
			t.Errorf("stream afterwards: %v", err)
		}
		if _, err := c.WatchEvent(t.Context(), &interfaces.SwInterfaceEvent{}); !errors.Is(err, ErrDisconnected) {
			t.Errorf("watch afterwards: %v", err)
		}
	})
}

func TestCloseFailsWhatIsPending(t *testing.T) {
	t.Parallel()
	s := newServer(func(*incoming) {})
	bubble(t, s, Options{ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		f := c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		err := f.Wait()
		if !errors.Is(err, ErrDisconnected) || !errors.Is(err, ErrClosed) || !OutcomeUnknown(err) {
			t.Errorf("error %v, want ErrDisconnected and ErrClosed, outcome unknown", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

// TestUnsentRequestHasAKnownOutcome: what VPP never got, it never did.
func TestUnsentRequestHasAKnownOutcome(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) { time.Sleep(time.Hour) }) // reads no more
	bubble(t, s, Options{ReplyTimeout: 24 * time.Hour}, func(t *testing.T, c *Conn) {
		sent := c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		synctest.Wait()
		// The pipe takes no more: this batch hangs in Write, the next waits.
		stuck := c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		synctest.Wait()
		unsent := c.Send(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
		_ = c.Close()
		for i, f := range []Future{sent, stuck, unsent} {
			if err := f.Wait(); OutcomeUnknown(err) != (i < 2) {
				t.Errorf("request %d: %v, outcome unknown %v", i, err, OutcomeUnknown(err))
			}
		}
	})
}

// TestGarbageEndsTheConnection: a peer that breaks the framing is given up.
func TestGarbageEndsTheConnection(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string][]byte{
		"huge":  {8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 15: 0},
		"short": {11: 5, 15: 0, 20: 0},
		"empty": {15: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(func(r *incoming) { r.peer.write(frame) })
			bubble(t, s, Options{ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
				err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
				if !errors.Is(err, ErrProtocol) || !errors.Is(err, ErrDisconnected) {
					t.Errorf("error %v, want ErrProtocol and ErrDisconnected", err)
				}
			})
		})
	}
}

// TestUnrelatedMessagesAreDropped: unknown IDs, unknown contexts, events of
// no interest.
func TestUnrelatedMessagesAreDropped(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	s.handle = func(r *incoming) {
		for _, context := range []uint32{0, 1, 77, r.context + 1, r.context ^ 1<<20, ^uint32(0)} {
			r.peer.sendAs(&vpe.ShowVersionReply{Version: "wrong"}, s.ids["show_version_reply_c919bde1"], context)
			r.peer.sendAs(&vpe.ShowVersionReply{Version: "wrong"}, 65000, context)
		}
		// An event whose client index equals the context of the request.
		r.peer.sendAs(&interfaces.SwInterfaceEvent{}, s.ids[nameCRC(&interfaces.SwInterfaceEvent{})], r.context)
		r.reply(&vpe.ShowVersionReply{Version: "right"})
	}
	bubble(t, s, Options{}, func(t *testing.T, c *Conn) {
		for range 3 {
			reply := &vpe.ShowVersionReply{}
			if err := c.Invoke(t.Context(), &vpe.ShowVersion{}, reply); err != nil || reply.Version != "right" {
				t.Errorf("%v, %q", err, reply.Version)
			}
		}
		synctest.Wait()
		if st := c.Stats(); st.Late != 36 || st.Events != 3 {
			t.Errorf("%d late, %d events; want 36 and 3", st.Late, st.Events)
		}
	})
}

func nameCRC(m api.Message) string { return m.GetMessageName() + "_" + m.GetCrcString() }

// TestUnansweredAtDone: when the end of a connection is reported, it is known whether a
// request is unanswered.
func TestUnansweredAtDone(t *testing.T) {
	t.Parallel()
	const places = 1 << 14
	s := newServer(func(r *incoming) {
		if r.name == "show_version" {
			r.reply(&vpe.ShowVersionReply{})
		}
	})
	c := dial(t, s, Options{MaxRequests: places, ReplyTimeout: time.Hour})
	last := c.Send(patient(t), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
	for range places - 2 { // the next one has the last place
		if err := last.Wait(); err != nil {
			t.Fatal(err)
		}
		last = c.Send(patient(t), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
	}
	pending := c.Send(patient(t), &vpe.ShowVpeSystemTime{}, &vpe.ShowVpeSystemTimeReply{})
	if err := last.Wait(); err != nil { // so VPP has got the pending one, or will get it at once
		t.Fatal(err)
	}
	go c.Stall(ErrReplyTimeout)
	<-c.Done()
	if !c.Unanswered() {
		t.Error("nothing is unanswered when the connection has ended")
	}
	if err := pending.Wait(); !errors.Is(err, ErrDisconnected) {
		t.Error(err)
	}
}
