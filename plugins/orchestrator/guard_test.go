package orchestrator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// unguarded is a configuration that follows everything.
func unguarded() orchestrator.Config {
	cfg := orchestrator.DefaultConfig()
	cfg.GuardDeletes = "off"
	return cfg
}

// snapshot is an event that says which store it is from.
type snapshot struct {
	event
	evidence kv.Evidence
}

func (s snapshot) Evidence() kv.Evidence { return s.evidence }

// some returns n interfaces with an MTU.
func some(n int, mtu uint32) (all []orchestrator.KeyVal) {
	for i := range n {
		all = append(all, iface(fmt.Sprintf("if%02d", i), mtu))
	}
	return all
}

// present is the number of interfaces in the southbound.
func (w *world) present() int { return len(w.sb.Keys()) }

func (w *world) guardOf(name string) *orchestrator.GuardStatus {
	for _, s := range w.Sources() {
		if s.Name == name {
			return s.Guard
		}
	}
	return nil
}

func (s *fakeStore) snapshot(id kv.Identity, items ...orchestrator.KeyVal) error {
	e := snapshot{event: newEvent(items), evidence: kv.Evidence{Identity: id}}
	s.resyncs <- e
	return <-e.done
}

// A store that is emptied is not followed; events of it are, and it is followed again when it
// has its items again, or when that is accepted.
func TestGuardLive(t *testing.T) {
	t.Parallel()
	db, see := &fakeStore{name: "db"}, newWitness(t)
	w := start(t, nil, see.use(), orchestrator.UseWatchers(db))
	id := kv.Identity{Store: "cluster a", Revision: 500}
	fatal(t, db.snapshot(id, some(30, 1)...))
	w.waitSynced()
	held := func(deletes, items int, reason string) {
		t.Helper()
		g := w.guardOf("db")
		if g == nil || g.Deletes != deletes || g.Items != items || !strings.Contains(g.Reason, reason) || g.Since.IsZero() {
			t.Fatalf("guard %+v, want %d of %d, %s", g, deletes, items, reason)
		}
		st, _ := see.state()
		if st != health.Degraded {
			t.Errorf("health is %v", st)
		}
	}
	if _, err := w.AcceptSource(t.Context(), "db", orchestrator.Caller{}); !errors.Is(err, orchestrator.ErrNothingToAccept) {
		t.Errorf("accept of a store that is followed: %v", err)
	}
	if _, err := w.AcceptSource(t.Context(), "none", orchestrator.Caller{}); !errors.Is(err, orchestrator.ErrUnknownSource) || !strings.Contains(err.Error(), "db") {
		t.Errorf("accept of an unknown store: %v", err)
	}
	fatal(t, db.snapshot(kv.Identity{Store: "cluster a", Revision: 3}))
	held(30, 30, "went back from 500 to 3")
	if g := w.guardOf("db"); g.Content != 0 {
		t.Errorf("the store has %d items, want none", g.Content)
	}
	if n := w.present(); n != 30 {
		t.Fatalf("%d interfaces, want 30", n)
	}
	// Events are requests, also those that delete.
	fatal(t, db.change(gone("if00"), iface("if01", 2), iface("new", 1)))
	held(28, 30, "went back")
	w.wantMTU("if00", -1)
	w.wantMTU("if01", 2)
	w.wantMTU("new", 1)
	// A client's resync does not concern the store.
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, nil, orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	held(28, 30, "went back")
	fatal(t, db.change(some(30, 1)[2:]...))
	if g := w.guardOf("db"); g != nil {
		t.Fatalf("the store has all items: %+v", g)
	}
	until(t, "health is good", func() bool { st, _ := see.state(); return st == health.OK })
	// From now on the store has another history.
	fatal(t, db.snapshot(kv.Identity{Store: "cluster b", Revision: 900}, some(29, 1)...))
	held(2, 30, "another store (cluster b, before cluster a)")
	if g := w.guardOf("db"); g.Content != 29 { // if00 is new
		t.Errorf("the store has %d items, want 29", g.Content)
	}
	n, err := w.AcceptSource(t.Context(), "db", orchestrator.Caller{})
	if err != nil || n == 0 || w.guardOf("db") != nil || w.mtu("new") != -1 || w.mtu("if00") != 1 {
		t.Errorf("accept: %d changes, %v, %+v", n, err, w.guardOf("db"))
	}
	fatal(t, db.snapshot(kv.Identity{Store: "cluster b", Revision: 901}, some(28, 1)...))
	if g := w.guardOf("db"); g != nil || w.mtu("if28") != -1 {
		t.Errorf("a small change of the accepted store: %+v", g)
	}
}

