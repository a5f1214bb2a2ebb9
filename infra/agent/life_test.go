package agent_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/logging"
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
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	d.expect(t, "init p", "init dependent", "after p", "after dependent", "close dependent", "goroutine ended", "close p")
}

func TestWhatStopsAnAgent(t *testing.T) {
	t.Parallel()
	quit := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	for name, test := range map[string]struct {
		option  agent.Option
		trigger func()
		cause   string
	}{
		"context": {agent.Context(ctx), cancel, "the context ended: context canceled"},
		"channel": {agent.QuitOnClose(quit), func() { close(quit) }, "the quit channel was closed"},
		"signal":  {agent.QuitSignals(syscall.SIGUSR1), raise(t, syscall.SIGUSR1), "signal user defined signal 1"},
	} {
		option, events := listen()
		d := &diary{}
		a := newAgent(t, test.option, option, agent.AllPlugins(d.plugin("p")))
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		test.trigger()
		if err := a.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.expect(t, "init p", "after p", "close p")
		found := false
		for _, e := range events() {
			if s, ok := e.(agent.Stopping); ok {
				found = s.Cause == test.cause
			}
		}
		if !found {
			t.Errorf("%s: no event Stopping with cause %q: %v", name, test.cause, events())
		}
	}
}

func raise(t *testing.T, s syscall.Signal) func() {
	return func() {
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Error(err)
		}
	}
}

func TestSignalDuringStartRollsBack(t *testing.T) {
	t.Parallel()
	d := &diary{}
	low := d.plugin("low")
	low.init = func(f *fake) error {
		raise(t, syscall.SIGUSR2)()
		<-f.Context().Done() // a start that hangs, but listens
		return nil
	}
	a := newAgent(t, agent.QuitSignals(syscall.SIGUSR2), agent.AllPlugins(d.plugin("high", low)))
	err := a.Start(t.Context())
	if !errors.Is(err, agent.ErrInterrupted) || !strings.Contains(err.Error(), "plugin low: Init: interrupted: signal user defined signal 2") {
		t.Errorf("got %v", err)
	}
	d.expect(t, "init low", "close low")
}

func TestContextOfStartBoundsTheStartOnly(t *testing.T) {
	t.Parallel()
	d := &diary{}
	ctx, cancel := context.WithCancel(t.Context())
	a := newAgent(t, agent.AllPlugins(d.plugin("p")))
	if err := a.Start(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-a.After():
		t.Error("the agent stopped")
	default:
	}
	cancelled := newAgent(t, agent.AllPlugins(d.plugin("q")))
	if err := cancelled.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("start with an ended context: %v", err)
	}
}

func TestStartTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		polite := d.plugin("slow", d.plugin("low"))
		polite.init = func(f *fake) error {
			<-f.Context().Done()
			return f.Context().Err()
		}
		a := newAgent(t, agent.StartTimeout(time.Minute), agent.AllPlugins(polite))
		begin := time.Now()
		err := a.Start(t.Context())
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("took %v", took)
		}
		if !errors.Is(err, agent.ErrTimeout) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "plugin slow: Init:") {
			t.Errorf("got %v", err)
		}
		d.expect(t, "init low", "init slow", "close low")
	})
}

func TestStartTimeoutLeavesADeafPluginBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		deaf := d.plugin("deaf", d.plugin("low"))
		wake := make(chan struct{})
		deaf.init = func(*fake) error { <-wake; return nil }
		option, events := listen()
		a := newAgent(t, agent.AllPlugins(deaf), option)
		err := a.Start(t.Context())
		if !errors.Is(err, agent.ErrTimeout) || !strings.Contains(err.Error(), "plugin deaf: Init: did not return within 16s") {
			t.Errorf("got %v", err)
		}
		d.expect(t, "init low", "init deaf", "close low")
		close(wake) // Init returns after all, so Close is due
		synctest.Wait()
		d.expect(t, "init low", "init deaf", "close low", "close deaf")
		slow, stack := false, ""
		for _, e := range events() {
			switch e := e.(type) {
			case agent.PluginSlow:
				slow = e == agent.PluginSlow{Name: "deaf", Phase: agent.InitPhase, After: 2 * time.Second}
			case agent.PluginFailed:
				stack = e.Stack
			}
		}
		if !slow || !strings.Contains(stack, "TestStartTimeoutLeavesADeafPluginBehind") {
			t.Errorf("slow %v, stack of the plugin %q", slow, stack)
		}
	})
}

func TestStopTimeoutClosesTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		wake := make(chan struct{})
		hangs := d.plugin("hangs", d.plugin("low"))
		hangs.close = func(*fake) error { <-wake; return nil }
		a := newAgent(t, agent.StopTimeout(10*time.Second), agent.AllPlugins(d.plugin("high", hangs)))
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := a.Stop()
		if !errors.Is(err, agent.ErrTimeout) || !strings.Contains(err.Error(), "plugin hangs: Close: did not return within 11s") {
			t.Errorf("got %v", err)
		}
		d.expect(t, "init low", "init hangs", "init high", "after low", "after hangs", "after high", "close high", "close hangs", "close low")
		close(wake)
	})
}

// lines is a writer that hands on every line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestFurtherSignalsSayWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	d := &diary{}
	p := d.plugin("p")
	wake := make(chan struct{})
	p.close = func(*fake) error {
		raise(t, syscall.SIGWINCH)()
		<-wake
		return nil
	}
	log := make(lines, 100)
	a := newAgent(t, agent.QuitSignals(syscall.SIGWINCH), agent.AllPlugins(p), agent.Logging(logging.NewRegistry(logging.WithWriter(log))))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	raise(t, syscall.SIGWINCH)()
	for line := range log {
		if strings.Contains(line, "already stopping") {
			if !strings.Contains(line, `waiting-for="Close of plugin p"`) {
				t.Errorf("got %s", line)
			}
			break
		}
	}
	close(wake)
	if err := a.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAGoroutineThatDoesNotEndIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		wake := make(chan struct{})
		p := d.plugin("p")
		p.init = func(f *fake) error {
			f.Go(func(context.Context) { deaf(wake) })
			return nil
		}
		option, events := listen()
		a := newAgent(t, option, agent.AllPlugins(p))
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(); !errors.Is(err, agent.ErrTimeout) {
			t.Errorf("got %v", err)
		}
		for _, e := range events() {
			if f, ok := e.(agent.PluginFailed); ok && (!strings.Contains(f.Stack, "StopGoroutines") || !strings.Contains(f.Stack, "agent_test.deaf")) {
				t.Errorf("the stacks do not show who hangs:\n%s", f.Stack)
			}
		}
		close(wake)
	})
}

func deaf(wake chan struct{}) { <-wake }

func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		option, events := listen()
		high := d.plugin("high", d.plugin("low"))
		high.init = func(*fake) error { time.Sleep(time.Second); return nil } // of the test's clock
		a := newAgent(t, agent.Version("v1", "", ""), agent.AllPlugins(high), option)
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
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

func TestRunReturnsWhenToldToStop(t *testing.T) {
	t.Parallel()
	d := &diary{}
	quit := make(chan struct{})
	p := d.plugin("p")
	p.after = func(f *fake) error {
		f.Go(func(ctx context.Context) { close(quit) }) // work that is done ends the program
		return nil
	}
	if err := newAgent(t, agent.QuitOnClose(quit), agent.AllPlugins(p)).Run(); err != nil && !errors.Is(err, agent.ErrInterrupted) {
		t.Error(err)
	}
	d.expect(t, "init p", "after p", "close p")
}
