package status

import (
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
	if got := troubles(s); len(got) != 1 || got[0] != "vpp is ERROR: no socket" {
		t.Errorf("got %q", got)
	}
	if got := troubles(client.Status{}); len(got) != 1 || got[0] != "it is starting or stopping" {
		t.Errorf("got %q", got)
	}
}
