package kvscheduler_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// Health reports whether the state directory keeps nothing, or keeps what comes
// and lost what was; and it is well again as soon as something can be kept.
func TestHealthOfStateDirectory(t *testing.T) {
	t.Parallel()
	start := func(dir string) (*agent.Agent, *kvscheduler.Scheduler, *health.Tree) {
		tree := health.NewTree(nil)
		conf := kvscheduler.DefaultConfig()
		conf.StateDir = dir
		s := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(&bytes.Buffer{}),
			kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.Health = tree.Plugin("kvscheduler") }))
		a := agenttest.Start(t, s)
		if err := s.RegisterKVDescriptor(kvstest.NewMockSB().Descriptor("tap", "tap/")); err != nil {
			t.Fatal(err)
		}
		return a, s, tree
	}
	expect := func(tree *health.Tree, parts ...string) {
		t.Helper()
		p := tree.Snapshot().Plugins[0]
		got := p.State.String() + " " + p.Trouble()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is not in %q", part, got)
			}
		}
	}
	place := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(place, nil, 0o600); err != nil { // in the way of the directory
		t.Fatal(err)
	}
	a, s, tree := start(place)
	expect(tree, "DEGRADED", "nothing is kept over a restart until this is repaired", place)
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}}); err != nil {
		t.Fatal(err)
	}
	expect(tree, "OK ")
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "state.db"), bytes.Repeat([]byte("no state\n"), 4000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, s, tree = start(place)
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}}); err != nil {
		t.Fatal(err)
	}
	expect(tree, "DEGRADED", "what earlier runs kept was lost", "is kept as "+place+"/state.db.corrupt-")
}

type label string

func (l label) GetAgentLabel() string { return string(l) }

// An agent does not start with what another one kept, unless configured to.
func TestStateDirectoryOfAnotherAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scheduler := func(l label, from string) *kvscheduler.Scheduler {
		conf := kvscheduler.DefaultConfig()
		conf.StateDir, conf.StateDirFrom = dir, from
		return kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(&bytes.Buffer{}),
			kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.Label = l }))
	}
	first := scheduler("one", "")
	a := agenttest.Start(t, first)
	if err := first.SaveState("asked", map[string][]byte{"a": []byte("b")}, true); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	err := agenttest.New(t, agent.AllPlugins(scheduler("two", ""))).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), `Init: state-dir: the state directory is of another agent: `+dir+`/state.db was written by the agent "one"`) {
		t.Errorf("got %v", err)
	}
	second := scheduler("two", "one")
	agenttest.Start(t, second)
	if got, err := second.LoadState("asked"); err != nil || string(got["a"]) != "b" {
		t.Errorf("the former agent was asked for %v, %v", got, err)
	}
}
