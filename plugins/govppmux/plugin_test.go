package govppmux

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vpe"
	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient is a context whose deadline only a hanging test reaches.
func patient(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// socket is a path for the API socket of a test, short enough for the kernel.
func socket(tb testing.TB) string { return filepath.Join(tb.TempDir(), "api.sock") }

// simulator serves a simulated VPP on a socket.
func simulator(tb testing.TB, path string) *vppsim.VPP {
	tb.Helper()
	vpp := vppsim.New(vppsim.Options{})
	vppsim.Handle(vpp, func(_ *vppsim.Call, req *vlib.CliInband) *vlib.CliInbandReply {
		if strings.HasPrefix(req.Cmd, "l2fib del") { // as a real one
			return &vlib.CliInbandReply{Retval: int32(api.UNSPECIFIED), Reply: "l2fib del: bridge domain ID 1 invalid\n"}
		}
		return &vlib.CliInbandReply{Reply: req.Cmd + ": vpp v" + vppsim.DefaultVersion}
	})
	if err := vpp.ListenUnix(path); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = vpp.Close() })
	return vpp
}

// start runs the plugin in an agent against a socket.
func start(tb testing.TB, path string, change func(*Config)) *Plugin {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.BinAPISocketPath = path
	cfg.RetryConnectTimeout = 20 * time.Millisecond
	cfg.HealthCheckProbeInterval = 0
	cfg.ReplyTimeout = time.Minute // the machine may be busy
	if change != nil {
		change(&cfg)
	}
	p := NewPlugin(UseConf(cfg))
	agenttest.Start(tb, p)
	return p
}

// session waits for one that is up and newer than an epoch.
func session(tb testing.TB, p *Plugin, after uint64) Session {
	tb.Helper()
	s, err := p.WaitSession(patient(tb), after)
	if err != nil {
		tb.Fatalf("waiting for a session after epoch %d: %v; state %+v", after, err, s)
	}
	return s
}

// down waits until no session is up.
func down(tb testing.TB, p *Plugin) Session {
	tb.Helper()
	ctx := patient(tb)
	for {
		s, changed := p.state.get()
		if !s.Up {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			tb.Fatal("the session did not end")
		}
	}
}

func TestStartsWithoutVPPAndConnectsWhenItComes(t *testing.T) {
	t.Parallel()
	path := socket(t)
	p := start(t, path, nil)
	err := p.Conn().Call(patient(t), &vpe.ShowVersion{}, &vpe.ShowVersionReply{})
	if !errors.Is(err, binapi.ErrDisconnected) || !strings.HasPrefix(err.Error(), "show_version: ") {
		t.Fatalf("without VPP: error %v, want ErrDisconnected of show_version", err)
	}
	if binapi.OutcomeUnknown(err) {
		t.Error("a request without a connection has a known outcome")
	}
	vpp := simulator(t, path)
	s := session(t, p, 0)
	if s.Epoch != 1 || s.PID != vpp.PID() || !s.Simulated || s.Version.Version != vppsim.DefaultVersion || !s.Resync {
		t.Errorf("session %+v", s)
	}
	if err := p.Conn().Err(); err != nil {
		t.Errorf("Err while connected: %v", err)
	}
	out, err := p.RunCLI(patient(t), "show version")
	if err != nil || !strings.Contains(out, vppsim.DefaultVersion) {
		t.Errorf("show version: %q, %v", out, err)
	}
	if s := p.Stats(); s.Rejected != 1 || s.Requests < 3 {
		t.Errorf("stats %+v: want 1 rejected request, and at least 3 sent", s)
	}
}

func TestReconnectsInANewEpoch(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := simulator(t, path)
	p := start(t, path, func(c *Config) { c.ResyncAfterReconnect = false })
	first := session(t, p, 0)

	seen := make(chan Session, 100)
	cancel := p.OnSession(func(s Session) { seen <- s })
	vpp.Disconnect() // the same VPP
	second := session(t, p, 1)
	if second.Epoch != 2 || second.PID != first.PID || second.Resync || second.Conn == first.Conn {
		t.Errorf("after a broken socket: %+v", second)
	}
	if err := vpp.Restart(); err != nil {
		t.Fatal(err)
	}
	third := session(t, p, 2)
	if third.PID == first.PID || !third.Resync {
		t.Errorf("after a restart: %+v", third)
	}
	if err := first.Conn.Err(); !errors.Is(err, binapi.ErrDisconnected) {
		t.Errorf("connection of the first session: %v", err)
	}
	cancel()
	close(seen)
	var up []uint64
	wasUp := false
	for s := range seen {
		if s.Up && wasUp {
			t.Errorf("epoch %d came up without the one before going down", s.Epoch)
		}
		if s.Up {
			up = append(up, s.Epoch)
		} else if s.Err == nil {
			t.Error("down without a reason")
		}
		wasUp = s.Up
	}
	if len(up) < 2 || up[0] != 1 {
		t.Errorf("epochs seen %v: want the one that was up first", up)
	}
}

