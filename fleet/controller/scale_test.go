package controller_test

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/fleettest"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

var followers = flag.Int("followers", 50, "number of agents of TestScale")

// scaled is a fleet of many agents on one etcd.
type scaled struct {
	t      *testing.T
	db     kv.DB
	store  store.Store
	labels []string
	agents []*fleettest.Agent
}

func startScaled(t *testing.T) *scaled {
	t.Helper()
	server := kvtest.Etcd(t)
	cfg := etcd.DefaultConfig()
	cfg.Endpoints, cfg.OperationTimeout, cfg.DialTimeout = []string{server.Direct}, time.Minute, time.Minute
	db, closeDB, err := etcd.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeDB() })
	s := &scaled{t: t, db: db, store: store.New(db, "test"), agents: make([]*fleettest.Agent, *followers)}
	var ends sync.WaitGroup
	stops := make([]func(), *followers)
	for i := range *followers {
		label := fmt.Sprintf("agent-%d", i)
		s.labels = append(s.labels, label)
		s.agents[i], stops[i] = fleettest.Start(t, server.Direct, "test", label)
	}
	t.Cleanup(func() {
		for _, stop := range stops {
			ends.Go(stop)
		}
		ends.Wait()
	})
	for running := 0; running < *followers; { // until all are there
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		agents, err := s.store.Agents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		running = 0
		for _, a := range agents {
			if a.Running != nil {
				running++
			}
		}
	}
	return s
}

// revision returns the revision of etcd, which counts its writes.
func (s *scaled) revision() int64 {
	s.t.Helper()
	l, err := s.db.List(s.t.Context(), "/none")
	if err != nil {
		s.t.Fatal(err)
	}
	return l.Revision
}

// sums returns what all agents have received: events, and bytes of configuration.
func (s *scaled) sums() (events, bytes int64) {
	for _, a := range s.agents {
		events += a.Events.Load()
		bytes += a.Bytes.Load()
	}
	return events, bytes
}

// roll executes a rollout, and returns how long it took, and how many writes of etcd.
func (s *scaled) roll(name string, spec rollout.Spec) (took time.Duration, writes int64) {
	s.t.Helper()
	before, began := s.revision(), time.Now()
	spec.ConfirmTimeout, spec.Deadline = 5*time.Minute, 5*time.Minute
	err := s.store.CreateRollout(s.t.Context(), rollout.Rollout{Metadata: fleet.Metadata{Name: name}, Spec: spec})
	if err != nil {
		s.t.Fatal(err)
	}
	c := controller.Controller{Store: s.store, Name: "test"}
	view, err := c.Run(s.t.Context(), name, func(controller.View) {}, func(err error) { s.t.Log(err) })
	if status := view.Rollout.Rollout.Status; err != nil || status.Phase == rollout.PhaseFailed {
		s.t.Fatalf("%s: %+v, %v", name, status, err)
	}
	return time.Since(began), s.revision() - before
}

// All agents of a large fleet follow a rollout, with a limited number of writes. A fleet without a rollout writes nothing.
// Times are reported, not checked.
func TestScale(t *testing.T) {
	t.Parallel()
	s := startScaled(t)
	n := int64(len(s.agents))
	var items []store.Item
	for i := range 20 {
		items = append(items, store.Item{Key: fmt.Sprintf("config/vpp/v2/interfaces/loop%d", i), Value: []byte(fmt.Sprintf(`{"name":"loop%d","mtu":1500}`, i))})
	}
	revision := fleettest.Revise(t, s.store, items, s.labels...)
	waves := [][]string{s.labels[:1], s.labels[1:]}
	took, writes := s.roll("plan", rollout.Spec{Revision: revision, Waves: waves, PlanOnly: true})
	t.Logf("REPORT: %d agents: the plans of all are there after %s, %d writes", n, took.Round(time.Millisecond), writes)
	events, bytes := s.sums()
	took, writes = s.roll("apply", rollout.Spec{Revision: revision, Waves: waves})
	after, read := s.sums()
	t.Logf("REPORT: %d agents: a rollout in 2 waves takes %s, %d writes (%.1f for each agent), %d events, %d bytes of configuration read",
		n, took.Round(time.Millisecond), writes, float64(writes)/float64(n), after-events, read-bytes)
	if limit := 6*n + 20; writes > limit {
		t.Errorf("%d writes, expected at most %d", writes, limit)
	}
	for _, a := range s.agents {
		if r := a.Report(); r.Confirmed != revision {
			t.Fatalf("%s reports %+v", a.Label, r)
		}
	}

	before := s.revision()
	<-time.After(2 * time.Duration(etcd.DefaultConfig().SessionTTL) * time.Second) // leases are renewed meanwhile
	if writes := s.revision() - before; writes != 0 {
		t.Errorf("%d writes without a rollout, expected none", writes)
	}
}
