package logmanager_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/logging/logmanager"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func call(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	infratest.Fatal(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.DefaultClient.Do(req)
	infratest.Fatal(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	infratest.Fatal(t, err)
	return resp.StatusCode, string(body)
}

func TestLevelsByFileAndHTTP(t *testing.T) {
	loggers := logging.NewRegistry(logging.WithWriter(io.Discard))
	server := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) { d.Cfg = config.Text("http", "endpoint: 127.0.0.1:0") }))
	p := logmanager.NewPlugin(logmanager.UseDeps(func(d *logmanager.Deps) {
		d.HTTP = server
		d.Cfg = config.Text("logs", "default-level: warn\nloggers:\n- {name: http, level: error}\n- {name: 'vpp-*', level: debug}\n")
	}))
	a := agenttest.New(t, agent.Logging(loggers), agent.AllPlugins(p))
	infratest.Fatal(t, a.Start(t.Context()))
	for name, want := range map[string]logging.Level{"x": logging.WarnLevel, "http": logging.ErrorLevel, "vpp-x": logging.DebugLevel} {
		if got := loggers.Level(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	url := server.URL() + "/log/"
	status, body := call(t, "GET", url+"list")
	if status != 200 || !strings.Contains(body, "\"logger\": \"http\",\n    \"level\": \"error\"") {
		t.Errorf("list: %d %s", status, body)
	}
	status, body = call(t, "PUT", url+"http/debug")
	if status != 200 || body != "{\n  \"logger\": \"http\",\n  \"level\": \"debug\"\n}\n" || loggers.Level("http") != logging.DebugLevel {
		t.Errorf("set: %d %s", status, body)
	}
	for path, want := range map[string]int{
		"default/info": 200, "vpp-*/warn": 200, "http/loud": 400, "unknown/info": 404, "%5B/info": 400,
	} {
		if status, body := call(t, "PUT", url+path); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if loggers.Level("x") != logging.InfoLevel || loggers.Level("vpp-x") != logging.WarnLevel {
		t.Error("the default or the pattern was not set")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(logmanager.Config{Loggers: []logmanager.LoggerLevel{{Name: "a"}}}); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"loggers: [{level: info}]": "loggers[0].name: expected the name of a logger",
		"default-level: loud":      `default-level: unknown log level "loud"`,
		"loggers: [{name: '['}]":   `logger name pattern "["`,
	} {
		p := logmanager.NewPlugin(logmanager.UseDeps(func(d *logmanager.Deps) { d.Cfg = config.Text("logs", text) }))
		err := agenttest.New(t, agent.AllPlugins(p)).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
