package compatibility

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// command is a command line of the predecessor's agentctl, with what its output has.
type command struct {
	line string // FILE, IMPORT and DIR stand for paths
	verdict
	how    string
	output string
	code   int
}

func commandRows() (rows []row) {
	for _, c := range commands() {
		rows = append(rows, row{"agentctl " + c.line, c.verdict, c.how})
	}
	return rows
}

// commands are in the order in which the test runs them: some need what earlier ones did.
func commands() []command {
	const (
		secrets = "secrets are `***` without `--show-secrets`"
		states  = "the answer says what is in effect, and what waits for what"
	)
	return []command{
		{"config get", better, secrets, "bridgeDomains:", 0},
		{"config get -f json", better, secrets, `"bridgeDomains"`, 0},
		{"config get --labels io.ligato.from-client=agentctl", better, secrets, "vppConfig:", 0},
		{"config update FILE", better, states, "in effect", 0},
		{"config update -t 1m --labels a=b FILE", better, states, "in effect", 0},
		{"config update --replace FILE", better, states, "in effect", 0},
		{"config delete FILE --waitdone", better, "the exit code is 1 if it failed, or if clients have not put an item", "OK", 0},
		{"config retrieve", same, "", "vppConfig:", 0},
		{"config dump -f json", same, "", `"vppConfig"`, 0},
		{"config resync --verbose --retry", same, "", "Transaction", 0},
		{"config history", same, "", "SEQ", 0},
		{"config history --details", same, "", "SEQ", 0},
		{"config history 1 -f json", same, "", `"SeqNum": 1`, 0},
		{"config history -f log", same, "", "transaction", 0},
		{"dump all", same, "", "KEY", 0},
		{"dump vpp.interfaces --view NB --origin NB -f json", same, "", "", 0},
		{"dump vpp.* --view cached", same, "", "KEY", 0},
		{"dump vpp.interfaces --view SB", same, "", "KEY", 0},
		{"generate vpp.interfaces", better, "with the comments of the schema; it can be applied", "", 0},
		{"generate vpp.interfaces -f json --oneline", same, "", "{", 0},
		{"generate vpp.interfaces -f proto", same, "", "name:", 0},
		{"import --grpc --txops 10 -t 30s IMPORT", same, "", "", 0},
		{"log list", same, "", "LOGGER", 0},
		{"log ls govpp", same, "", "govpp", 0},
		{"log set govpp debug", same, "", "debug", 0},
		{"metrics list", better, "the metrics for Prometheus, too", "ligato.govppmux.Metrics", 0},
		{"metrics get govppmux.stats", same, "", "requests_sent", 0},
		{"model list", same, "", "vpp.interfaces", 0},
		{"model ls vpp.* --class config", same, "", "vpp.interfaces", 0},
		{"models ls", same, "", "vpp.interfaces", 0},
		{"model inspect vpp.interfaces", same, "", "ligato.vpp.interfaces.Interface", 0},
		{"report -i -o DIR", same, "", "", 0},
		{"kvdb put config/vpp/v2/interfaces/kv VALUE", same, "", "OK", 0},
		{"kvdb list", same, "", "/vnf-agent/vpp1/config/vpp/v2/interfaces/kv", 0},
		{"kv ls config/", same, "", "/vnf-agent/vpp1/config/vpp/v2/interfaces/kv", 0},
		{"kvdb get config/vpp/v2/interfaces/kv", better, "the label is vpp1 without --service-label, as in the agent", "SOFTWARE_LOOPBACK", 0},
		{"kvdb del config/vpp/v2/interfaces/kv", same, "", "deleted", 0},
		{"put config/vpp/v2/interfaces/kv VALUE", same, "", "OK", 0},
		{"import --txops 10 IMPORT", same, "", "imported 1 items", 0},
		{"config watch", better, "a line for each notification, with its time and what changes; `--full` prints all of it, as Ligato does", "vpp.interfaces/", 0},
		{"config watch --full", same, "", "NOTIFICATION", 0},
		{"config watch --filter {\"vppNotification\":{\"interface\":{\"state\":{\"name\":\"loop1\"}}}} -f json", same, "", "loop1", 0},
		{"service call ligato.generic.MetaService KnownModels", same, "", "protoName: ligato.vpp.interfaces.Interface", 0},
		{"service list", same, "", "ligato.generic.ManagerService", 0},
		{"service list -m ligato.generic.MetaService", same, "", "KnownModels", 0},
		{"status", better, "one screen: values by state, and the worst with their reasons", "vpp-agent", 0},
		{"status -f json", better, "works while the agent is not ready, too", "PluginStatus", 0},
		{"values", better, "age, source, and what a value waits for, in a table that fits the terminal", "SOURCE", 0},
		{"values vpp.interfaces", same, "", "vpp.interfaces", 0},
		{"values -f json", same, "", "[", 0},
		{"vpp info", same, "", "vpp v", 0},
		{"vpp cli show version", same, "", "vpp v", 0},
		{"--version", same, "", "", 0},
		{"-D -l debug status", same, "", "", 0},
		{"--service-label vpp1 --timeout 10s values", same, "", "", 0},
		{"--insecure-tls values", better, "asks for TLS, so that an agent without it is an error", "does not use TLS", 1},
		{"-e 127.0.0.1:2379 values", same, "", "", 0},
		{"--http-basic-auth user:pass values", same, "", "", 0},
		{"--config-dir DIR values", same, "", "", 0},
		{"help config", same, "", "update", 0},
		{"config update NONE", same, "", "no such file", 1},
		{"nosuch", same, "", "nosuch", 125},
		{"values --nosuch", same, "", "nosuch", 125},
	}
}

