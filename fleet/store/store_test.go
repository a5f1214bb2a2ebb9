package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func open(t *testing.T) store.Store {
	t.Helper()
	cfg := etcd.DefaultConfig()
	cfg.Endpoints = []string{kvtest.Etcd(t).Addr}
	db, closeDB, err := etcd.Open(cfg)
	must(t, err)
	t.Cleanup(func() { _ = closeDB() })
	return store.New(db, "test")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := open(t)
	t.Run("a wave has one decision", func(t *testing.T) { oneDecision(t, s) })
	t.Run("a write needs what was read", func(t *testing.T) { conditionalWrites(t, s) })
	t.Run("revisions have increasing numbers", func(t *testing.T) { revisions(t, s) })
	t.Run("an agent is watched", func(t *testing.T) { watch(t, s) })
	t.Run("agents are edited at once", func(t *testing.T) { edits(t, s) })
}

func oneDecision(t *testing.T, s store.Store) {
	var group sync.WaitGroup
	var mu sync.Mutex
	seen := map[rollout.WaveDecision]int{}
	const n = 16
	for i := range n {
		group.Go(func() {
			d := rollout.WaveDecision{Decision: rollout.Commit, By: fmt.Sprint(i)}
			if i%2 == 0 {
				d.Decision = rollout.Abort
			}
			d, err := s.Decide(t.Context(), "r", 0, d)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			seen[d]++
		})
	}
	group.Wait()
	d, err := s.Decision(t.Context(), "r", 0)
	must(t, err)
	if seen[d] != n {
		t.Errorf("the decision is %+v, and %d clients see %+v", d, n, seen)
	}
	if d, err := s.Decision(t.Context(), "r", 1); err != nil || d != (rollout.WaveDecision{}) {
		t.Errorf("decision of another wave: %+v, %v", d, err)
	}
}

func conditionalWrites(t *testing.T, s store.Store) {
	r := rollout.Rollout{Metadata: fleet.Metadata{Name: "w"}, Spec: rollout.Spec{Waves: [][]string{{"a"}}}}
	must(t, s.CreateRollout(t.Context(), r))
	if err := s.CreateRollout(t.Context(), r); !errors.Is(err, store.ErrConflict) {
		t.Errorf("error of a second rollout with the name: %v", err)
	}
	rollouts, err := s.Rollouts(t.Context())
	must(t, err)
	agents, err := s.Agents(t.Context())
	must(t, err)
	for _, w := range []rollout.Write{
		{Status: &rollout.Status{Phase: rollout.PhasePlanning}},
		{Agent: "a", Assignment: &rollout.Assignment{Rollout: "w"}},
	} {
		must(t, s.Write(t.Context(), rollouts["w"], agents, w, "me"))
		if err := s.Write(t.Context(), rollouts["w"], agents, w, "me"); !errors.Is(err, store.ErrConflict) {
			t.Errorf("error of a write of what has changed: %v", err)
		}
	}
	must(t, s.EditRollout(t.Context(), "w", func(spec *rollout.Spec) error { spec.Paused = true; return nil }))
	if err := s.EditRollout(t.Context(), "unknown", func(*rollout.Spec) error { return nil }); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error of a change of no rollout: %v", err)
	}
	rollouts, err = s.Rollouts(t.Context())
	must(t, err)
	if got := rollouts["w"].Rollout; !got.Spec.Paused || got.Status.Phase != rollout.PhasePlanning {
		t.Errorf("rollout %+v", got)
	}
}

func revisions(t *testing.T, s store.Store) {
	manifest, err := s.PutConfig(t.Context(), []store.Item{{Key: "config/a", Value: []byte(`{"name":"a"}`)}})
	must(t, err)
	for want := range int64(3) {
		number, err := s.CreateRevision(t.Context(), store.Revision{Agents: map[string]string{"a": manifest}, Created: time.Now()})
		if err != nil || number != want+1 {
			t.Fatalf("revision %d, %v", number, err)
		}
	}
	r, err := s.Revision(t.Context(), 2)
	must(t, err)
	items, err := s.Config(t.Context(), r.Agents["a"])
	if err != nil || len(items) != 1 || items[0].Key != "config/a" {
		t.Errorf("configuration %v, %v", items, err)
	}
	if _, err := s.Revision(t.Context(), 9); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error of a missing revision: %v", err)
	}
	if _, err := s.Config(t.Context(), "none"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error of a missing configuration: %v", err)
	}
}

func watch(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan store.AgentStatus, 10)
	var group sync.WaitGroup
	group.Go(func() {
		if err := s.WatchAgent(ctx, "edge", func(a store.AgentStatus, _ store.Origin) error { seen <- a; return nil }); err != nil {
			t.Error(err)
		}
	})
	if a := <-seen; a.Label != "edge" || a.Running != nil {
		t.Errorf("at first %+v", a)
	}
	must(t, s.EditAgent(t.Context(), "edge-2", func(*fleet.Agent) error { return nil }))
	must(t, s.WriteReport(t.Context(), "edge", rollout.Report{Rollout: "r"}))
	if a := <-seen; a.Report.Rollout != "r" {
		t.Errorf("then %+v", a)
	}
	cancel()
	group.Wait()
}

func edits(t *testing.T, s store.Store) {
	var group sync.WaitGroup
	const n = 8
	for i := range n {
		group.Go(func() {
			if err := s.EditAgent(t.Context(), "many", func(a *fleet.Agent) error {
				if a.Spec.Values == nil {
					a.Spec.Values = map[string]any{}
				}
				a.Spec.Values[fmt.Sprint(i)] = true
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	refuse := func(a *fleet.Agent) error {
		a.Spec.Values["refused"] = true
		return errors.New("refused")
	}
	if err := s.EditAgent(t.Context(), "many", refuse); err == nil || err.Error() != "refused" {
		t.Errorf("a refused edit: %v", err)
	}
	agents, err := s.Agents(t.Context())
	must(t, err)
	if got := len(agents["many"].Spec.Spec.Values); got != n {
		t.Errorf("%d of %d changes are kept", got, n)
	}
}

func TestWentBack(t *testing.T) {
	t.Parallel()
	now := store.Origin{Store: "a", Revision: 10, Epoch: "x"}
	for _, c := range []struct {
		later store.Origin
		want  bool
	}{
		{store.Origin{Store: "a", Revision: 10, Epoch: "x"}, false},
		{store.Origin{Store: "a", Revision: 11, Epoch: "x"}, false},
		{store.Origin{Store: "a", Revision: 9, Epoch: "x"}, true},
		{store.Origin{Store: "b", Revision: 11, Epoch: "x"}, true},
		{store.Origin{Store: "b", Revision: 11, Epoch: "y"}, false},
	} {
		if got := now.WentBack(c.later); got != c.want {
			t.Errorf("%+v: %t", c.later, got)
		}
	}
	if (store.Origin{}).WentBack(now) {
		t.Error("the first store that an agent reads went back")
	}
}
