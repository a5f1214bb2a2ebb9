package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// surroundings are a machine in which the documents are followed.
type surroundings struct {
	name string
	// vpp starts the VPP of both agents and returns its API socket; nil if each agent
	// simulates one of its own.
	vpp func(t *testing.T) string
	// simulate is the flag of the agent under test; empty for none.
	simulate string
	// linux is whether the agent under test configures the Linux of this machine.
	linux bool
}

// TestDocumentsLeaveOthersAlone runs every command of agentctl in migrating.md,
// operations.md and the README on an agent that is started as migrating.md says, beside
// another agent, interfaces of others and a namespace of another team. What is not the
// agent's is the same before and after.
func TestDocumentsLeaveOthersAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED THAT DOCUMENTED COMMANDS LEAVE OTHERS ALONE: needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("NOT CHECKED THAT DOCUMENTED COMMANDS LEAVE OTHERS ALONE: needs the command ip")
	}
	for _, s := range []surroundings{
		{name: "simulated", simulate: "--simulate"},
		{name: "Linux", simulate: "--simulate=vpp", linux: true},
		{name: "one VPP", vpp: simulatedVPP, linux: true},
		{name: "one real VPP", vpp: func(t *testing.T) string { return realvpptest.Start(t).Socket }, linux: true},
	} {
		t.Run(s.name, s.walk)
	}
}

func simulatedVPP(t *testing.T) string {
	sim, socket := vppsim.New(vppsim.Options{}), filepath.Join(t.TempDir(), "api.sock")
	if err := sim.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	return socket
}

func (s surroundings) walk(t *testing.T) {
	n := neighbours{fmt.Sprintf("dw%d", os.Getpid()%100000)}
	n.create(t)
	var socket string
	if s.vpp != nil {
		socket = s.vpp(t)
	}
	other := startOther(t, socket)
	dir := t.TempDir()
	text, args := network, []string{"--state-dir", filepath.Join(dir, "state")}
	if s.linux {
		text += n.config(t)
	}
	if s.simulate != "" {
		args = append(args, s.simulate)
	} else {
		writeVPPSocket(t, dir, socket)
	}
	before := n.state(t) + vppOf(t, other)
	ports := startWith(t, dir, text, args...)
	walk(t, ports, dir, "wait config/vpp/v2/route/if/loop1/vrf/0/dst/10.2.0.0/24/gw/10.1.0.2")
	check := func(what string) {
		t.Helper()
		if after := n.state(t) + vppOf(t, other); after != before {
			t.Fatalf("%s changed what is not the agent's; before:\n%s\nafter:\n%s", what, before, after)
		}
	}
	check("the start of the agent")
	commands := 0
	for _, name := range []string{"migrating.md", "operations.md", "../README.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.SplitSeq(m[1], " && agentctl ") {
				commands++
				walk(t, ports, dir, line)
				check(name + ": agentctl " + line)
			}
		}
	}
	if commands < 40 {
		t.Errorf("found %d commands, expected 40 or more: does the pattern match?", commands)
	}
}

