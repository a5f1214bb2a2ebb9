package binapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dev"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/lcp"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/policer"
	"go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/core"
)

// TestGeneratedClients runs the stubs of binapi-generator on the connection.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	const n = 3000
	c := dial(t, interfaceServer(n), Options{})
	v, err := vpe.NewServiceClient(c).ShowVersion(patient(t), &vpe.ShowVersion{})
	if err != nil || v.Version != "25.10-test" {
		t.Errorf("ShowVersion: %+v, %v", v, err)
	}
	_, err = interfaces.NewServiceClient(c).SwInterfaceSetFlags(patient(t), &interfaces.SwInterfaceSetFlags{SwIfIndex: n})
	if !errors.Is(err, api.INVALID_SW_IF_INDEX) {
		t.Errorf("SwInterfaceSetFlags: %v", err)
	}
	dump, err := interfaces.NewServiceClient(c).SwInterfaceDump(patient(t), &interfaces.SwInterfaceDump{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		d, err := dump.Recv()
		if err == io.EOF && i == n {
			break
		}
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if want := fmt.Sprintf("loop%d", i); d.InterfaceName != want {
			t.Fatalf("record %d is %q", i, d.InterfaceName)
		}
	}
	// The dump's request has no reply of its own; its place is free again.
	if n := c.Stats().InFlight; n != 0 {
		t.Errorf("%d requests in flight after the dump", n)
	}
}

func TestGeneratedCursorClient(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		r.reply(&lcp.LcpItfPairDetails{PhySwIfIndex: 1}, &lcp.LcpItfPairDetails{PhySwIfIndex: 2},
			&lcp.LcpItfPairGetV2Reply{Cursor: ^uint32(0)})
	})
	c := dial(t, s, Options{})
	pairs, err := lcp.NewServiceClient(c).LcpItfPairGetV2(patient(t), &lcp.LcpItfPairGetV2{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 2; i++ {
		if d, _, err := pairs.Recv(); err != nil || int(d.PhySwIfIndex) != i {
			t.Errorf("record %d: %+v, %v", i, d, err)
		}
	}
	if _, last, err := pairs.Recv(); err != io.EOF || last == nil || last.Cursor != ^uint32(0) {
		t.Errorf("end: %+v, %v", last, err)
	}
}

// TestStreamCarriesManyRequests: replies come in order, whatever their headers
// and IDs are.
func TestStreamCarriesManyRequests(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	n := 0
	s.handle = func(r *incoming) {
		n++
		switch r.name {
		case "policer_output_v2":
			r.peer.sendAs(&policer.PolicerOutputV2Reply{Retval: int32(n)}, r.id, r.context)
		case "policer_input_v2":
			r.peer.sendAs(&policer.PolicerInputV2Reply{Retval: int32(n)}, s.ids["policer_input_reply_e8d4e804"], r.context)
		case "dev_create_port_if":
			r.reply(&dev.DevCreatePortIfReply{Retval: int32(n)})
		}
	}
	c := dial(t, s, Options{})
	stream, err := c.NewStream(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 300
	for range rounds {
		for _, m := range []api.Message{&policer.PolicerOutputV2{}, &policer.PolicerInputV2{}, &dev.DevCreatePortIf{}} {
			if err := stream.SendMsg(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 3 * rounds {
		m, err := stream.RecvMsg()
		if err != nil {
			t.Fatal(err)
		}
		var got int32
		switch m := m.(type) {
		case *policer.PolicerOutputV2Reply:
			got = m.Retval
		case *policer.PolicerInputV2Reply:
			got = m.Retval
		case *dev.DevCreatePortIfReply:
			got = m.Retval
		default:
			t.Fatalf("reply %d is a %T", i, m)
		}
		if int(got) != i+1 {
			t.Fatalf("reply %d is number %d", i+1, got)
		}
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	if err := stream.SendMsg(&vpe.ShowVersion{}); !errors.Is(err, ErrClosed) {
		t.Errorf("SendMsg after Close: %v", err)
	}
	if _, err := stream.RecvMsg(); !errors.Is(err, ErrClosed) {
		t.Errorf("RecvMsg after Close: %v", err)
	}
}

// TestReplyTimeoutEndsTheStream with the connection.
func TestReplyTimeoutEndsTheStream(t *testing.T) {
	t.Parallel()
	bubble(t, newServer(func(*incoming) {}), Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		stream, err := c.NewStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(&vpe.ShowVersion{}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.RecvMsg(); !errors.Is(err, ErrReplyTimeout) || !errors.Is(err, ErrDisconnected) {
			t.Errorf("first: %v, want ErrReplyTimeout and ErrDisconnected", err)
		}
		if err := stream.SendMsg(&vpe.ShowVersion{}); !errors.Is(err, ErrDisconnected) {
			t.Errorf("second: %v, want ErrDisconnected", err)
		}
	})
}

// TestSlowReaderOfADump loses nothing and gets no timeout after the fact.
func TestSlowReaderOfADump(t *testing.T) {
	t.Parallel()
	const n = 500
	bubble(t, interfaceServer(n), Options{ReplyTimeout: time.Second}, func(t *testing.T, c *Conn) {
		dump, err := interfaces.NewServiceClient(c).SwInterfaceDump(t.Context(), &interfaces.SwInterfaceDump{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute) // of the fake clock
		got := 0
		for ; err == nil; got++ {
			_, err = dump.Recv()
		}
		if got != n+1 || err != io.EOF {
			t.Errorf("%d records, then %v; want %d and EOF", got-1, err, n)
		}
	})
}

func TestStreamEndsWithItsContextAndFreesItsPlaces(t *testing.T) {
	t.Parallel()
	bubble(t, newServer(func(*incoming) {}), Options{ReplyTimeout: time.Hour}, func(t *testing.T, c *Conn) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stream, err := c.NewStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := stream.SendMsg(&vpe.ShowVersion{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := stream.RecvMsg(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RecvMsg: %v", err)
		}
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := c.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight after Close", n)
		}
	})
}

// TestFireAndForget: a message without a reply, as generated clients send it.
func TestFireAndForget(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(nil), Options{})
	if err := memclnt.NewServiceClient(c).MemclntReadTimeout(patient(t), &memclnt.MemclntReadTimeout{}); err != nil {
		t.Error(err)
	}
	if n := c.Stats().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}

func TestForeignStreamOptionIsAnError(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(nil), Options{})
	if _, err := c.NewStream(patient(t), core.WithReplySize(1)); err == nil {
		t.Error("no error for an option of govpp's core")
	}
}
