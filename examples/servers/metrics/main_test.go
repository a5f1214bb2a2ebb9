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

const want = `example_job_seconds_count 10
example_jobs_total{result="done"} 9
example_jobs_total{result="failed"} 1
example_queue_length 0
`

func TestMetrics(t *testing.T) {
	server := rest.NewPlugin()
	exampletest.StartAgent(t, newAgent(server, exampletest.Options(t, "--http-port", "0")...))
	_, body := exampletest.Ask(t, http.DefaultTransport, http.MethodGet, server.URL()+"/metrics", "")
	var got strings.Builder
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "example_") && !strings.Contains(line, "_bucket") && !strings.Contains(line, "_sum") {
			got.WriteString(line)
		}
	}
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}
