package controller_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func open(t *testing.T, addr string) store.Store {
	t.Helper()
	cfg := etcd.DefaultConfig()
	cfg.Endpoints = []string{addr}
	db, closeDB, err := etcd.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeDB() })
	return store.New(db, "test")
}

// create creates a rollout. No agent runs, so that it fails when its deadline passes.
func create(t *testing.T, s store.Store, name string, deadline time.Duration) {
	t.Helper()
	err := s.CreateRollout(t.Context(), rollout.Rollout{
		Metadata: fleet.Metadata{Name: name},
		Spec:     rollout.Spec{Revision: 1, Waves: [][]string{{"a"}}, ConfirmTimeout: time.Minute, Deadline: deadline},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A controller ends with its rollout, or with its context. It continues when etcd was away for a while.
func TestRun(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	s := open(t, server.Addr)
	c := controller.Controller{Store: s, Name: "me"}
	if _, err := c.Run(t.Context(), "none", func(controller.View) {}, func(error) {}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error without a rollout: %v", err)
	}

	create(t, s, "short", time.Millisecond)
	view, err := c.Run(t.Context(), "short", func(controller.View) {}, func(err error) { t.Error(err) })
	if status := view.Rollout.Rollout.Status; err != nil || status.Phase != rollout.PhaseFailed || status.Reason != "no agent planned the revision: a does not run" {
		t.Errorf("status %+v, error %v", status, err)
	}

	create(t, s, "long", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1000)
	restarted := false
	_, err = c.Run(ctx, "long", func(v controller.View) {
		switch {
		case restarted:
			cancel()
		case v.Rollout.Rollout.Status.Phase == rollout.PhasePlanning:
			restarted = true
			server.Restart(t)
		}
	}, func(err error) { failed <- err })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error of a canceled run: %v", err)
	}
}

// Of two controllers one executes the rollout. The other one follows it, and takes over when the first one ends or is cut
// off; then the first one follows.
func TestTwoControllers(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	proxy := kvtest.NewProxy(t, server.Direct)
	s := open(t, server.Addr)
	create(t, s, "long", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	follows := make(chan [2]string, 100)
	begin := func(name, addr string) {
		c := controller.Controller{Store: open(t, addr), Name: name, Follows: func(other store.Controller) {
			if other.PID == 0 || other.Since.IsZero() {
				t.Errorf("%s follows %+v", name, other)
			}
			follows <- [2]string{name, other.Name}
		}}
		group.Go(func() { _, _ = c.Run(ctx, "long", func(controller.View) {}, func(error) {}) })
	}
	leader := func(want string) {
		t.Helper()
		for {
			c, _, err := s.Leader(t.Context(), "long")
			if c.Name == want {
				return
			}
			if t.Context().Err() != nil {
				t.Fatalf("%q leads, expected %q (%v)", c.Name, want, err)
			}
			runtime.Gosched()
		}
	}
	begin("first", proxy.Addr)
	leader("first")
	begin("second", server.Addr)
	if got := <-follows; got != [2]string{"second", "first"} {
		t.Errorf("%s follows %s", got[0], got[1])
	}
	heal := proxy.Partition()
	leader("second")
	heal()
	if got := <-follows; got != [2]string{"first", "second"} {
		t.Errorf("%s follows %s", got[0], got[1])
	}
	create(t, s, "other", time.Millisecond)
	view, err := controller.Controller{Store: s, Name: "third"}.Run(t.Context(), "other", func(controller.View) {}, func(err error) { t.Error(err) })
	if err != nil || view.Rollout.Rollout.Status.Phase != rollout.PhaseFailed {
		t.Errorf("another rollout: %+v, %v", view.Rollout.Rollout.Status, err)
	}
	cancel()
	group.Wait()
	if c, ok, err := s.Leader(t.Context(), "long"); ok || err != nil {
		t.Errorf("%s leads after its end (%v)", c, err)
	}
}