// While a program restores a store, item by item, nothing is deleted and created again.
func TestGuardWaitsForTheEndOfARestoration(t *testing.T) {
	t.Parallel()
	db := &fakeStore{name: "db"}
	w := start(t, nil, orchestrator.UseWatchers(db), func(p *orchestrator.Plugin) { orchestrator.SetQuietLift(p, time.Hour) })
	fatal(t, db.snapshot(kv.Identity{}, some(40, 1)...))
	w.waitSynced()
	fatal(t, db.snapshot(kv.Identity{}))
	w.sb.TakeCalls()
	for i, it := range some(40, 1) {
		fatal(t, db.change(it))
		if g := w.guardOf("db"); (g == nil) != (i == 39) {
			t.Fatalf("after %d of 40 items: %+v", i+1, g)
		}
	}
	if calls := changes(w.sb); len(calls) > 0 {
		t.Errorf("the restoration made %q", calls)
	}
}

// A store that has enough items again, and no more events, is followed.
func TestGuardLiftsWithEnough(t *testing.T) {
	t.Parallel()
	db := &fakeStore{name: "db"}
	w := start(t, nil, orchestrator.UseWatchers(db), func(p *orchestrator.Plugin) { orchestrator.SetQuietLift(p, 10*time.Millisecond) })
	fatal(t, db.snapshot(kv.Identity{}, some(40, 1)...))
	w.waitSynced()
	fatal(t, db.snapshot(kv.Identity{}))
	fatal(t, db.change(some(35, 1)...))
	until(t, "the store is followed", func() bool { return w.guardOf("db") == nil && w.present() == 35 })
}

// The guard works over a restart, by the state of the agent.
func TestGuardAtRestart(t *testing.T) {
	t.Parallel()
	m, db := &memory{}, &fakeStore{name: "db"}
	w := again(t, nil, m, db)
	w.waitSynced()
	id := kv.Identity{Store: "cluster a", Revision: 500}
	fatal(t, db.snapshot(id, some(5, 1)...))
	for name, c := range map[string]struct {
		now   kv.Identity
		items []orchestrator.KeyVal
	}{
		"empty":         {kv.Identity{Store: "cluster a", Revision: 500}, nil},
		"went back":     {kv.Identity{Store: "cluster a", Revision: 400}, some(4, 1)},
		"another store": {kv.Identity{Store: "cluster c", Revision: 4000}, some(5, 7)},
	} {
		w.stop()
		w.sb.TakeCalls()
		w = again(t, w.sb, m, db)
		fatal(t, db.snapshot(c.now, c.items...))
		w.waitSynced()
		if g := w.guardOf("db"); g == nil || !strings.Contains(g.Reason, name) {
			t.Errorf("%s: guard %+v", name, g)
		}
		if calls := changes(w.sb); len(calls) > 0 || w.present() != 5 {
			t.Errorf("%s: the restart made %q", name, calls)
		}
	}
	since := w.guardOf("db").Since
	w.stop()
	w = again(t, w.sb, m, db)
	fatal(t, db.snapshot(id))
	w.waitSynced()
	if g := w.guardOf("db"); g == nil || !g.Since.Equal(since) {
		t.Errorf("guard %+v, want one since %v", g, since)
	}
	if _, err := w.AcceptSource(t.Context(), "db", orchestrator.Caller{}); err != nil || w.present() != 0 {
		t.Errorf("accept: %v, %d interfaces", err, w.present())
	}
	w.stop()
	w = again(t, w.sb, m, db)
	fatal(t, db.snapshot(id))
	w.waitSynced()
	if g := w.guardOf("db"); g != nil {
		t.Errorf("after the restart: %+v", g)
	}
}

func TestAllowEmpty(t *testing.T) {
	t.Parallel()
	db := &fakeStore{name: "db"}
	cfg := orchestrator.DefaultConfig()
	cfg.AllowEmpty = []string{"db"}
	w := start(t, nil, orchestrator.UseWatchers(db), orchestrator.UseConf(cfg))
	fatal(t, db.snapshot(kv.Identity{}, some(30, 1)...))
	w.waitSynced()
	fatal(t, db.snapshot(kv.Identity{}, some(1, 1)...))
	if w.guardOf("db") == nil {
		t.Error("most items disappeared, and the store is followed")
	}
	fatal(t, db.snapshot(kv.Identity{}))
	if g := w.guardOf("db"); g != nil || w.present() != 0 {
		t.Errorf("the store may be empty: %+v, %d interfaces", g, w.present())
	}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
