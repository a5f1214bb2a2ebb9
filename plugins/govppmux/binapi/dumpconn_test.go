package binapi

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vpe"
)

func dumpInterfaces(t *testing.T, c *Conn) (int, error) {
	all, err := Dump[*interfaces.SwInterfaceDetails](t.Context(), c, &interfaces.SwInterfaceDump{})
	return len(all), err
}

// While VPP sends a dump, requests are answered; and as long as it sends, a
// request that has to wait in the queue is not late.
func TestDumpHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	s.handle = func(r *incoming) {
		switch r.name {
		case "sw_interface_dump":
			for range 20 {
				time.Sleep(500 * time.Millisecond)
				r.reply(&interfaces.SwInterfaceDetails{})
				r.peer.flush()
			}
		case "show_version":
			time.Sleep(5 * time.Second)
			r.reply(&vpe.ShowVersionReply{})
		}
	}
	bubble(t, s, Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		begin := time.Now()
		dumped := make(chan int, 1)
		go func() {
			n, err := dumpInterfaces(t, c)
			if err != nil {
				t.Error(err)
			}
			dumped <- n
		}()
		synctest.Wait()
		if err := c.Invoke(t.Context(), &memclnt.ControlPing{}, &memclnt.ControlPingReply{}); err != nil || time.Since(begin) > 0 {
			t.Errorf("ping beside a dump: %v after %v", err, time.Since(begin))
		}
		if err := c.Invoke(t.Context(), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil {
			t.Errorf("a request whose turn comes late: %v", err)
		}
		if n := <-dumped; n != 20 {
			t.Errorf("%d records", n)
		}
	})
}

// When only the second connection breaks, its dump fails and the next one has
// another.
func TestDumpsGoOnAfterTheirConnection(t *testing.T) {
	t.Parallel()
	broken := false
	s := newServer(nil)
	s.handle = func(r *incoming) {
		if r.name == "sw_interface_dump" && !broken {
			broken = true
			_ = r.peer.nc.Close()
			return
		}
		r.reply(&interfaces.SwInterfaceDetails{})
	}
	bubble(t, s, Options{}, func(t *testing.T, c *Conn) {
		if _, err := dumpInterfaces(t, c); !errors.Is(err, ErrDisconnected) {
			t.Errorf("dump on a connection that broke: %v", err)
		}
		if n, err := dumpInterfaces(t, c); n != 1 || err != nil {
			t.Errorf("the next dump: %d records, %v", n, err)
		}
		if err := c.Err(); err != nil {
			t.Errorf("the first connection ended as well: %v", err)
		}
		if st := c.Stats(); st.Disconnected != 1 || st.InFlight != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

// A VPP that took the place of the one that the connection leads to is not
// asked in its stead.
func TestDumpIsOfTheSameVPP(t *testing.T) {
	t.Parallel()
	s := interfaceServer(1)
	s.replaced = true
	bubble(t, s, Options{}, func(t *testing.T, c *Conn) {
		_, err := dumpInterfaces(t, c)
		if !errors.Is(err, ErrDisconnected) || !strings.Contains(err.Error(), "replaced") || OutcomeUnknown(err) {
			t.Errorf("error %v", err)
		}
	})
}