func TestEventsGoOnInTheNextSession(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := simulator(t, path)
	p := start(t, path, nil)
	lost := make(chan uint64, 10)
	w, err := p.Subscribe(patient(t), Subscription{
		Event:     &interfaces.SwInterfaceEvent{},
		Want:      &interfaces.WantInterfaceEvents{EnableDisable: 1},
		WantReply: &interfaces.WantInterfaceEventsReply{},
		OnLost:    func(s Session) { lost <- s.Epoch },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	provoke := func(after uint64) {
		t.Helper()
		s := session(t, p, after)
		waitForCount(t, vpp, "want_interface_events")
		reply := &interfaces.CreateLoopbackReply{}
		if err := s.Conn.Call(patient(t), &interfaces.CreateLoopback{}, reply); err != nil {
			t.Fatal(err)
		}
		up := &interfaces.SwInterfaceSetFlags{SwIfIndex: reply.SwIfIndex, Flags: interface_types.IF_STATUS_API_FLAG_ADMIN_UP}
		if err := s.Conn.Call(patient(t), up, &interfaces.SwInterfaceSetFlagsReply{}); err != nil {
			t.Fatal(err)
		}
		select {
		case event := <-w.Events():
			if e, ok := event.(*interfaces.SwInterfaceEvent); !ok || e.SwIfIndex != reply.SwIfIndex {
				t.Errorf("event %+v, want interface %d", event, reply.SwIfIndex)
			}
		case <-patient(t).Done():
			t.Fatal("no event")
		}
	}
	provoke(0)
	if err := vpp.Restart(); err != nil {
		t.Fatal(err)
	}
	provoke(1)
	if epoch := <-lost; epoch != 2 {
		t.Errorf("OnLost for epoch %d, want 2", epoch)
	}
}

// waitForCount polls the simulator, whose counters have no signal, until a
// request has come since it was started.
func waitForCount(tb testing.TB, vpp *vppsim.VPP, message string) {
	tb.Helper()
	ctx := patient(tb)
	for vpp.Count(message) == 0 {
		if !sleep(ctx, time.Millisecond) {
			tb.Fatalf("no %s came", message)
		}
	}
}

func TestHangingVPPIsNoticed(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := simulator(t, path)
	p := start(t, path, func(c *Config) {
		c.HealthCheckProbeInterval, c.HealthCheckReplyTimeout, c.HealthCheckThreshold = 2*time.Millisecond, 200*time.Millisecond, 3
	})
	session(t, p, 0)
	vpp.Hang()
	s := down(t, p)
	if !errors.Is(s.Err, binapi.ErrDisconnected) || !strings.Contains(s.Err.Error(), "failed checks in a row: 3") {
		t.Errorf("reason %v", s.Err)
	}
	vpp.Resume()
	session(t, p, 1)
}

// One lost reply does not change the health of the plugin, which decides about the readiness of the
// agent; two in a row do.
func TestLostPing(t *testing.T) {
	t.Parallel()
	patience := patient(t)
	for lost, degraded := range map[int]bool{1: false, 3: true} {
		path := socket(t)
		vpp := simulator(t, path)
		cfg := DefaultConfig()
		cfg.BinAPISocketPath = path
		cfg.HealthCheckProbeInterval, cfg.HealthCheckReplyTimeout, cfg.HealthCheckThreshold = time.Millisecond, 100*time.Millisecond, 1000
		cfg.ReplyTimeout = time.Minute
		tree := health.NewTree(nil)
		p := NewPlugin(UseConf(cfg), UseDeps(func(d *Deps) { d.Health = tree.Plugin("govpp") }))
		agenttest.Start(t, p)
		session(t, p, 0)
		before, pings := tree.Snapshot().Plugins[0].LastChange, vpp.Counts()["control_ping"]
		infratest.Fatal(t, vpp.Drop("control_ping", lost))
		for tick := time.Tick(time.Millisecond); vpp.Counts()["control_ping"] < pings+uint64(lost)+3; <-tick {
			infratest.Fatal(t, patience.Err())
		}
		if got := !tree.Snapshot().Plugins[0].LastChange.Equal(before); got != degraded {
			t.Errorf("%d lost replies: the health has changed: %v, want %v", lost, got, degraded)
		}
	}
}

// TestSilentVPPEndsTheSession: requests without a reply fail together with the session.
// The next session begins after VPP has executed what it was sent, and requires a
// resync even if the configuration switches that off.
func TestSilentVPPEndsTheSession(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := simulator(t, path)
	p := start(t, path, func(c *Config) { c.ReplyTimeout, c.ResyncAfterReconnect = 50*time.Millisecond, false })
	first := session(t, p, 0)
	vpp.Hang()
	const sent = 100
	var futures []binapi.Future
	for range sent {
		futures = append(futures, first.Conn.Send(patient(t), &vpe.ShowVersion{}, &vpe.ShowVersionReply{}))
	}
	err := first.Conn.Call(context.Background(), &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{})
	if !errors.Is(err, binapi.ErrReplyTimeout) || !binapi.OutcomeUnknown(err) {
		t.Errorf("request to a VPP that does not answer: %v", err)
	}
	for _, f := range futures {
		if err := f.Wait(); !errors.Is(err, binapi.ErrDisconnected) {
			t.Errorf("another request: %v", err)
		}
	}
	if s := down(t, p); !errors.Is(s.Err, binapi.ErrReplyTimeout) {
		t.Errorf("reason %v", s.Err)
	}
	vpp.Resume()
	if s := session(t, p, 1); !s.Resync || s.PID != first.PID {
		t.Errorf("session after VPP answered again: %+v", s)
	}
	if n := vpp.Count("create_loopback"); n != 1 {
		t.Errorf("%d loopbacks were created before the next session", n)
	}
}

// TestBusyVPPKeepsItsSession: what takes longer than the limit of a check, but
// shorter than all of them, is no reason to connect again.
func TestBusyVPPKeepsItsSession(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := simulator(t, path)
	p := start(t, path, func(c *Config) {
		c.HealthCheckProbeInterval, c.HealthCheckReplyTimeout, c.HealthCheckThreshold = time.Millisecond, time.Millisecond, 1000
		c.ReplyTimeout = time.Minute
	})
	s := session(t, p, 0)
	if err := vpp.Delay("cli_inband", 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RunCLI(patient(t), "show version"); err != nil {
		t.Errorf("slow command: %v", err)
	}
	if now := p.Session(); !now.Up || now.Epoch != s.Epoch {
		t.Errorf("session after the slow command: %+v", now)
	}
}

func TestConnectionCarriesEveryKindOfRequest(t *testing.T) {
	t.Parallel()
	path := socket(t)
	simulator(t, path)
	p := start(t, path, nil)
	session(t, p, 0)
	ctx, conn := patient(t), p.Conn()
	if _, err := interfaces.NewServiceClient(conn).CreateLoopback(ctx, &interfaces.CreateLoopback{}); err != nil {
		t.Errorf("generated client: %v", err)
	}
	all, err := binapi.Dump[*interfaces.SwInterfaceDetails](ctx, conn, &interfaces.SwInterfaceDump{})
	if err != nil || len(all) != 2 { // local0 and the loopback
		t.Errorf("dump: %d interfaces, %v", len(all), err)
	}
	if err := conn.Send(ctx, &vpe.ShowVersion{}, &vpe.ShowVersionReply{}).Result(); err != nil {
		t.Errorf("Send: %v", err)
	}
	if !conn.Has(&vlib.CliInband{}) {
		t.Error("Has(cli_inband) is false")
	}
	stream, err := conn.NewStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.SendMsg(&memclnt.ControlPing{}), stream.Close()); err != nil {
		t.Errorf("stream: %v", err)
	}
}

var _ api.Connection = (*Connection)(nil)

// TestRealVPPIsKilledAndComesBack, with another process ID.
func TestRealVPPIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	vpp := realvpptest.Start(t)
	p := start(t, vpp.Socket, nil)
	first := session(t, p, 0)
	if first.Simulated || int(first.PID) != vpp.PID() {
		t.Errorf("session %+v, want a real VPP with pid %d", first, vpp.PID())
	}
	vpp.Kill()
	down(t, p)
	vpp.Run()
	if second := session(t, p, first.Epoch); second.PID == first.PID || !second.Resync {
		t.Errorf("session after the restart: %+v", second)
	}
	if out, err := p.RunCLI(patient(t), "show version"); err != nil || !strings.HasPrefix(out, "vpp v") {
		t.Errorf("show version: %q, %v", out, err)
	}
}
