package status

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Causes make an agent unready, not their effects.
func TestTroubles(t *testing.T) {
	t.Parallel()
	s := client.Status{Health: client.Health{Plugins: []client.HealthState{
		{Name: "vpp", State: "ERROR", Error: "no socket"}, {Name: "if", State: "ERROR", CausedBy: []string{"vpp"}}, {Name: "probe", State: "OK"},
	}}}
	if got := troubles(s, slices.Concat(s.NonFatalPlugins, s.ReadyDespite)); len(got) != 1 || got[0] != "vpp is ERROR: no socket" {
		t.Errorf("got %q", got)
	}
}
