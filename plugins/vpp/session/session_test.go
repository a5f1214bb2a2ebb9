package session_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect returns a session with a simulator that has forgotten messages.
func connect(t *testing.T, epoch uint64, forgotten ...string) session.Session {
	t.Helper()
	sim, socket := vppsim.New(vppsim.Options{}), filepath.Join(t.TempDir(), "api.sock")
	for _, name := range forgotten {
		if err := sim.Forget(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := sim.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	conn, err := binapi.Dial(t.Context(), binapi.Options{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = sim.Close()
	})
	return session.Session{Epoch: epoch, Client: conn}
}

func TestWithoutSession(t *testing.T) {
	t.Parallel()
	var h session.Holder
	reason := errors.New("socket does not exist")
	for _, set := range []func(){func() {}, func() { h.Clear(reason) }} {
		set()
		v := session.New(&h)
		err := v.Call(t.Context(), &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{})
		if !errors.Is(err, binapi.ErrDisconnected) || !errors.Is(err, kvs.ErrUnreached) {
			t.Errorf("call: %v", err)
		}
		loop, reply := &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{}
		for _, err := range v.CallAll(t.Context(), []api.Message{loop, loop}, []api.Message{reply, reply}) {
			if !errors.Is(err, kvs.ErrUnreached) {
				t.Errorf("call of several: %v", err)
			}
		}
		if _, err := session.Dump[*interfaces.SwInterfaceDetails](t.Context(), v, &interfaces.SwInterfaceDump{}); !errors.Is(err, binapi.ErrDisconnected) {
			t.Errorf("dump: %v", err)
		}
		if err := session.Each(t.Context(), v, &interfaces.SwInterfaceDump{}, func(*interfaces.SwInterfaceDetails) {}); !errors.Is(err, binapi.ErrDisconnected) {
			t.Errorf("records: %v", err)
		}
		if v.Has(&interfaces.CreateLoopback{}) {
			t.Error("knows a message of no VPP")
		}
	}
	if _, err := h.Session(); !errors.Is(err, reason) {
		t.Errorf("the reason is lost: %v", err)
	}
}

func TestCallAndDump(t *testing.T) {
	t.Parallel()
	var h session.Holder
	h.Set(connect(t, 1))
	v := session.New(&h)
	if err := v.Call(t.Context(), &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{}); err != nil {
		t.Fatal(err)
	}
	all, err := session.Dump[*interfaces.SwInterfaceDetails](t.Context(), v, &interfaces.SwInterfaceDump{SwIfIndex: ^interfaces.SwInterfaceDump{}.SwIfIndex})
	if err != nil || len(all) != 2 {
		t.Errorf("%d interfaces, %v", len(all), err)
	}
	err = session.Each(t.Context(), v, &interfaces.SwInterfaceDump{SwIfIndex: ^interfaces.SwInterfaceDump{}.SwIfIndex}, func(d *interfaces.SwInterfaceDetails) {
		if len(all) == 0 || !reflect.DeepEqual(d, all[0]) {
			t.Errorf("one more or another: %+v", d)
			return
		}
		all = all[1:]
	})
	if err != nil || len(all) != 0 {
		t.Errorf("one by one, %d are missing: %v", len(all), err)
	}
	err = v.Call(t.Context(), &interfaces.DeleteLoopback{SwIfIndex: 77}, &interfaces.DeleteLoopbackReply{})
	if !errors.Is(err, api.INVALID_SW_IF_INDEX) || !session.Gone(err) || session.Gone(nil) || session.Gone(errors.New("other")) {
		t.Errorf("refusal: %v", err)
	}
}

// What was sent may be what VPP died of, what came after its end is not.
func TestUnreached(t *testing.T) {
	t.Parallel()
	sim, socket := vppsim.New(vppsim.Options{}), filepath.Join(t.TempDir(), "api.sock")
	if err := errors.Join(sim.ListenUnix(socket), sim.Mute("create_loopback", 1)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	conn, err := binapi.Dial(t.Context(), binapi.Options{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var h session.Holder
	h.Set(session.Session{Epoch: 1, Client: conn})
	v := session.New(&h)
	sent := make(chan error)
	go func() { sent <- v.Call(t.Context(), &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{}) }()
	for sim.Count("create_loopback") == 0 {
		runtime.Gosched()
	}
	if err := sim.Die(); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; !errors.Is(err, binapi.ErrDisconnected) || errors.Is(err, kvs.ErrUnreached) {
		t.Errorf("sent before: %v", err)
	}
	_, dumped := session.Dump[*interfaces.SwInterfaceDetails](t.Context(), v, &interfaces.SwInterfaceDump{})
	called := v.Call(t.Context(), &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{})
	for _, err := range []error{dumped, called} {
		if !errors.Is(err, binapi.ErrDisconnected) || !errors.Is(err, kvs.ErrUnreached) {
			t.Errorf("asked later: %v", err)
		}
	}
}

func TestContextEndsCalls(t *testing.T) {
	t.Parallel()
	var h session.Holder
	h.Set(connect(t, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := session.New(&h).Call(ctx, &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("call: %v", err)
	}
}
