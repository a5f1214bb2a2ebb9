package metrics_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Two agents with a counter of the same name do not see each other's.
func TestEveryAgentHasItsOwnMetrics(t *testing.T) {
	for _, value := range []float64{1, 2} {
		server := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) { d.Cfg = config.Text("http", "endpoint: 127.0.0.1:0") }))
		p := metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = server }))
		counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total", Help: "counted"})
		if err := p.Registry().Register(counter); err != nil { // before Init
			t.Fatal(err)
		}
		agenttest.Start(t, p)
		counter.Add(value)
		resp, err := http.Get(server.URL() + "/metrics")
		infratest.Fatal(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		infratest.Fatal(t, err)
		for _, want := range []string{"things_total " + string('0'+rune(value)), "go_goroutines ", "process_open_fds "} {
			if !strings.Contains(string(body), want) {
				t.Errorf("%q is missing in\n%s", want, body)
			}
		}
	}
}
