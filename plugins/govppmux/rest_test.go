package govppmux

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

func TestEndpoints(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := simulator(t, path)
	p := start(t, path, nil)
	session(t, p, 0)

	w := httptest.NewRecorder()
	p.ServeStats(w, httptest.NewRequest(http.MethodGet, "/govppmux/stats", nil))
	var stats struct {
		Session sessionInfo
		Stats
	}
	if err := json.Unmarshal(w.Body.Bytes(), &stats); err != nil {
		t.Fatal(err)
	}
	if !stats.Session.Connected || !stats.Session.Simulated || stats.Session.PID != vpp.PID() || stats.Session.Messages == 0 {
		t.Errorf("stats %s", w.Body)
	}
	for _, c := range []struct {
		body, want string
		status     int
	}{
		{`{"vppclicommand": "show version"}`, vppsim.DefaultVersion, http.StatusOK},
		{`{"vppclicommand": "l2fib del 52:54:00:53:18:57 1"}`, "VPP refused it: l2fib del: bridge domain ID 1 invalid", http.StatusBadGateway},
		{`{"vppclicommand": " "}`, "vppclicommand", http.StatusBadRequest},
		{`{"command": "show version"}`, "vppclicommand", http.StatusBadRequest},
		{`show version`, "vppclicommand", http.StatusBadRequest},
	} {
		w := httptest.NewRecorder()
		p.ServeCommand(w, httptest.NewRequest(http.MethodPost, "/vpp/command", strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: status %d, body %s; want %d and %q", c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	_ = vpp.Close()
	down(t, p)
	w = httptest.NewRecorder()
	p.ServeCommand(w, httptest.NewRequest(http.MethodPost, "/vpp/command", strings.NewReader(`{"vppclicommand": "show version"}`)))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("without VPP: status %d, want 503", w.Code)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	path := socket(t)
	simulator(t, path)
	p := start(t, path, nil)
	session(t, p, 0)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector{p}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		values[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	if values["ligato_govppmux_up"] != 1 || values["ligato_govppmux_requests_total"] < 2 {
		t.Errorf("metrics %v", values)
	}
}
