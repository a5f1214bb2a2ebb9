package docs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// documents are the Markdown files of the repository, but those that are generated.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "reference"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		texts[strings.TrimPrefix(path, "../")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var (
	// command is a call of agentctl in a block of code or between backticks.
	command = regexp.MustCompile("(?m)(?:^ {4,}|^\\$ |`|\\./cmd/|&& |^)(?:bin/|\\./cmd/)?agentctl ([^\n`]*)")
	// agentCall is a call of vpp-agent.
	agentCall = regexp.MustCompile("(?m)(?:^ {4,}|^\\$ |`|\\./cmd/)(?:bin/|\\./cmd/)?vpp-agent ([^\n`]*)")
	// link is a link to a file or a page.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// Every command of agentctl that is named exists, with its flags.
func TestCommandsExist(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"statuss", "config gett", "status --wait-for-it", "plan -z"} {
		if exists(cli.Commands(), words(wrong)) == nil {
			t.Errorf("agentctl %s is taken for a command", wrong)
		}
	}
	n := 0
	for name, text := range documents(t) {
		if name == "docs/compatibility.md" { // its own test executes the commands, wrong ones included
			continue
		}
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			args := words(m[1])
			if len(args) == 0 || strings.ToUpper(args[0]) == args[0] { // COMMAND
				continue
			}
			n++
			if err := exists(cli.Commands(), args); err != nil {
				t.Errorf("%s: agentctl %s: %v", name, m[1], err)
			}
		}
	}
	if n < 30 {
		t.Errorf("found %d commands: expected more, is the pattern right?", n)
	}
}

// words splits a command line up to where the shell takes over.
func words(line string) []string {
	var args []string
	for _, w := range strings.Fields(line) {
		if w == "&&" || w == "|" || w == ">" || w == "#" || w == ";" || strings.HasPrefix(w, "#") {
			break
		}
		args = append(args, strings.Trim(w, `"'`))
	}
	return args
}

// exists finds the command, and its flags.
func exists(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root || cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && strings.ToUpper(rest[0]) != rest[0] {
		return errors.New("no such command")
	}
	for _, a := range rest {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		var f *pflag.Flag
		switch {
		case strings.HasPrefix(a, "--"):
			f = cmd.Flag(name)
		case strings.HasPrefix(a, "-") && len(name) == 1:
			if f = cmd.Flags().ShorthandLookup(name); f == nil {
				f = root.PersistentFlags().ShorthandLookup(name)
			}
		default:
			continue
		}
		if f == nil {
			return fmt.Errorf("no flag %s", a)
		}
	}
	return nil
}

// Every flag of vpp-agent that is named exists.
func TestFlagsOfTheAgentExist(t *testing.T) {
	t.Parallel()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	flags := agent.NewAgent(agent.AllPlugins(plugins), agent.Args(), agent.Environ(config.NoEnviron)).Flags()
	n := 0
	for name, text := range documents(t) {
		for _, m := range agentCall.FindAllStringSubmatch(text, -1) {
			for _, a := range words(m[1]) {
				flag, long := strings.CutPrefix(a, "--")
				if flag, _, _ = strings.Cut(flag, "="); !long || flag == "" || flag == "help" {
					continue
				}
				n++
				if flags.Lookup(flag) == nil {
					t.Errorf("%s: vpp-agent %s: no flag --%s", name, m[1], flag)
				}
			}
		}
	}
	if n < 5 {
		t.Errorf("found %d flags: expected more, is the pattern right?", n)
	}
}

// inlineGo is code with an instance of a generic type, which looks like a link.
var inlineGo = regexp.MustCompile("`[^`\n]*\\]\\([^`\n]*`")

// Every link to a file of the repository leads somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(inlineGo.ReplaceAllString(text, ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", filepath.Dir(name), target)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			}
		}
	}
}

const network = `vppConfig:
  interfaces:
  - {name: loop1, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.1.0.1/24]}
  routes:
  - {dstNetwork: 10.2.0.0/24, nextHopAddr: 10.1.0.2, outgoingInterface: loop1}
  - {dstNetwork: 10.3.0.0/24, nextHopAddr: 10.4.0.2, outgoingInterface: loop2}
`

// TestOperations executes the boxes of operations.md, in their order, on an agent
// with a simulated VPP. The output must contain the lines of a box.
func TestOperations(t *testing.T) {
	text, err := os.ReadFile("operations.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ports := start(t, dir)
	executed := 0
	for _, box := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var line, out string
		for _, l := range strings.Split(strings.TrimSpace(box[1]), "\n") {
			if next, ok := strings.CutPrefix(l, "$ agentctl "); ok {
				line, out = next, run(t, ports, dir, next)
				executed++
				continue
			}
			if !strings.Contains(squeeze(out), squeeze(l)) {
				t.Errorf("agentctl %s: no line %q in\n%s", line, l, out)
			}
		}
	}
	if executed < 12 {
		t.Errorf("%d commands executed, expected 12 or more", executed)
	}
}

var ages = regexp.MustCompile(` \d+(s|m\d+s) `)

// squeeze makes columns of tables comparable, whatever the age of values.
func squeeze(text string) string {
	return ages.ReplaceAllString(strings.Join(strings.Fields(text), " "), " AGE ")
}

// start starts an agent with network.yaml and a simulated VPP and Linux. It returns
// the arguments for agentctl.
func start(t *testing.T, dir string) []string {
	t.Helper()
	ports := startWith(t, dir, network, "--simulate", "--state-dir", filepath.Join(dir, "state"))
	run(t, ports, dir, "wait config/vpp/v2/route/if/loop1/vrf/0/dst/10.2.0.0/24/gw/10.1.0.2")
	return ports
}

// startWith starts an agent with a file network.yaml, and waits until it is ready. It returns the arguments for agentctl.
func startWith(t *testing.T, dir, network string, args ...string) []string {
	t.Helper()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"network.yaml": network, "filedb.conf": "configuration-paths: [" + filepath.Join(dir, "network.yaml") + "]\n",
		"kvscheduler.conf": "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := agenttest.New(t, agent.AllPlugins(plugins), agent.Args(append(args, "--config-dir", dir, "--http-port", "0", "--grpc-port", "0")...))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(plugins.HTTP.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ports := []string{"--http-port", port}
	var out bytes.Buffer
	if code := cli.Run(t.Context(), append([]string{"status", "--wait"}, ports...), cli.Streams{Out: &out, Err: &out}, config.NoEnviron); code != 0 {
		t.Fatalf("agentctl status --wait: exit code %d\n%s", code, &out)
	}
	return ports
}

// run runs agentctl. Findings (exit code 2) are as good as nothing found.
func run(t *testing.T, global []string, dir, line string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	args := words(strings.NewReplacer("network.yaml", filepath.Join(dir, "network.yaml"), "/tmp/", dir+"/", "../tenuto", root).Replace(line))
	var out, errs bytes.Buffer
	code := cli.Run(t.Context(), append(args, global...), cli.Streams{Out: &out, Err: &errs}, config.NoEnviron)
	if code != 0 && code != 2 {
		t.Errorf("agentctl %s: exit code %d\n%s%s", line, code, &out, &errs)
	}
	return out.String()
}
