package controller_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

type noEngine struct{}

func (noEngine) DB() kv.DB { return nil }

// The controller refuses a configuration that it cannot work with.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(controller.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for conf, want := range map[string]string{
		"":             "a controller of a fleet needs etcd: write etcd.conf",
		"fleet: a/b":   `fleet: "a/b", expected letters, digits`,
		"keep: -1":     "keep: -1, expected a number of revisions, or 0",
		"fleet: ''":    `fleet: "", expected letters`,
		"fleets: here": `fleets: unknown key, did you mean "fleet"?`,
	} {
		p := &controller.Plugin{Deps: controller.Deps{Engine: noEngine{}}}
		p.Cfg = config.Text("controller", conf)
		err := agenttest.New(t, agent.AllPlugins(p)).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, expected %s", conf, err, want)
		}
	}
}
