package openapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
)

const (
	loop1 = "config/vpp/v2/interfaces/loop1"
	items = `{"vppConfig": {"interfaces": [{"name": "loop1", "type": "SOFTWARE_LOOPBACK", "ipAddresses": ["10.0.0.1/24"]}]}}`
)

// startAgent returns the base URL of a simulated agent.
func startAgent(t *testing.T) string {
	t.Helper()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf := "print-txn-summary: false\nstate-dir: " + filepath.Join(dir, "state") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "kvscheduler.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	a := agenttest.New(t, agent.Name("vpp-agent"), agent.AllPlugins(plugins),
		agent.Args("--simulate", "--config-dir", dir, "--http-port", "0", "--grpc-port", "0"))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugins.HTTP.URL()
}

func request(t *testing.T, method, url, body string) (status int, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// TestOpenAPI checks that /openapi.json is valid, and that the responses of all GET
// endpoints with a JSON response, and of some others, have the schema that it names.
func TestOpenAPI(t *testing.T) {
	url := startAgent(t)
	_, text := request(t, http.MethodGet, url+"/openapi.json", "")
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err == nil {
		err = doc.Validate(t.Context())
	}
	if err != nil {
		t.Fatalf("/openapi.json is not a valid OpenAPI document: %v", err)
	}
	check := func(method, path, query, body string) {
		op := doc.Paths.Value(path).GetOperation(method)
		content := op.Responses.Value("200").Value.Content["application/json"]
		status, answer := request(t, method, url+path+query, body)
		if status != http.StatusOK || content == nil {
			t.Errorf("%s %s%s: status %d, schema %v\n%s", method, path, query, status, content, answer)
			return
		}
		var value any
		if err := json.Unmarshal(answer, &value); err != nil {
			t.Errorf("%s %s%s: %v", method, path, query, err)
			return
		}
		if err := content.Schema.Value.VisitJSON(value); err != nil {
			t.Errorf("%s %s%s: %v", method, path, query, err)
		}
	}
	check(http.MethodPut, "/configuration", "?wait=1m", items)
	check(http.MethodPost, "/configuration/validate", "", items)
	check(http.MethodPost, "/scheduler/plan", "?replace", "{}")
	check(http.MethodPost, "/scheduler/downstream-resync", "", "")
	check(http.MethodPost, "/vpp/command", "", `{"vppclicommand": "show version"}`)
	needed := map[string][]string{
		"/scheduler/flag-stats":   {"?flag=value-state"},
		"/scheduler/key-timeline": {"?key=" + loop1},
		"/scheduler/why":          {"?key=" + loop1},
		"/scheduler/wait":         {"?key=" + loop1},
		"/scheduler/drift":        {"?detect=1"},
		"/scheduler/dump":         {"", "?descriptor=vpp-interface&view=cached"},
		"/scheduler/status":       {"", "?key=" + loop1},
		"/scheduler/txn-history":  {"", "?seq-num=0", "?seq-num=0&critical-path=1"},
	}
	checked := 0
	for path, item := range doc.Paths.Map() {
		if item.Get == nil || item.Get.Responses.Value("200").Value.Content == nil || strings.Contains(path, "{") {
			continue
		}
		queries := needed[path]
		if queries == nil {
			queries = []string{""}
		}
		for _, query := range queries {
			check(http.MethodGet, path, query, "")
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d responses were checked", checked)
	}
}
