package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

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
		a := newAgent(t, agent.StartTimeout(15*time.Second), agent.AllPlugins(deaf), option)
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
	for within, opts := range map[string][]agent.Option{
		"11s": {agent.StopTimeout(10 * time.Second)},
		"31s": {agent.StopTimeout(10 * time.Second), agent.Args("--stop-timeout", "30s")},
	} {
		synctest.Test(t, func(t *testing.T) { stopWithHanging(t, within, opts...) })
	}
	if err := newAgent(t, agent.Args("--stop-timeout", "-1s")).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "--stop-timeout: -1s: expected 0 or more") {
		t.Errorf("got %v", err)
	}
}

func stopWithHanging(t *testing.T, within string, opts ...agent.Option) {
	t.Helper()
	d := &diary{}
	wake := make(chan struct{})
	hangs := d.plugin("hangs", d.plugin("low"))
	hangs.close = func(*fake) error { <-wake; return nil }
	a := newAgent(t, append(opts, agent.AllPlugins(d.plugin("high", hangs)))...)
	infratest.Fatal(t, a.Start(t.Context()))
	err := a.Stop()
	if !errors.Is(err, agent.ErrTimeout) || !strings.Contains(err.Error(), "plugin hangs: Close: did not return within "+within) {
		t.Errorf("got %v", err)
	}
	d.expect(t, "init low", "init hangs", "init high", "after low", "after hangs", "after high", "close high", "close hangs", "close low")
	close(wake)
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
		infratest.Fatal(t, a.Start(t.Context()))
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
