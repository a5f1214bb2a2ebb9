package app_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// An unreachable collector of spans does not make the agent unready, but is reported;
// what others act upon does.
func TestTracingIsNotReadiness(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", "--simulate")
	h.start(t)
	ready := func() (int, string) {
		var body struct {
			PluginStatus map[string]struct{ Error string }
		}
		code := fetch(t, h.HTTP.URL()+"/readiness", &body)
		return code, body.PluginStatus["tracing"].Error
	}
	late := time.After(patience)
	for code, text := ready(); code != http.StatusOK; code, text = ready() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-late:
			t.Fatalf("the agent is not ready: %d, tracing %q", code, text)
		}
	}
	h.Tracing.Health.Degraded("spans are not exported", errors.New("connection refused"))
	if code, text := ready(); code != http.StatusOK || text != "spans are not exported: connection refused" {
		t.Errorf("%d, tracing %q", code, text)
	}
	h.Orchestrator.Health.Scope(orchestrator.HealthItems).Degraded("1 rejected item", errors.New("unknown field"))
	if code, _ := ready(); code != http.StatusOK {
		t.Errorf("%d although the other items are in effect", code)
	}
	h.Orchestrator.Health.Scope("publish to etcd").Degraded("the state of items is not published to etcd", errors.New("connection refused"))
	if code, _ := ready(); code != http.StatusServiceUnavailable {
		t.Errorf("%d although the states that others see are old", code)
	}
}