// writeVPPSocket configures an agent whose VPP listens on a socket.
func writeVPPSocket(t *testing.T, dir, socket string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "govpp.conf"), []byte("binapi-socket-path: "+socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// walk runs a command of agentctl, with its redirection into a file. The command need
// not be successful.
func walk(t *testing.T, global []string, dir, line string) {
	t.Helper()
	replaced := strings.NewReplacer("network.yaml", filepath.Join(dir, "network.yaml"), "/tmp/", dir+"/",
		"backup.yaml", filepath.Join(dir, "backup.yaml"), "graph.dot", filepath.Join(dir, "graph.dot"),
		" KEY", " config/vpp/v2/interfaces/loop1", " N", " 1", "COMMAND", "values").Replace(line)
	args := append(words(replaced), "--timeout", "10s")
	if args[0] == "report" {
		args = append(args, "--output-directory", dir)
	}
	var out, errs bytes.Buffer
	code := cli.Run(t.Context(), append(args, global...), cli.Streams{Out: &out, Err: &errs}, config.NoEnviron)
	t.Logf("agentctl %s: exit code %d %s", line, code, &errs)
	if _, file, ok := strings.Cut(replaced, " > "); ok {
		if err := os.WriteFile(strings.TrimSpace(file), out.Bytes(), 0o600); err != nil {
			t.Error(err)
		}
	}
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

// config is a configuration of Linux for the agent under test, in a namespace that is
// removed with the test.
func (n neighbours) config(t *testing.T) string {
	t.Helper()
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.prefix+"mine").Run() })
	return strings.ReplaceAll(`linuxConfig:
  interfaces:
  - {name: left, type: VETH, enabled: true, hostIfName: P-l, ipAddresses: [192.0.2.1/30], namespace: {type: NSID, reference: Pmine}, veth: {peerIfName: right}}
  - {name: right, type: VETH, enabled: true, hostIfName: P-r, namespace: {type: NSID, reference: Pmine}, veth: {peerIfName: left}}
  routes: [{dstNetwork: 203.0.113.0/25, gwAddr: 192.0.2.2, outgoingInterface: left, scope: GLOBAL}]
`, "P", n.prefix)
}

// state is the configuration of the neighbours.
func (n neighbours) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, line := range []string{
		"-o addr show dev " + n.prefix + "a", "route show dev " + n.prefix + "a", "-o link show dev " + n.prefix + "a",
		"-n " + n.prefix + " -o addr", "-n " + n.prefix + " route", "-n " + n.prefix + " -o link",
	} {
		// On the standard error ip warns of namespaces of others that are being removed.
		out, err := exec.Command("ip", strings.Fields(line)...).Output()
		fmt.Fprintf(&all, "ip %s: %v\n%s", line, err, lifetimes.ReplaceAllString(string(out), ""))
	}
	return all.String()
}

// lifetimes are what changes without anyone's doing: the duplicate address detection.
var lifetimes = regexp.MustCompile(`\s*tentative|\s*valid_lft \S+|\s*preferred_lft \S+`)

// startOther starts an agent with another label, which configures a loopback. Its VPP
// listens on the socket, or is one of its own. It returns the arguments for agentctl.
func startOther(t *testing.T, socket string) []string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"--microservice-label", "other"}
	if socket == "" {
		args = append(args, "--simulate")
	} else {
		writeVPPSocket(t, dir, socket)
	}
	ports := startWith(t, dir, `vppConfig:
  interfaces: [{name: other, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.9.0.1/24]}]
  routes: [{dstNetwork: 10.99.0.0/24, nextHopAddr: 10.9.0.2, outgoingInterface: other}]
`, args...)
	walk(t, ports, dir, "wait config/vpp/v2/interfaces/other config/vpp/v2/route/if/other/vrf/0/dst/10.99.0.0/24/gw/10.9.0.2")
	return ports
}

// vppOf is what an agent has in its VPP: the items that name the interface "other".
func vppOf(t *testing.T, args []string) string {
	t.Helper()
	var out bytes.Buffer
	code := cli.Run(t.Context(), append([]string{"dump", "vpp.interfaces", "vpp.route", "-f", "json"}, args...), cli.Streams{Out: &out, Err: &out}, config.NoEnviron)
	var items []json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &items); err != nil || code != 0 {
		t.Fatalf("dump of the other agent's VPP: exit code %d, %v\n%s", code, err, &out)
	}
	var all []string
	for _, item := range items {
		if bytes.Contains(item, []byte(`"other"`)) {
			all = append(all, string(item))
		}
	}
	if len(all) < 2 {
		t.Fatalf("the other agent's VPP has %d items of it, expected an interface and a route:\n%s", len(all), &out)
	}
	return strings.Join(all, "\n")
}
