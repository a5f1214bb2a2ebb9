package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// TestScenarios executes each document: with a real VPP and packets, and with
// simulators, where all items must become CONFIGURED as well.
func TestScenarios(t *testing.T) {
	documents, err := filepath.Glob("*/README.md")
	if err != nil || len(documents) == 0 {
		t.Fatalf("found no scenarios: %v", err)
	}
	programs := build(t)
	for i, document := range documents {
		name := filepath.Dir(document)
		t.Run(name, func(t *testing.T) {
			t.Run("simulated", func(t *testing.T) {
				t.Parallel()
				newScenario(t, programs, name, "s"+string(rune('a'+i)), "").execute(t)
			})
			t.Run("real", func(t *testing.T) {
				vpp := realvpptest.Find()
				switch {
				case vpp == "":
					t.Skip("NO PACKET WAS SENT: there is no vpp in PATH and VPP_BIN is not set")
				case os.Geteuid() != 0:
					t.Skip("NO PACKET WAS SENT: needs root, to create network namespaces and links")
				}
				s := newScenario(t, programs, name, "r"+string(rune('a'+i)), vpp)
				t.Cleanup(func() { s.checkNothingLeft(t) }) // when the agents have ended
				s.execute(t)
			})
		})
	}
}

// build returns a directory with the programs of the documents.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(infratest.Programs(t.Context(), dir, "vpp-agent", "agentctl"), infratest.Build(t.Context(), "-o", dir+"/", "./...")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scenario is a copy of a directory under names of its own, so that one that runs on
// this machine is left alone.
type scenario struct {
	simulated bool
	dir       string // with bin and examples/scenarios, as in the repository
	renames   *strings.Replacer
	prefix    string // of namespaces and links, instead of "demo-"
	env       []string
	steps     []step

	conditions map[string]bool // of boxes, and whether the machine meets them
}

