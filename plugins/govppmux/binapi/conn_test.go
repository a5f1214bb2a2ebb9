package binapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dev"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/lcp"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/policer"
	"go.fd.io/govpp/binapi/tapv2"
	"go.fd.io/govpp/binapi/vpe"
)

// interfaceServer has n interfaces and answers like VPP.
func interfaceServer(n int) *server {
	return newServer(func(r *incoming) {
		switch r.name {
		case "show_version":
			r.reply(&vpe.ShowVersionReply{Program: "vpe", Version: "25.10-test"})
		case "sw_interface_dump":
			for i := range n {
				r.reply(&interfaces.SwInterfaceDetails{
					SwIfIndex: interface_types.InterfaceIndex(i), InterfaceName: fmt.Sprintf("loop%d", i)})
			}
		case "sw_interface_set_flags":
			var req interfaces.SwInterfaceSetFlags
			r.decode(&req)
			reply := &interfaces.SwInterfaceSetFlagsReply{}
			if int(req.SwIfIndex) >= n {
				reply.Retval = int32(api.INVALID_SW_IF_INDEX)
			}
			r.reply(reply)
		}
	})
}

func TestInvokeFillsTheReply(t *testing.T) {
	t.Parallel()
	c := dial(t, interfaceServer(1), Options{})
	reply := &vpe.ShowVersionReply{}
	if err := c.Invoke(patient(t), &vpe.ShowVersion{}, reply); err != nil {
		t.Fatal(err)
	}
	if reply.Version != "25.10-test" {
		t.Errorf("version %q", reply.Version)
	}
}

func TestCallReturnsTheRetval(t *testing.T) {
	t.Parallel()
	c := dial(t, interfaceServer(1), Options{})
	req := &interfaces.SwInterfaceSetFlags{SwIfIndex: 7}
	reply := &interfaces.SwInterfaceSetFlagsReply{}
	if err := c.Invoke(patient(t), req, reply); err != nil || reply.Retval != -2 {
		t.Errorf("Invoke: err %v, retval %d; want nil and -2", err, reply.Retval)
	}
	err := c.Call(patient(t), req, reply)
	var retval *RetvalError
	if !errors.Is(err, api.INVALID_SW_IF_INDEX) || !errors.As(err, &retval) {
		t.Fatalf("Call: %v, want INVALID_SW_IF_INDEX", err)
	}
	if OutcomeUnknown(err) {
		t.Error("a refused request has a known outcome")
	}
	if !strings.HasPrefix(err.Error(), "sw_interface_set_flags: ") {
		t.Errorf("error %q does not name the request", err)
	}
}

func TestDumpReturnsAllRecords(t *testing.T) {
	t.Parallel()
	const n = 5000
	c := dial(t, interfaceServer(n), Options{})
	for range 2 {
		all, err := Dump[*interfaces.SwInterfaceDetails](patient(t), c, &interfaces.SwInterfaceDump{})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != n {
			t.Fatalf("%d records, want %d", len(all), n)
		}
		for i, d := range all {
			if want := fmt.Sprintf("loop%d", i); d.InterfaceName != want {
				t.Fatalf("record %d is %q, want %q", i, d.InterfaceName, want)
			}
		}
	}
}

func TestDumpEndsWithTheErrorOfItsConsumer(t *testing.T) {
	t.Parallel()
	c := dial(t, interfaceServer(100), Options{})
	stop := errors.New("enough")
	seen := 0
	err := c.Dump(patient(t), &interfaces.SwInterfaceDump{}, newOf[*interfaces.SwInterfaceDetails](), func(api.Message) error {
		if seen++; seen == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || seen != 3 {
		t.Errorf("error %v after %d records", err, seen)
	}
	if err := c.Invoke(patient(t), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}); err != nil {
		t.Errorf("connection after the dump: %v", err)
	}
}

func TestDumpBeyondTheLimitIsAnError(t *testing.T) {
	t.Parallel()
	c := dial(t, interfaceServer(100), Options{MaxQueue: 1000})
	_, err := Dump[*interfaces.SwInterfaceDetails](patient(t), c, &interfaces.SwInterfaceDump{})
	// A fast consumer may keep up with a small limit, but never lose a record.
	if err != nil && !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

func TestCursorAsksUntilTheEnd(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		var req lcp.LcpItfPairGetV2
		r.decode(&req)
		for i := range uint32(10) {
			r.reply(&lcp.LcpItfPairDetails{PhySwIfIndex: interface_types.InterfaceIndex(req.Cursor + i)})
		}
		reply := &lcp.LcpItfPairGetV2Reply{Retval: int32(api.EAGAIN), Cursor: req.Cursor + 10}
		if req.Cursor == 20 {
			reply.Retval, reply.Cursor = 0, ^uint32(0)
		}
		r.reply(reply)
	})
	c := dial(t, s, Options{})
	all, err := Cursor[*lcp.LcpItfPairDetails](patient(t), c, &lcp.LcpItfPairGetV2{}, &lcp.LcpItfPairGetV2Reply{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 30 || all[29].PhySwIfIndex != 29 {
		t.Errorf("%d records, last %+v", len(all), all[len(all)-1])
	}
}

// TestCursorEndedByTheWrongReply: VPP ends lcp_itf_pair_get_v2 with the reply of
// lcp_itf_pair_get.
func TestCursorEndedByTheWrongReply(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		r.reply(&lcp.LcpItfPairDetails{PhySwIfIndex: 5}, &lcp.LcpItfPairGetReply{Cursor: ^uint32(0)})
	})
	c := dial(t, s, Options{})
	all, err := Cursor[*lcp.LcpItfPairDetails](patient(t), c, &lcp.LcpItfPairGetV2{}, &lcp.LcpItfPairGetV2Reply{})
	if err != nil || len(all) != 1 || all[0].PhySwIfIndex != 5 {
		t.Errorf("%d records, %v", len(all), err)
	}
}

