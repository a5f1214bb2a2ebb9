package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// itemsOf returns items that depend on a number, some of them for several numbers.
func itemsOf(n int) (items []store.Item) {
	for i := range 5 {
		items = append(items, store.Item{Key: fmt.Sprintf("config/%d", i), Value: json.RawMessage(fmt.Sprint(n / (i + 1)))})
	}
	return items
}

// resolves checks that all that agents and rollouts need is there.
func resolves(t *testing.T, s store.Store, known map[int64]map[string]int) {
	t.Helper()
	rollouts, err := s.Rollouts(t.Context())
	must(t, err)
	agents, err := s.Agents(t.Context())
	must(t, err)
	revision := func(why string, number int64) {
		t.Helper()
		if number == 0 {
			return
		}
		r, err := s.Revision(t.Context(), number)
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		for label, n := range known[number] {
			items, err := s.Config(t.Context(), r.Agents[label])
			if want := itemsOf(n); err != nil || fmt.Sprint(items) != fmt.Sprint(want) {
				t.Fatalf("%s: configuration of %s in %d: %v, %v, expected %v", why, label, number, items, err, want)
			}
		}
	}
	for label, a := range agents {
		revision(label+" has", a.Report.Confirmed)
		revision(label+" had", a.Report.Previous)
		revision(label+" is to have", a.Assignment.Revision)
		if r := a.Assignment.Rollout; r != "" && rollouts[r].Rollout.Metadata.Name == "" {
			t.Fatalf("%s: rollout %s is gone", label, r)
		}
	}
	for name, r := range rollouts {
		if !r.Rollout.Status.Phase.Ended() {
			revision(name, r.Rollout.Spec.Revision)
		}
		for wave, d := range r.Decisions {
			if r.Rollout.Metadata.Name == "" {
				t.Fatalf("the decision %v of wave %d of %s is left without the rollout", d, wave, name)
			}
		}
	}
	last, err := s.LastRevision(t.Context())
	must(t, err)
	revision("the last one", last)
}

// After each collection all that is needed is there, and the rest is gone.
func TestCollect(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := rand.New(rand.NewPCG(1, 2))
	labels := []string{"a", "b", "c"}
	known := map[int64]map[string]int{}
	confirmed := map[string][2]int64{}
	var open []string
	removed := store.Collected{}
	for i := range 120 {
		switch label := labels[r.IntN(len(labels))]; r.IntN(6) {
		case 0, 1:
			has, configs := map[string]int{}, map[string][]store.Item{}
			for _, label := range labels[r.IntN(len(labels)):] {
				has[label] = r.IntN(8)
				configs[label] = itemsOf(has[label])
			}
			number, err := s.Revise(t.Context(), store.Revision{}, configs)
			must(t, err)
			known[number] = has
		case 2: // an agent is assigned to the newest revision, in a rollout
			last, err := s.LastRevision(t.Context())
			must(t, err)
			name := fmt.Sprintf("r%d", i)
			must(t, s.CreateRollout(t.Context(), rollout.Rollout{Metadata: fleet.Metadata{Name: name}, Spec: rollout.Spec{Revision: last, Waves: [][]string{{label}}}}))
			open = append(open, name)
			assign(t, s, name, label, last)
			_, err = s.Decide(t.Context(), name, 0, rollout.WaveDecision{Decision: rollout.Commit})
			must(t, err)
		case 3: // an agent confirms what it is assigned to
			agents, err := s.Agents(t.Context())
			must(t, err)
			if a := agents[label].Assignment; a.Revision != 0 {
				confirmed[label] = [2]int64{a.Revision, confirmed[label][0]}
				must(t, s.WriteReport(t.Context(), label, rollout.Report{Rollout: a.Rollout, Confirmed: a.Revision, Previous: confirmed[label][1]}))
			}
		case 4:
			if len(open) > 0 {
				end(t, s, open[0], i)
				open = open[1:]
			}
		default:
			c, err := s.Collect(t.Context(), 1+r.IntN(3))
			must(t, err)
			removed.Revisions += c.Revisions
			removed.Rollouts += c.Rollouts
			removed.Objects += c.Objects
			again, err := s.Collect(t.Context(), 3)
			must(t, err)
			if again.Objects > 0 {
				t.Fatalf("a second collection removes %+v", again)
			}
			resolves(t, s, known)
		}
	}
	if removed.Revisions == 0 || removed.Rollouts == 0 || removed.Objects == 0 {
		t.Errorf("removed %+v", removed)
	}
}

