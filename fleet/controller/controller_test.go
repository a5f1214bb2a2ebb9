package controller_test

import (
	"context"
	"errors"
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

// A controller ends with its rollout, or with its context. It continues when etcd was away for a while.
func TestRun(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	cfg := etcd.DefaultConfig()
	cfg.Endpoints = []string{server.Addr}
	db, closeDB, err := etcd.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeDB() }()
	s := store.New(db, "test")
	c := controller.Controller{Store: s, Name: "me"}
	if _, err := c.Run(t.Context(), "none", func(controller.View) {}, func(error) {}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error without a rollout: %v", err)
	}

	// No agent runs, so that the rollout fails when its deadline passes.
	create := func(name string, deadline time.Duration) {
		t.Helper()
		err := s.CreateRollout(t.Context(), rollout.Rollout{
			Metadata: fleet.Metadata{Name: name},
			Spec:     rollout.Spec{Revision: 1, Waves: [][]string{{"a"}}, ConfirmTimeout: time.Minute, Deadline: deadline},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	create("short", time.Millisecond)
	view, err := c.Run(t.Context(), "short", func(controller.View) {}, func(err error) { t.Error(err) })
	if status := view.Rollout.Rollout.Status; err != nil || status.Phase != rollout.PhaseFailed || status.Reason != "no agent planned the revision: a does not run" {
		t.Errorf("status %+v, error %v", status, err)
	}

	create("long", time.Hour)
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
