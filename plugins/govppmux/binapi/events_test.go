package binapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vpe"
)

// eventServer sends n link events, for interfaces 0 to mod-1 in turn, before
// it answers a request.
func eventServer(n, mod int) *server {
	s := newServer(nil)
	s.handle = func(r *incoming) {
		id := s.ids[nameCRC(&interfaces.SwInterfaceEvent{})]
		for i := range n {
			r.peer.sendAs(&interfaces.SwInterfaceEvent{
				PID: uint32(i), SwIfIndex: interface_types.InterfaceIndex(i % mod)}, id, 0x80000001)
		}
		r.reply(&vpe.ShowVersionReply{})
	}
	return s
}

// TestNoEventIsLost although no receiver takes one while they arrive.
func TestNoEventIsLost(t *testing.T) {
	t.Parallel()
	const n = 20000
	bubble(t, eventServer(n, n), Options{}, func(t *testing.T, c *Conn) {
		first, err := c.WatchEvent(t.Context(), &interfaces.SwInterfaceEvent{})
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.WatchEvent(t.Context(), &interfaces.SwInterfaceEvent{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil {
			t.Fatal(err)
		}
		first.Close() // one watcher less is nothing to the other one
		if _, open := <-first.Events(); open {
			t.Error("channel of the closed watcher is open")
		}
		for i := range n {
			if e := (<-second.Events()).(*interfaces.SwInterfaceEvent); e.PID != uint32(i) {
				t.Fatalf("event %d has number %d", i, e.PID)
			}
		}
		second.Close()
		synctest.Wait()
		if err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil {
			t.Errorf("events without watchers: %v", err)
		}
	})
}

func TestCoalescedEventsKeepTheNewestOfEachKey(t *testing.T) {
	t.Parallel()
	const n, mod = 1000, 7
	bubble(t, eventServer(n, mod), Options{}, func(t *testing.T, c *Conn) {
		w, err := c.Watch(t.Context(), &interfaces.SwInterfaceEvent{}, WatchOptions{
			Coalesce: func(m api.Message) any { return m.(*interfaces.SwInterfaceEvent).SwIfIndex },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		newest := map[interface_types.InterfaceIndex]uint32{}
		total := 0
		for len(newest) < mod || newest[(n-1)%mod] != n-1 {
			e := (<-w.Events()).(*interfaces.SwInterfaceEvent)
			newest[e.SwIfIndex] = e.PID
			total++
		}
		for i := range mod {
			if got := newest[interface_types.InterfaceIndex(i)]; got < n-mod {
				t.Errorf("interface %d: last event %d, want one of the last %d", i, got, mod)
			}
		}
		if total > mod+1 { // one may have been on its way already
			t.Errorf("%d events delivered, want at most %d", total, mod+1)
		}
		w.Close()
	})
}

func TestSlowWatcherEndsWithAnError(t *testing.T) {
	t.Parallel()
	bubble(t, eventServer(1000, 1000), Options{MaxQueue: 2000}, func(t *testing.T, c *Conn) {
		w, err := c.Watch(t.Context(), &interfaces.SwInterfaceEvent{}, WatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		next := uint32(0)
		for e := range w.Events() {
			if got := e.(*interfaces.SwInterfaceEvent).PID; got != next {
				t.Fatalf("event %d is number %d", next, got)
			}
			next++
		}
		if err := w.Err(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("after %d events: error %v, want ErrTooLarge", next, err)
		}
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bubble(t, eventServer(1, 1), Options{}, func(t *testing.T, c *Conn) {
		ctx, cancel := context.WithCancel(t.Context())
		w, err := c.Watch(ctx, &interfaces.SwInterfaceEvent{}, WatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, open := <-w.Events(); open || w.Err() != nil {
			t.Errorf("open %v, error %v", open, w.Err())
		}
	})
}

func TestWatchOfAnUnknownEvent(t *testing.T) {
	t.Parallel()
	s := newServer(nil, "sw_interface_event")
	bubble(t, s, Options{}, func(t *testing.T, c *Conn) {
		if _, err := c.WatchEvent(t.Context(), &interfaces.SwInterfaceEvent{}); !errors.Is(err, ErrUnknownMessage) {
			t.Errorf("error %v, want ErrUnknownMessage", err)
		}
	})
}
