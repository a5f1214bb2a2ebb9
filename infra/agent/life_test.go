package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestStartAndStopInOrder(t *testing.T) {
	t.Parallel()
	d := &diary{}
	low := d.plugin("low")
	a := newAgent(t, agent.AllPlugins(d.plugin("high", low)))
	if err := a.Stop(); !errors.Is(err, agent.ErrNotStarted) {
		t.Errorf("stop before start: %v", err)
	}
	if err := a.Wait(); !errors.Is(err, agent.ErrNotStarted) {
		t.Errorf("wait before start: %v", err)
	}
	infratest.Fatal(t, a.Start(t.Context()))
	if err := a.Start(t.Context()); !errors.Is(err, agent.ErrStartedTwice) {
		t.Errorf("second start: %v", err)
	}
	for range 2 {
		if err := a.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	<-a.After()
	d.expect(t, "init low", "init high", "after low", "after high", "close high", "close low")
}

func TestAnEmptyAgentRuns(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	if err := a.Start(t.Context()); err != nil {
		t.Error(err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}

func TestFailedStartRollsBack(t *testing.T) {
	t.Parallel()
	broken, leaky := errors.New("broken"), errors.New("leaky")
	for phase, want := range map[agent.Phase][]string{
		agent.InitPhase:      {"init low", "init mid", "init high", "close mid", "close low"},
		agent.AfterInitPhase: {"init low", "init mid", "init high", "after low", "after mid", "after high", "close high", "close mid", "close low"},
	} {
		d := &diary{}
		low := d.plugin("low")
		low.close = func(*fake) error { return leaky }
		high := d.plugin("high", d.plugin("mid", low))
		hook := func(*fake) error { return broken }
		if phase == agent.InitPhase {
			high.init = hook
		} else {
			high.after = hook
		}
		a := newAgent(t, agent.AllPlugins(high))
		err := a.Start(t.Context())
		var pe *agent.PluginError
		if !errors.As(err, &pe) || pe.Plugin != "high" || pe.Phase != phase {
			t.Errorf("%s: the error names %+v: %v", phase, pe, err)
		}
		if !errors.Is(err, broken) || !errors.Is(err, leaky) {
			t.Errorf("%s: lost a cause: %v", phase, err)
		}
		if waited := a.Wait(); !errors.Is(waited, broken) {
			t.Errorf("%s: wait after a failed start: %v", phase, waited)
		}
		d.expect(t, want...)
	}
}

func TestEveryCloseRunsAndErrorsAreJoined(t *testing.T) {
	t.Parallel()
	d := &diary{}
	first, second := errors.New("first"), errors.New("second")
	low := d.plugin("low")
	low.close = func(*fake) error { return first }
	mid := d.plugin("mid", low)
	mid.close = func(*fake) error { panic(second) }
	a := newAgent(t, agent.AllPlugins(d.plugin("high", mid)))
	infratest.Fatal(t, a.Start(t.Context()))
	err := a.Stop()
	if !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("got %v", err)
	}
	d.expect(t, "init low", "init mid", "init high", "after low", "after mid", "after high", "close high", "close mid", "close low")
}

func TestPanicIsTheErrorOfItsPlugin(t *testing.T) {
	t.Parallel()
	d := &diary{}
	p := d.plugin("p")
	p.init = func(*fake) error { panic("at the disco") }
	option, events := listen()
	err := newAgent(t, agent.AllPlugins(p), option).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "plugin p: Init: panic: at the disco") {
		t.Errorf("got %v", err)
	}
	for _, e := range events() {
		if f, ok := e.(agent.PluginFailed); ok && strings.Contains(f.Stack, "TestPanicIsTheErrorOfItsPlugin") {
			return
		}
	}
	t.Errorf("no event has the stack of the panic: %v", events())
}

func TestGoroutinesEndBeforeClose(t *testing.T) {
	t.Parallel()
	d := &diary{}
	p := d.plugin("p")
	p.init = func(f *fake) error {
		f.Go(func(ctx context.Context) {
			<-ctx.Done()
			d.note("goroutine ended")
		})
		return nil
	}
	dependent := d.plugin("dependent", p)
	dependent.close = func(*fake) error {
		if p.Context().Err() != nil {
			t.Error("the context of a dependency ended before the close of its dependent")
		}
		return nil
	}
	a := newAgent(t, agent.AllPlugins(dependent))
	infratest.Fatal(t, a.Start(t.Context()))
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	d.expect(t, "init p", "init dependent", "after p", "after dependent", "close dependent", "goroutine ended", "close p")
}

func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		option, events := listen()
		high := d.plugin("high", d.plugin("low"))
		high.init = func(*fake) error { time.Sleep(time.Second); return nil } // of the test's clock
		a := newAgent(t, agent.Version("v1", "", ""), agent.AllPlugins(high), option)
		infratest.Fatal(t, a.Start(t.Context()))
		infratest.Fatal(t, a.Stop())
		want := []agent.Event{
			agent.Starting{App: "test", Version: "v1", Plugins: []string{"low", "high"}},
			agent.PluginInitialised{Name: "low"},
			agent.PluginInitialised{Name: "high", Took: time.Second},
			agent.PluginStarted{Name: "low"},
			agent.PluginStarted{Name: "high"},
			agent.Started{Plugins: 2, Took: time.Second},
			agent.Stopping{Cause: "Stop was called"},
			agent.PluginClosed{Name: "high"},
			agent.PluginClosed{Name: "low"},
			agent.Stopped{},
		}
		compareEvents(t, events(), want)
	})
}

func compareEvents(t *testing.T, got, want []agent.Event) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("event %d is missing: %+v", i, want[i])
		case i >= len(want):
			t.Errorf("event %d is too many: %+v", i, got[i])
		default:
			if g, w := describe(got[i]), describe(want[i]); g != w {
				t.Errorf("event %d\n got %s\nwant %s", i, g, w)
			}
		}
	}
}

// database is a plugin that its configuration may disable.
type database struct {
	infra.PluginDeps
	disabled bool
}

func (s *database) Init() error    { return nil }
func (s *database) Disabled() bool { return s.disabled }

func TestDisabledPluginIsNotOK(t *testing.T) {
	t.Parallel()
	off, on, looks := &database{disabled: true}, &database{}, &looker{}
	off.SetName("off")
	on.SetName("on")
	looks.SetName("z")
	agenttest.Start(t, off, on, looks)
	s := looks.host.Health().Snapshot()
	if s.State != health.OK || s.Plugins[0].State != health.Disabled || s.Plugins[1].State != health.OK {
		t.Errorf("got %+v", s)
	}
}

// looker is a plugin that has the host of its agent.
type looker struct {
	infra.PluginDeps
	host infra.Host
}

func (l *looker) Init() error          { return nil }
func (l *looker) SetHost(h infra.Host) { l.host = h }