const (
	fileText   = "vppConfig:\n  interfaces:\n  - {name: ctlloop, type: SOFTWARE_LOOPBACK}\n"
	importText = "# one item\nconfig/vpp/v2/interfaces/imported {\"name\": \"imported\", \"type\": \"SOFTWARE_LOOPBACK\"}\n"
)

// stopping interrupts a command that prints without end when it has printed a text.
type stopping struct {
	text *bytes.Buffer
	at   string
	stop context.CancelFunc
}

func (s *stopping) Write(p []byte) (int, error) {
	n, err := s.text.Write(p)
	if strings.Contains(s.text.String(), s.at) {
		s.stop()
	}
	return n, err
}

// TestCommands runs all command lines.
func TestCommands(t *testing.T) {
	t.Parallel()
	plugins, dir := startAgent(t), t.TempDir()
	paths := map[string]string{"FILE": filepath.Join(dir, "file.yaml"), "IMPORT": filepath.Join(dir, "items.txt"), "DIR": dir, "NONE": filepath.Join(dir, "none.yaml"),
		"VALUE": `{"name":"kv","type":"SOFTWARE_LOOPBACK"}`}
	store := kvtest.Etcd(t)
	for path, text := range map[string]string{"FILE": fileText, "IMPORT": importText} {
		if err := os.WriteFile(paths[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, http, _ := net.SplitHostPort(strings.TrimPrefix(plugins.HTTP.URL(), "http://"))
	_, grpc, _ := net.SplitHostPort(plugins.GRPC.Addr().String())
	for _, c := range commands() {
		args := []string{"--host", host, "--http-port", http, "--grpc-port", grpc, "--etcd-endpoints", store.Direct}
		for word := range strings.FieldsSeq(c.line) {
			if path, ok := paths[word]; ok {
				word = path
			}
			args = append(args, word)
		}
		var out, errs bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		stream := &stopping{text: &out, at: c.output, stop: cancel}
		if !strings.HasPrefix(c.line, "config watch") {
			stream.stop = func() {}
		}
		code := cli.Run(ctx, args, cli.Streams{Out: stream, Err: &errs}, config.NoEnviron)
		cancel()
		if text := out.String() + errs.String(); code != c.code || !strings.Contains(text, c.output) {
			t.Errorf("agentctl %s: exit code %d, expected %d and %q:\n%.600s", c.line, code, c.code, c.output, text)
		}
	}
}
