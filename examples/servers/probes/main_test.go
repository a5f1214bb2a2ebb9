package main

import (
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProbes(t *testing.T) {
	server := rest.NewPlugin()
	exampletest.StartAgent(t, newAgent(server, exampletest.Options(t, "--http-port", "0")...))
	for _, step := range []struct {
		state               string
		readiness, liveness int
		text                string // in the answer of /readiness
		gauge               string // in the answer of /health
	}{
		{"", 200, 200, `"OK"`, `{dependency="pump",service="probes.test"} 1`},
		{"leaking", 503, 200, "the seal leaks", "pump"},
		{"broken", 503, 503, "motor: no current", `{dependency="pump",service="probes.test"} 2`},
		{"repaired", 200, 200, "pumping", `{dependency="pump",service="probes.test"} 1`},
		{"exploded", 200, 200, "pumping", "pump"},
	} {
		if step.state != "" {
			code, body := exampletest.Ask(t, http.DefaultTransport, http.MethodPost, server.URL()+"/pump/"+step.state, "")
			if (step.state == "exploded") != (code == http.StatusNotFound) {
				t.Errorf("%s: status %d: %s", step.state, code, body)
			}
		}
		code, body := exampletest.Ask(t, http.DefaultTransport, http.MethodGet, server.URL()+"/readiness", "")
		if code != step.readiness || !strings.Contains(body, step.text) {
			t.Errorf("%s: /readiness is %d, expected %d with %q:\n%s", step.state, code, step.readiness, step.text, body)
		}
		if code, body := exampletest.Ask(t, http.DefaultTransport, http.MethodGet, server.URL()+"/liveness", ""); code != step.liveness {
			t.Errorf("%s: /liveness is %d, expected %d:\n%s", step.state, code, step.liveness, body)
		}
		if _, body := exampletest.Ask(t, http.DefaultTransport, http.MethodGet, server.URL()+"/health", ""); !strings.Contains(body, step.gauge) {
			t.Errorf("%s: /health has no %s:\n%s", step.state, step.gauge, body)
		}
	}
}
