package tracing_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/infra/tracing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(tracing.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		cfg  tracing.Config
		want string
	}{
		{tracing.DefaultConfig(), ""},
		{tracing.Config{Exporter: "stdout", Ratio: 0.5}, ""},
		{tracing.Config{Exporter: "otlp", Endpoint: "https://collector:4318/v1/traces"}, ""},
		{tracing.Config{Exporter: "otlp", Endpoint: "collector:4318"}, "endpoint"},
		{tracing.Config{Exporter: "jaeger"}, "exporter"},
		{tracing.Config{Exporter: "none", Ratio: 1.5}, "ratio"},
	} {
		err := c.cfg.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.cfg, err, c.want)
		}
	}
}

// span makes one span and reports whether it is recorded.
func span(p *tracing.Plugin) bool {
	_, s := p.TracerProvider().Tracer("test").Start(context.Background(), "one-span")
	defer s.End()
	return s.IsRecording()
}

func TestOff(t *testing.T) {
	t.Parallel()
	p := tracing.NewPlugin()
	agenttest.Start(t, p)
	if span(p) {
		t.Error("spans are recorded although tracing is off")
	}
}

func TestStdout(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := tracing.NewPlugin(tracing.UseConf(tracing.Config{Exporter: "stdout", Ratio: 1}), tracing.UseOutput(&out),
		tracing.UseDeps(func(d *tracing.Deps) { d.ServiceLabel = servicelabel.NewPlugin(servicelabel.UseLabel("router7")) }))
	a := agenttest.Start(t, p)
	if !span(p) {
		t.Error("the span is not recorded")
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one-span", "vpp-agent", "router7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}

// What is left is sent when the agent stops; a collector that refuses is no
// reason to fail.
func TestCollector(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths, bodies []string
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		paths, bodies = append(paths, r.URL.Path), append(bodies, string(body))
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	for _, code = range []int{http.StatusOK, http.StatusBadRequest} {
		p := tracing.NewPlugin(tracing.UseConf(tracing.Config{Exporter: "otlp", Endpoint: server.URL, Ratio: 1}), tracing.UseFlushTime(time.Minute))
		a := agenttest.Start(t, p)
		span(p)
		if err := a.Stop(); err != nil {
			t.Errorf("answer %d: %v", code, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(paths) != 2 || paths[0] != "/v1/traces" || !strings.Contains(bodies[0], "one-span") {
		t.Errorf("got %v %q", paths, bodies)
	}
}
