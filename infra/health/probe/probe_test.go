package probe_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health/probe"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// part is a plugin that others need.
type part struct {
	infra.PluginDeps
	Needs infra.Plugin `optional:"true"`
	after func()
}

func (p *part) Init() error { return nil }

func (p *part) AfterInit() error {
	if p.after != nil {
		p.after()
	}
	return nil
}

func newPart(name string, needs infra.Plugin) *part {
	p := &part{Needs: needs}
	p.SetName(name)
	return p
}

func newProbe(opts ...probe.Option) (*probe.Plugin, *rest.Plugin) {
	server := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) { d.Cfg = config.Text("http", "endpoint: 127.0.0.1:0") }))
	return probe.NewPlugin(append(opts, probe.UseDeps(func(d *probe.Deps) { d.HTTP = server }))...), server
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	infratest.Fatal(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	infratest.Fatal(t, err)
	return resp.StatusCode, string(body)
}

func TestProbesFollowTheStates(t *testing.T) {
	p, server := newProbe()
	vpp := newPart("vpp", nil)
	routes := newPart("routes", vpp)
	var starting int
	routes.after = func() { starting, _ = get(t, server.URL()+"/readiness") }
	a := agenttest.New(t, agent.Version("v1", "d", "c"), agent.AllPlugins(p, routes))
	infratest.Fatal(t, a.Start(t.Context()))
	if starting != http.StatusServiceUnavailable {
		t.Errorf("while starting: %d", starting)
	}
	for _, step := range []struct {
		name        string
		do          func()
		live, ready int
	}{
		{"all well", func() {}, 200, 200},
		{"degraded", func() { vpp.Health.Degraded("disconnected", nil) }, 200, 503},
		{"failed", func() { vpp.Health.Failed("gone", errors.New("why")) }, 503, 503},
		{"effect", func() { routes.Health.Scope("r").Degraded("waits", nil) }, 503, 503},
	} {
		step.do()
		live, _ := get(t, server.URL()+"/liveness")
		ready, _ := get(t, server.URL()+"/readiness")
		if live != step.live || ready != step.ready {
			t.Errorf("%s: liveness %d, readiness %d; want %d, %d", step.name, live, ready, step.live, step.ready)
		}
	}
	_, body := get(t, server.URL()+"/readiness")
	var got map[string]any
	infratest.Fatal(t, json.Unmarshal([]byte(body), &got))
	if got["build_version"] != "v1" || got["build_date"] != "d" || got["commit_hash"] != "c" || got["state"] != 2.0 {
		t.Errorf("got %s", body)
	}
	status := got["PluginStatus"].(map[string]any)
	for name, want := range map[string]string{"vpp": "gone: why", "routes": "r: waits"} {
		s := status[name].(map[string]any)
		if s["state"] != 2.0 || s["error"] != want || s["last_change"] == nil {
			t.Errorf("%s: got %v, want error %q", name, s, want)
		}
	}
	if _, ok := status["http"].(map[string]any)["error"]; ok || got["start_time"] == nil || got["NonFatalPlugins"] != nil {
		t.Errorf("got %s", body)
	}
	for _, s := range got["health"].(map[string]any)["plugins"].([]any) {
		s := s.(map[string]any)
		if s["name"] == "routes" && s["caused_by"].([]any)[0] != "vpp" {
			t.Errorf("cause of routes: %v", s)
		}
	}
	_, metrics := get(t, server.URL()+"/health")
	for _, want := range []string{
		`service_health{service="test"} 2`, `service_ready{service="test"} 0`, `service_dependency_health{dependency="http",service="test"} 1`,
		`service_dependency_health{dependency="vpp",service="test"} 2`, `service_info{build_date="d",build_version="v1",service="test"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%s is missing in\n%s", want, metrics)
		}
	}
}

func TestNonFatalPluginsAndDegradation(t *testing.T) {
	p, server := newProbe(probe.WithNonFatalPlugins("etcd"), probe.UseDeps(func(d *probe.Deps) {
		d.Cfg = config.Text("probe", "ready-when-degraded: true")
	}))
	etcd, vpp := newPart("etcd", nil), newPart("vpp", nil)
	agenttest.Start(t, p, etcd, vpp)
	etcd.Health.Failed("unreachable", nil)
	vpp.Health.Degraded("busy", nil)
	for _, path := range []string{"/readiness", "/liveness"} {
		status, body := get(t, server.URL()+path)
		if status != 200 || !strings.Contains(body, `"NonFatalPlugins": [`) || !strings.Contains(body, "unreachable") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, metrics := get(t, server.URL()+"/health"); !strings.Contains(metrics, `service_ready{service="test"} 1`) || !strings.Contains(metrics, `service_health{service="test"} 2`) {
		t.Errorf("the metrics do not say that the agent is ready and degraded:\n%s", metrics)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(probe.Config{}); err != nil {
		t.Error(err)
	}
	if err := probe.NewPlugin().Init(); err == nil {
		t.Error("runs without an agent")
	}
}

// A part that ready-despite names makes the agent DEGRADED, not unready.
func TestReadyDespite(t *testing.T) {
	p, server := newProbe(probe.WithReadyDespite("scheduler/values"))
	scheduler := newPart("scheduler", nil)
	agenttest.Start(t, p, scheduler)
	scheduler.Health.Scope("values").Degraded("1 value is FAILED", errors.New("route/1: no such next hop"))
	status, body := get(t, server.URL()+"/readiness")
	if status != 200 || !strings.Contains(body, `"state": "DEGRADED"`) || !strings.Contains(body, "route/1: no such next hop") {
		t.Errorf("one value failed: %d %s", status, body)
	}
	scheduler.Health.Scope("retrieve").Degraded("cannot be read", nil)
	if status, _ := get(t, server.URL()+"/readiness"); status != 503 {
		t.Errorf("another part is in trouble: %d", status)
	}
}
