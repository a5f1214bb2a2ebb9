package agent_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

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
		infratest.Fatal(t, a.Start(t.Context()))
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

// TestQuitChannelDuringStart: work that is done before the start has ended is no failure
// of the start.
func TestQuitChannelDuringStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, quit := &diary{}, make(chan struct{})
		low := d.plugin("low")
		low.init = func(*fake) error {
			close(quit)
			synctest.Wait() // until the agent has seen it
			return nil
		}
		a := newAgent(t, agent.QuitSignals(), agent.QuitOnClose(quit), agent.AllPlugins(d.plugin("high", low)))
		infratest.Fatal(t, a.Start(t.Context()))
		if err := a.Wait(); err != nil {
			t.Error(err)
		}
		d.expect(t, "init low", "init high", "after low", "after high", "close high", "close low")
	})
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
	infratest.Fatal(t, a.Start(ctx))
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
	infratest.Fatal(t, a.Start(t.Context()))
	raise(t, syscall.SIGWINCH)()
	for line := range log {
		if strings.Contains(line, "already stopping") {
			if !strings.Contains(line, `"waiting-for": "Close of plugin p"`) {
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
