package docs

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// walked are commands of agentctl in boxes and in indented lines.
var walked = regexp.MustCompile(`(?m)^(?:\$ |    )(?:bin/)?agentctl ([^\n]*)`)

// TestDocumentsLeaveOthersAlone runs every command of agentctl in migrating.md,
// operations.md and the README on an agent that is started as migrating.md says, beside
// another agent, interfaces of others and a namespace of another team. What is not the
// agent's is the same before and after.
func TestDocumentsLeaveOthersAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED THAT DOCUMENTED COMMANDS LEAVE OTHERS ALONE: needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("NOT CHECKED THAT DOCUMENTED COMMANDS LEAVE OTHERS ALONE: needs the command ip")
	}
	n := neighbours{fmt.Sprintf("dw%d", os.Getpid()%100000)}
	n.create(t)
	other := startOther(t)
	before := n.state(t) + vppOf(t, other)

	dir := t.TempDir()
	ports := start(t, dir)
	commands := 0
	for _, name := range []string{"migrating.md", "operations.md", "../README.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range walked.FindAllStringSubmatch(string(text), -1) {
			commands++
			walk(t, ports, dir, m[1])
			if after := n.state(t) + vppOf(t, other); after != before {
				t.Fatalf("%s: agentctl %s changed what is not the agent's; before:\n%s\nafter:\n%s", name, m[1], before, after)
			}
		}
	}
	if commands < 15 {
		t.Errorf("found %d commands: expected more, is the pattern right?", commands)
	}
}

// walk runs a command; it need not be successful.
func walk(t *testing.T, global []string, dir, line string) {
	t.Helper()
	args := words(strings.NewReplacer("network.yaml", filepath.Join(dir, "network.yaml"), "/tmp/", dir+"/").Replace(line))
	var out bytes.Buffer
	code := cli.Run(t.Context(), append(append(args, "--timeout", "10s"), global...), cli.Streams{Out: &out, Err: &out}, config.NoEnviron)
	t.Logf("agentctl %s: exit code %d", line, code)
}

// neighbours are links, addresses and routes that no agent made: some in the namespace
// of the test, some in one of their own. The prefix makes their names unique.
type neighbours struct{ prefix string }

func (n neighbours) create(t *testing.T) {
	t.Helper()
	ns, link := n.prefix, n.prefix+"a"
	t.Cleanup(func() {
		_ = exec.Command("ip", "netns", "del", ns).Run()
		_ = exec.Command("ip", "link", "del", link).Run()
	})
	for _, line := range []string{
		"netns add " + ns,
		"link add " + link + " type veth peer name " + n.prefix + "b netns " + ns,
		"link set " + link + " up alias vpp1/uplink", // marked with the default label
		"addr add 198.51.100.1/30 dev " + link,
		"-n " + ns + " link set " + n.prefix + "b up",
		"-n " + ns + " addr add 198.51.100.2/30 dev " + n.prefix + "b",
		"-n " + ns + " route add 203.0.113.0/24 via 198.51.100.1",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Skipf("NOT CHECKED THAT DOCUMENTED COMMANDS LEAVE OTHERS ALONE: ip %s: %v %s", line, err, out)
		}
	}
}

// state is the configuration of the neighbours.
func (n neighbours) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, line := range []string{
		"-o addr show dev " + n.prefix + "a", "route show dev " + n.prefix + "a", "-o link show dev " + n.prefix + "a",
		"-n " + n.prefix + " -o addr", "-n " + n.prefix + " route", "-n " + n.prefix + " -o link",
	} {
		out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
		fmt.Fprintf(&all, "ip %s: %v\n%s", line, err, lifetimes.ReplaceAllString(string(out), ""))
	}
	return all.String()
}

// lifetimes are what changes without anyone's doing: the duplicate address detection.
var lifetimes = regexp.MustCompile(`tentative|valid_lft \S+|preferred_lft \S+`)

// startOther starts an agent with another label and a VPP of its own, which has a
// loopback. It returns the arguments for agentctl.
func startOther(t *testing.T) []string {
	t.Helper()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	network := filepath.Join(dir, "other.yaml")
	for name, text := range map[string]string{
		network:                                "vppConfig:\n  interfaces:\n  - {name: other, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.9.0.1/24]}\n",
		filepath.Join(dir, "filedb.conf"):      "configuration-paths: [" + network + "]\n",
		filepath.Join(dir, "kvscheduler.conf"): "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := agenttest.New(t, agent.AllPlugins(plugins), agent.Args("--config-dir", dir, "--simulate",
		"--microservice-label", "other", "--http-port", "0", "--grpc-port", "0"))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(plugins.HTTP.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--http-port", port}
	walk(t, args, dir, "wait config/vpp/v2/interfaces/other --missing")
	return args
}

// vppOf is what the VPP of an agent has.
func vppOf(t *testing.T, args []string) string {
	t.Helper()
	var out bytes.Buffer
	code := cli.Run(t.Context(), append([]string{"dump", "vpp.interfaces", "vpp.route", "-f", "json"}, args...), cli.Streams{Out: &out, Err: &out}, config.NoEnviron)
	if code != 0 || !strings.Contains(out.String(), "other") {
		t.Fatalf("dump of the other agent's VPP: exit code %d\n%s", code, &out)
	}
	return out.String()
}
