package fleetagent_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/fleetagent"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type noEngine struct{}

func (noEngine) DB() kv.DB { return nil }

func (noEngine) Usable() error { return nil }

type someEngine struct{ db kv.DB }

func (e someEngine) DB() kv.DB { return e.db }

func (someEngine) Usable() error { return nil }

// unused is a store that is not called.
type unused struct{ kv.DB }

// A fleet needs etcd and state-dir. Without a fleet the plugin does nothing.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(fleetagent.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		conf   string
		engine fleetagent.Engine
		want   string
	}{
		{"", noEngine{}, ""},
		{"fleet: net", noEngine{}, "fleet.conf names a fleet, which needs etcd"},
		{"fleet: net", someEngine{unused{}}, "fleet.conf names a fleet, which needs state-dir"},
		{"fleet: a/b", someEngine{unused{}}, `fleet: "a/b"`},
		{"flet: net", noEngine{}, `flet: unknown key, did you mean "fleet"?`},
	} {
		sched := kvscheduler.NewPlugin()
		p := &fleetagent.Plugin{Deps: fleetagent.Deps{
			Engine: c.engine, State: sched, Identity: identity{"a"}, Orchestrator: orchestrator.NewPlugin(orchestrator.UseScheduler(sched)),
		}}
		p.Cfg = config.Text("fleet", c.conf)
		err := agenttest.New(t, agent.AllPlugins(sched, p)).Start(t.Context())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.conf, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, expected %s", c.conf, err, c.want)
		}
	}
}
