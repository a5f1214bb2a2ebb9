package fleetagent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// await waits until what the store has of an agent is as expected.
func (f *fleetOf) await(label, what string, is func(store.AgentStatus) bool) store.AgentStatus {
	f.t.Helper()
	late := time.After(orchtest.Patience / 4)
	for {
		a, err := f.store.Agent(f.t.Context(), label)
		if err == nil && is(a) {
			return a
		}
		select {
		case <-late:
			f.t.Fatalf("%s: expected %s, and it reports %+v (%v)", label, what, a.Status, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// An agent reports the items that are in trouble or have drifted, which revisions it had, and that it was stopped. It
// writes nothing if nothing changes.
func TestStatus(t *testing.T) {
	t.Parallel()
	f := start(t, "a")
	a, broken := f.agents["a"], ifmodel.InterfaceModel.KeyFor("broken")
	f.await("a", "its start", func(a store.AgentStatus) bool {
		return a.Running != nil && !a.Status.Started.IsZero() && a.Status.Items == 0
	})

	f.roll("one", spec(f.revise(iface("loop1", 1500)), []string{"a"}))
	f.roll("two", spec(f.revise(iface("loop1", 1400)), []string{"a"}))
	got := f.await("a", "2 revisions and 1 item", func(a store.AgentStatus) bool { return len(a.Status.History) == 2 && a.Status.Items == 1 })
	if h := got.Status.History; h[0].Rollout != "one" || h[1].Rollout != "two" || h[1].Revision != 2 || h[1].Time.IsZero() || got.Status.Since.IsZero() {
		t.Errorf("history %+v since %s", h, got.Status.Since)
	}

	a.SB.Inject(kvstest.Fault{Op: kvscheduler.TxnOperation_CREATE, Key: broken, Err: errors.New("no")})
	must(t, a.push(iface("broken", 1500)))
	got = f.await("a", "an item in trouble", func(a store.AgentStatus) bool { return a.Status.Trouble.Count == 1 })
	if it := got.Status.Trouble.Of(broken); it == nil || it.State != "RETRYING" && it.State != "FAILED" || !strings.Contains(it.Reason, "no") || got.Status.Trouble.Since.IsZero() {
		t.Errorf("trouble %+v", got.Status.Trouble)
	}
	if got.Status.Drift != nil {
		t.Errorf("drift %+v before the agent looks for it", got.Status.Drift)
	}

	loop := ifmodel.InterfaceModel.KeyFor("loop1")
	a.SB.Remove(loop)
	_, err := a.Scheduler.DetectDrift(t.Context())
	must(t, err)
	got = f.await("a", "drift", func(a store.AgentStatus) bool { return a.Status.Drift != nil && a.Status.Drift.Count > 0 })
	if it := got.Status.Drift.Of(loop); it == nil || it.State != "missing" {
		t.Errorf("drift %+v", got.Status.Drift)
	}

	a.Stop()
	got = f.await("a", "its end", func(a store.AgentStatus) bool { return !a.Status.Stopped.IsZero() && a.Running == nil })
	a.start(t, a.SB)
	f.await("a", "its history after a restart", func(a store.AgentStatus) bool {
		return a.Status.Stopped.IsZero() && len(a.Status.History) == 2 && a.Status.Started.After(got.Status.Started)
	})
}

// An agent that does not follow the store says so.
func TestStatusOfUntrustedEngine(t *testing.T) {
	t.Parallel()
	f := start(t, "a")
	f.roll("one", spec(f.revise(iface("loop1", 1500)), []string{"a"}))
	f.server.Stop()
	restore := f.server.Backup(t)
	f.up()
	f.roll("two", spec(f.revise(iface("loop1", 1400)), []string{"a"}))
	f.server.Stop()
	restore()
	f.up()
	f.agents["a"].proxy.Reset()
	f.await("a", "that it does not follow", func(a store.AgentStatus) bool { return strings.Contains(a.Status.NotFollowed, "agentctl fleet trust") })
	must(t, f.store.NewEpoch(t.Context()))
	f.await("a", "that it follows again", func(a store.AgentStatus) bool { return a.Status.NotFollowed == "" })
}

// An agent whose label another one has writes only that.
func TestStatusOfRival(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.rival().start(t, kvstest.NewMockSB())
	a := f.await("me", "a rival", func(a store.AgentStatus) bool { return a.Rival != nil })
	if a.Rival.Host != "host" || a.Running != nil || !a.Status.Started.IsZero() {
		t.Errorf("%+v", a)
	}
}