func newScenario(t *testing.T, programs, name, id, vpp string) *scenario {
	t.Helper()
	s := &scenario{simulated: vpp == "", dir: t.TempDir(), prefix: fmt.Sprintf("%s%d-", id, os.Getpid()%10_000), conditions: map[string]bool{}}
	ports := freePorts(t, 4)
	s.renames = strings.NewReplacer("/tmp/demo-", s.dir+"/demo-", "demo-", s.prefix, "port 9192", "port "+ports[0], "port 9112", "port "+ports[1])
	s.env = append(os.Environ(), "VPP_BIN="+vpp, "HTTP_PORT="+ports[2], "GRPC_PORT="+ports[3])
	if err := os.Symlink(programs, filepath.Join(s.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*/*")
	if err != nil {
		t.Fatal(err)
	}
	var configurations []string
	for _, file := range files { // the configuration, also of other scenarios, which this one may build on
		if ext := filepath.Ext(file); ext == "" || ext == ".go" || ext == ".md" {
			continue
		}
		text := read(t, file)
		configurations = append(configurations, text)
		s.write(t, filepath.Join("examples/scenarios", file), s.renames.Replace(text))
	}
	document := read(t, filepath.Join(name, "README.md"))
	checkExcerpts(t, document, configurations)
	s.steps = parse(t, document)
	return s
}

func (s *scenario) write(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join(s.dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// freePorts returns ports that no program listens on at the moment.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // when all are known, so that they differ
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}

// checkExcerpts checks that the configuration in a document is part of a file.
func checkExcerpts(t *testing.T, document string, files []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(document, -1) {
		if !slices.ContainsFunc(files, func(f string) bool { return strings.Contains(unindent(f), unindent(m[1])) }) {
			t.Errorf("no file has this excerpt of README.md:\n%s", m[1])
		}
	}
}

// unindent removes the indentation of lines.
func unindent(text string) string {
	return regexp.MustCompile(`(?m)^ +`).ReplaceAllString(text, "")
}

// checkNothingLeft checks that the agents removed the namespaces and links.
func (s *scenario) checkNothingLeft(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob("/run/netns/" + s.prefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if strings.HasPrefix(l.Name, s.prefix) {
			left = append(left, l.Name)
		}
	}
	if len(left) > 0 {
		t.Errorf("the agents ended and left behind: %v", left)
	}
}

// step is a command of a document.
type step struct {
	command  string
	expected []string // lines, where "..." is anything
	onlyIf   string   // a command that must be successful, otherwise the step is skipped
}

var (
	box = regexp.MustCompile("(?s)(?:<!-- only if: ([^\n]*) -->\n)?```console\n(.*?)```")
	// agentCommand is a command of the agent, which may read what echo prints.
	agentCommand = regexp.MustCompile(`^(?:echo '[^']*' \| )?bin/(?:vpp-agent|agentctl) `)
	// startVPP are the flags of an agent that starts a VPP.
	startVPP = regexp.MustCompile(`--start-vpp \$VPP_BIN(?: --start-vpp-config \S+)?`)
	comment  = regexp.MustCompile(` {2,}# .*`)
)

// parse finds the commands of a document: the lines of its console boxes that begin
// with a dollar. The lines below a command are what it prints.
func parse(t *testing.T, document string) (steps []step) {
	t.Helper()
	for _, m := range box.FindAllStringSubmatch(document, -1) {
		for text := range strings.SplitSeq("\n"+m[2], "\n$ ") {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if lines[0] == "" {
				continue
			}
			s := step{command: comment.ReplaceAllString(lines[0], ""), onlyIf: m[1]}
			for _, l := range lines[1:] {
				if l = squeeze(l); l != "" {
					s.expected = append(s.expected, l)
				}
			}
			steps = append(steps, s)
		}
	}
	if len(steps) < 3 {
		t.Fatalf("found %d commands in README.md, expected more", len(steps))
	}
	return steps
}

// squeeze makes columns of tables comparable.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

// simulated reports whether a command has the same effect with simulators.
func (c step) simulated() bool {
	return agentCommand.MatchString(c.command) && !strings.Contains(c.command, "bin/agentctl vpp ")
}

// changes reports whether a command is executed once. Others are repeated until they
// print the expected output.
func (c step) changes() bool {
	return strings.Contains(c.command, "bin/agentctl apply ") || strings.Contains(c.command, "bin/agentctl config ") || len(c.expected) == 0
}

// missing returns the first line that is expected and not part of the output.
func (c step) missing(output string, rename *strings.Replacer) string {
	var lines []string
	for line := range strings.Lines(output) {
		lines = append(lines, squeeze(line))
	}
	for _, expected := range c.expected {
		parts := strings.Split(regexp.QuoteMeta(rename.Replace(expected)), `\.\.\.`)
		pattern := regexp.MustCompile(strings.Join(parts, ".*"))
		if !slices.ContainsFunc(lines, pattern.MatchString) {
			return expected
		}
	}
	return ""
}

// execute executes the commands of a document.
func (s *scenario) execute(t *testing.T) {
	t.Helper()
	var running background
	t.Cleanup(func() { running.stop(t) })
	for _, c := range s.steps {
		if s.simulated && !c.simulated() || !s.meets(t, c.onlyIf) {
			continue
		}
		command := s.renames.Replace(c.command)
		if s.simulated {
			command = startVPP.ReplaceAllString(command, "--simulate")
		}
		if daemon, ok := strings.CutSuffix(command, " &"); ok {
			running.start(t, s.shell(t, "exec "+daemon))
			continue
		}
		s.await(t, c, command)
		running.check(t)
	}
}

// meets reports whether the machine meets the condition of a box.
func (s *scenario) meets(t *testing.T, condition string) bool {
	t.Helper()
	if condition == "" {
		return true
	}
	result, known := s.conditions[condition]
	if !known {
		out, err := s.shell(t, s.renames.Replace(condition)).CombinedOutput()
		if result = err == nil; !result {
			t.Run("conditional", func(t *testing.T) { t.Skipf("NOT CHECKED: %s: %s", condition, bytes.TrimSpace(out)) })
		}
		s.conditions[condition] = result
	}
	return result
}

func (s *scenario) shell(t *testing.T, command string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// await executes a command until it prints the expected output.
func (s *scenario) await(t *testing.T, c step, command string) {
	t.Helper()
	for late := time.Now().Add(patience); ; {
		out, err := s.shell(t, command).CombinedOutput()
		missing := c.missing(string(out), s.renames)
		var failed *exec.ExitError
		switch {
		case err != nil && !errors.As(err, &failed):
			t.Fatalf("%s: %v", c.command, err)
		case c.changes() && err != nil:
			t.Fatalf("%s: %v\n%s", c.command, err, out)
		case missing == "":
			t.Logf("$ %s\n%s", c.command, out)
			return
		case c.changes() || time.Now().After(late):
			t.Fatalf("%s: expected %q, got\n%s", c.command, missing, out)
		}
	}
}

// background is the programs that run beside the commands.
type background []*daemon

// daemon is a program that runs until it is interrupted.
type daemon struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // of its end
}

func (b *background) start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	d := &daemon{cmd: cmd, log: filepath.Join(t.TempDir(), "log"), done: make(chan struct{})}
	log, err := os.Create(d.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.done)
		d.err = cmd.Wait()
		log.Close()
	}()
	*b = append(*b, d)
}

func (d *daemon) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// check fails the test if a program failed.
func (b background) check(t *testing.T) {
	t.Helper()
	for _, d := range b {
		if d.ended() && d.err != nil {
			t.Fatalf("%s ended: %v\n%s", d.cmd.Args[2], d.err, read(t, d.log))
		}
	}
}

// stop interrupts the programs, the last one first.
func (b background) stop(t *testing.T) {
	t.Helper()
	for _, d := range slices.Backward(b) {
		_ = d.cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case <-d.done:
		case <-time.After(patience):
			_ = d.cmd.Process.Kill()
			<-d.done
			t.Errorf("%s does not end", d.cmd.Args[2])
		}
		if d.err != nil {
			t.Errorf("%s ended with %v", d.cmd.Args[2], d.err)
		}
		if text, err := os.ReadFile(d.log); t.Failed() && !errors.Is(err, fs.ErrNotExist) {
			t.Logf("output of %s:\n%s", d.cmd.Args[2], text)
		}
	}
}
