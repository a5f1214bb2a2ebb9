package webui_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// small is a configuration with a route and a member of a bridge domain that wait for an
// interface: with what is derived and what VPP has by itself somewhat more than 10 values.
const small = `
vppConfig:
  interfaces:
  - {name: loop1, type: SOFTWARE_LOOPBACK, enabled: true, physAddress: "02:00:00:00:00:01", ipAddresses: [10.1.0.1/24]}
  routes:
  - {dstNetwork: 10.2.0.0/24, nextHopAddr: 10.1.0.2, outgoingInterface: loop1}
  - {dstNetwork: 10.3.0.0/24, nextHopAddr: 10.4.0.2, outgoingInterface: loop2}
  bridgeDomains:
  - {name: bd1, forward: true, interfaces: [{name: loop2}]}
`

// large is a configuration with 100,000 routes through three interfaces, one of them
// missing.
func large() string {
	var text strings.Builder
	text.WriteString("vppConfig:\n  interfaces:\n")
	for i := range 2 {
		fmt.Fprintf(&text, "  - {name: loop%d, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.%d.0.1/24]}\n", i, i)
	}
	text.WriteString("  routes:\n")
	for i := range 100_000 {
		out := i % 2
		if i%1000 == 1 {
			out = 2
		}
		fmt.Fprintf(&text, "  - {dstNetwork: 20.%d.%d.%d/32, nextHopAddr: 10.0.0.2, outgoingInterface: loop%d}\n", i>>16, i>>8&255, i&255, out)
	}
	return text.String()
}

// start starts an agent whose southbounds are simulated, with a file of configuration and
// more files NAME.conf by name.
func start(t *testing.T, network string, conf map[string]string, args ...string) *app.VPPAgent {
	t.Helper()
	return startCustom(t, nil, network, conf, args...)
}

// startCustom starts an agent with models and plugins of its own.
func startCustom(t *testing.T, custom []app.Option, network string, conf map[string]string, args ...string) *app.VPPAgent {
	t.Helper()
	plugins, err := app.New(custom...)
	if err != nil {
		t.Fatal(err)
	}
	return startPlugins(t, plugins, network, conf, args...)
}

// startPlugins starts an agent with plugins whose settings may have been changed.
func startPlugins(t *testing.T, plugins *app.VPPAgent, network string, conf map[string]string, args ...string) *app.VPPAgent {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"network.yaml":     network,
		"filedb.conf":      "configuration-paths: [" + filepath.Join(dir, "network.yaml") + "]\n",
		"kvscheduler.conf": "print-txn-summary: false\nstate-dir: " + filepath.Join(dir, "state") + "\n",
	}
	for name, text := range conf {
		files[name+".conf"] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(args) == 0 {
		args = []string{"--simulate=all"}
	}
	a := agenttest.New(t, agent.Name("vpp-agent"), agent.AllPlugins(plugins), agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))),
		agent.Args(append(args, "--config-dir", dir, "--http-port", "0", "--grpc-port", "0")...))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugins
}

// request sends a request to the agent.
func request(t *testing.T, method, url, body string, edit func(*http.Request)) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(req)
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
	return resp.StatusCode, string(text)
}
