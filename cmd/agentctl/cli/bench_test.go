package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	vppagent "github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// simulated starts an agent with simulated southbounds, and returns where it serves HTTP.
func simulated(tb testing.TB) (host, port string) {
	tb.Helper()
	plugins := simulatedAgent(tb)
	host, port, err := net.SplitHostPort(plugins.HTTP.Addr().String())
	infratest.Fatal(tb, err)
	return host, port
}

// simulatedAgent starts an agent with simulated southbounds.
func simulatedAgent(tb testing.TB, args ...string) *vppagent.VPPAgent {
	tb.Helper()
	dir := tb.TempDir()
	for _, name := range []string{"http.conf", "grpc.conf"} {
		infratest.Fatal(tb, os.WriteFile(filepath.Join(dir, name), []byte("endpoint: 127.0.0.1:0\n"), 0o600))
	}
	plugins, err := vppagent.New()
	infratest.Fatal(tb, err)
	a := agenttest.New(tb, agent.AllPlugins(plugins), agent.Args(append([]string{"--config-dir", dir, "--simulate"}, args...)...))
	infratest.Fatal(tb, a.Start(tb.Context()))
	return plugins
}

// BenchmarkHistory shows a transaction with 100,000 values: in the list, by its number, and what
// determined how long it took.
func BenchmarkHistory(b *testing.B) {
	const values = 100_000
	dir := b.TempDir()
	host, port := simulated(b)
	agentctl := func(args ...string) string {
		var out, errs bytes.Buffer
		f := cmdutil.NewFactory(Streams{Out: &out, Err: &errs}, config.NoEnviron, time.Now, output.Terminal{})
		if code := execute(b.Context(), f, append([]string{"--host", host, "--http-port", port}, args...)); code != 0 {
			b.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	var text strings.Builder
	text.WriteString("vppConfig:\n  interfaces:\n  - {name: loop1, type: SOFTWARE_LOOPBACK, enabled: true, ip_addresses: [192.168.1.1/24]}\n  routes:\n")
	for i := range values {
		fmt.Fprintf(&text, "  - {dst_network: 10.%d.%d.%d/32, next_hop_addr: 192.168.1.2, outgoing_interface: loop1}\n", i>>16, i>>8&255, i&255)
	}
	file := filepath.Join(dir, "network.yaml")
	infratest.Fatal(b, os.WriteFile(file, []byte(text.String()), 0o600))
	agentctl("config", "update", file) // without a plan, which a VPP that connects now makes stale
	lines := strings.Split(agentctl("config", "history"), "\n")
	var number string
	for _, line := range lines {
		if strings.Contains(line, fmt.Sprintf("%d values", values+1)) {
			number = strings.Fields(line)[0]
		}
	}
	if number == "" {
		b.Fatalf("no transaction of %d values in\n%s", values+1, strings.Join(lines, "\n"))
	}
	for name, args := range map[string][]string{
		"history-cli-list-100k": {}, "history-cli-one-100k": {number}, "history-cli-path-100k": {number, "--critical-path"},
	} {
		fastest := time.Duration(0)
		for range b.N {
			fastest = infratest.Fastest(3, func() time.Duration {
				return infratest.Took(func() { agentctl(append([]string{"config", "history"}, args...)...) })
			})
		}
		infratest.AtMost(b, name, fastest.Seconds(), "s", 0.3)
	}
}