// write does a write of a controller.
func write(t *testing.T, s store.Store, name string, w rollout.Write) {
	t.Helper()
	rollouts, err := s.Rollouts(t.Context())
	must(t, err)
	agents, err := s.Agents(t.Context())
	must(t, err)
	must(t, s.Write(t.Context(), rollouts[name], agents, w, "test"))
}

func assign(t *testing.T, s store.Store, name, label string, revision int64) {
	t.Helper()
	write(t, s, name, rollout.Write{Agent: label, Assignment: &rollout.Assignment{Rollout: name, Revision: revision}})
}

func end(t *testing.T, s store.Store, name string, i int) {
	t.Helper()
	write(t, s, name, rollout.Write{Status: &rollout.Status{Phase: rollout.PhaseSucceeded, Since: time.Unix(int64(i), 0)}})
}

// Content that is written while another client collects is not removed.
func TestReviseWhileCollecting(t *testing.T) {
	t.Parallel()
	s := open(t)
	var group sync.WaitGroup
	for client := range 3 {
		group.Go(func() {
			for i := range 8 {
				n := (client + i) % 4
				number, err := s.Revise(t.Context(), store.Revision{}, map[string][]store.Item{"a": itemsOf(n)})
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Collect(t.Context(), 3)
				if err != nil {
					t.Error(err)
				}
				r, err := s.Revision(t.Context(), number)
				if errors.Is(err, kv.ErrNotFound) {
					continue // the others have made three more
				}
				items, err := s.Config(t.Context(), r.Agents["a"])
				if _, gone := s.Revision(t.Context(), number); gone == nil && (err != nil || fmt.Sprint(items) != fmt.Sprint(itemsOf(n))) {
					t.Errorf("revision %d: %v, %v", number, items, err)
				}
			}
		})
	}
	group.Wait()
}

// An agent is forgotten only if it does not run, and is in no rollout.
func TestForget(t *testing.T) {
	t.Parallel()
	s := open(t)
	must(t, s.EditAgent(t.Context(), "a", func(*fleet.Agent) error { return nil }))
	must(t, s.Allocate(t.Context(), "loopbacks", "a", "10.0.0.1"))
	must(t, s.Allocate(t.Context(), "loopbacks", "b", "10.0.0.2"))
	must(t, s.CreateRollout(t.Context(), rollout.Rollout{Metadata: fleet.Metadata{Name: "r"}, Spec: rollout.Spec{Waves: [][]string{{"a"}}}}))
	if _, err := s.Forget(t.Context(), "a"); !errors.Is(err, store.ErrInUse) {
		t.Errorf("error for an agent in a rollout: %v", err)
	}
	end(t, s, "r", 1)
	if _, err := s.Forget(t.Context(), "c"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error for no agent: %v", err)
	}
	released, err := s.Forget(t.Context(), "a")
	if err != nil || fmt.Sprint(released) != "map[loopbacks:10.0.0.1]" {
		t.Errorf("released %v, %v", released, err)
	}
	agents, err := s.Agents(t.Context())
	must(t, err)
	allocations, err := s.Allocations(t.Context())
	must(t, err)
	if len(agents) != 0 || fmt.Sprint(allocations) != "map[loopbacks:map[b:10.0.0.2]]" {
		t.Errorf("left: %v, %v", agents, allocations)
	}
}
