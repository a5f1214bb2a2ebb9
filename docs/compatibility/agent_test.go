package compatibility

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
)

// startAgent starts an agent with the configuration that the predecessor had when its
// answers were recorded.
func startAgent(t *testing.T) *app.VPPAgent {
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
	a := agenttest.New(t, agent.Name("vpp-agent"), agent.AllPlugins(plugins), agent.Version("v0.0.0", "today", "commit"),
		agent.Args("--simulate", "--config-dir", dir, "--http-port", "0", "--grpc-port", "0"))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	network, err := os.ReadFile("testdata/network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if status, _, body := request(t, plugins, "PUT", "/configuration", string(network)); status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	const waits = "/scheduler/wait?timeout=2m&key=config/vpp/v2/interfaces/afp1&key=config/linux/l3/v2/route/10.77.0.0/24/v1"
	if status, _, body := request(t, plugins, "GET", waits, ""); status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	return plugins
}

func request(t *testing.T, plugins *app.VPPAgent, method, path, body string) (status int, contentType, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, plugins.HTTP.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	contentType, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	return resp.StatusCode, contentType, string(text)
}