func TestCursorThatDoesNotAdvanceIsAnError(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		r.reply(&lcp.LcpItfPairGetV2Reply{Retval: int32(api.EAGAIN)})
	})
	c := dial(t, s, Options{})
	_, err := Cursor[*lcp.LcpItfPairDetails](patient(t), c, &lcp.LcpItfPairGetV2{}, &lcp.LcpItfPairGetV2Reply{})
	if !errors.Is(err, ErrProtocol) {
		t.Errorf("error %v, want ErrProtocol", err)
	}
}

// TestWrongMessageIDs covers the handlers of VPP that put the ID of another
// message, or of the request, on their reply.
func TestWrongMessageIDs(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	s.handle = func(r *incoming) {
		switch r.name {
		case "policer_input_v2": // answers with the reply of v1
			r.peer.sendAs(&policer.PolicerInputV2Reply{Retval: -3}, s.ids["policer_input_reply_e8d4e804"], r.context)
		case "policer_output_v2": // answers with the ID of the request
			r.peer.sendAs(&policer.PolicerOutputV2Reply{Retval: -4}, r.id, r.context)
		}
	}
	c := dial(t, s, Options{})
	in := &policer.PolicerInputV2Reply{}
	if err := c.Invoke(patient(t), &policer.PolicerInputV2{}, in); err != nil || in.Retval != -3 {
		t.Errorf("reply of v1: %v, retval %d", err, in.Retval)
	}
	out := &policer.PolicerOutputV2Reply{}
	if err := c.Invoke(patient(t), &policer.PolicerOutputV2{}, out); err != nil || out.Retval != -4 {
		t.Errorf("ID of the request: %v, retval %d", err, out.Retval)
	}
}

// TestOddHeader covers replies whose client_index comes before the context.
func TestOddHeader(t *testing.T) {
	t.Parallel()
	s := newServer(func(r *incoming) {
		r.reply(&dev.DevCreatePortIfReply{SwIfIndex: 9, ErrorString: "none"})
	})
	c := dial(t, s, Options{})
	reply := &dev.DevCreatePortIfReply{}
	if err := c.Call(patient(t), &dev.DevCreatePortIf{}, reply); err != nil || reply.SwIfIndex != 9 || reply.ErrorString != "none" {
		t.Errorf("%v, %+v", err, reply)
	}
}

func TestUnknownMessageIsNamed(t *testing.T) {
	t.Parallel()
	s := interfaceServer(1)
	for nameCRC := range s.ids {
		if strings.HasPrefix(nameCRC, "tap_create_v3_") {
			delete(s.ids, nameCRC)
		}
	}
	c := dial(t, s, Options{})
	if c.Has(&tapv2.TapCreateV3{}) || !c.Has(&tapv2.TapCreateV2{}) {
		t.Error("Has: want tap_create_v2 without tap_create_v3")
	}
	err := c.Call(patient(t), &tapv2.TapCreateV3{}, &tapv2.TapCreateV3Reply{})
	if !errors.Is(err, ErrUnknownMessage) || !strings.Contains(err.Error(), "tap_create_v3_") {
		t.Errorf("error %v", err)
	}
	if OutcomeUnknown(err) {
		t.Error("a request that was not sent has a known outcome")
	}
}

func TestShortReplyIsAnErrorOfItsRequest(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	s.handle = func(r *incoming) { // a reply without its fields
		r.peer.sendAs(&interfaces.SwInterfaceSetFlagsReply{}, s.ids["show_version_reply_c919bde1"], r.context)
	}
	c := dial(t, s, Options{})
	err := c.Invoke(patient(t), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
	if !errors.Is(err, ErrProtocol) || !OutcomeUnknown(err) {
		t.Errorf("error %v, want ErrProtocol", err)
	}
	if err := c.Invoke(patient(t), &memclnt.ControlPing{}, &memclnt.ControlPingReply{}); err != nil {
		t.Errorf("connection after the short reply: %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	t.Run("no socket", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "none.sock")
		if _, err := Dial(patient(t), Options{Socket: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v does not name the socket", err)
		}
	})
	t.Run("silent server", func(t *testing.T) {
		t.Parallel()
		client, srv := net.Pipe()
		defer srv.Close()
		ctx, cancel := context.WithCancel(patient(t))
		go func() { _, _ = srv.Read(make([]byte, 1)); cancel() }()
		_, err := Dial(ctx, Options{Dial: func(context.Context, string) (net.Conn, error) { return client, nil }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	})
	t.Run("no control_ping", func(t *testing.T) {
		t.Parallel()
		s := newServer(nil, "control_ping")
		_, err := Dial(patient(t), Options{Socket: s.listen(t)})
		if !errors.Is(err, ErrUnknownMessage) {
			t.Errorf("error %v, want ErrUnknownMessage", err)
		}
	})
	t.Run("options", func(t *testing.T) {
		t.Parallel()
		for _, o := range []Options{{MaxRequests: -1}, {MaxRequests: maxSlots + 1}, {ClientName: strings.Repeat("x", 64)}, {ReplyTimeout: -1}, {MaxBytes: -1}} {
			if _, err := Dial(patient(t), o); err == nil {
				t.Errorf("%+v: no error", o)
			}
		}
	})
}
