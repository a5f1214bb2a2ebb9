package infra_test

import (
	"context"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runtime(t *testing.T) infra.Runtime {
	return infra.Runtime{
		Context: t.Context(), Log: logging.Nop(), Config: config.Text("p", ""), Health: health.NewTree(nil).Plugin("p"),
	}
}

func TestAttachReplacesWhatSetupFilledIn(t *testing.T) {
	t.Parallel()
	var d infra.PluginDeps
	d.SetName("p")
	d.Setup()
	if d.Log == nil || d.Cfg == nil || d.Health == nil {
		t.Fatal("Setup left something nil")
	}
	rt := runtime(t)
	d.Attach(rt)
	if d.Log != rt.Log || d.Cfg != rt.Config || d.Health != rt.Health {
		t.Error("Attach kept a stand-in")
	}
	own := config.Text("own", "")
	e := infra.PluginDeps{Cfg: own}
	e.Setup()
	e.Attach(rt)
	if e.Cfg != own {
		t.Error("Attach replaced what was given")
	}
}

func TestGoroutinesOfAPlugin(t *testing.T) {
	t.Parallel()
	var d infra.PluginDeps
	d.Attach(runtime(t))
	var running atomic.Int32
	for range 10 {
		running.Add(1)
		d.Go(func(ctx context.Context) {
			<-ctx.Done()
			d.Go(func(ctx context.Context) { // one more on the way out
				defer running.Add(-1)
				if ctx.Err() == nil {
					t.Error("the context lives after the stop")
				}
			})
		})
	}
	for range 2 {
		d.StopGoroutines()
		if n := running.Load(); n != 0 {
			t.Errorf("%d goroutines outlive StopGoroutines", n)
		}
	}
	if d.Context().Err() == nil {
		t.Error("the context lives after the stop")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	d.Attach(runtime(t)) // a second life
	if d.Context().Err() != nil {
		t.Error("the second life has an ended context")
	}
	d.StopGoroutines()
}

func TestWithoutAnAgent(t *testing.T) {
	t.Parallel()
	var d infra.PluginDeps
	done := make(chan struct{})
	d.Go(func(ctx context.Context) { <-ctx.Done(); close(done) })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	<-done
}
