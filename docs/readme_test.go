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
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
)

// TestReadme runs the commands of the README on what "make run" starts, beside
// interfaces and a namespace of others, which stay as they are. The names of the
// quickstart have another prefix, so that one that runs on this machine is left alone.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED THAT THE README CAN BE FOLLOWED: needs root")
	}
	for _, program := range []string{"ip", "ping", "bash", "sed"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT CHECKED THAT THE README CAN BE FOLLOWED: needs the command %s", program)
		}
	}
	programs := t.TempDir()
	if err := infratest.Programs(t.Context(), programs, "vpp-agent", "agentctl"); err != nil {
		t.Fatal(err)
	}
	t.Run("simulated VPP", func(t *testing.T) { newCheckout(t, programs, "rs", "SIMULATE=vpp").follow(t, false) })
	t.Run("real VPP", func(t *testing.T) {
		vpp := realvpptest.Find()
		if vpp == "" {
			t.Skip("NOT CHECKED THAT THE README CAN BE FOLLOWED WITH A REAL VPP: there is no vpp in PATH and VPP_BIN is not set")
		}
		newCheckout(t, programs, "rv", "VPP_BIN="+vpp).follow(t, true)
	})
}

// checkout is what "make run" needs of the repository, with the programs.
type checkout struct {
	dir, prefix string
	env         []string
	code        int // of the last command, for "echo $?"
}

func newCheckout(t *testing.T, programs, prefix string, env ...string) *checkout {
	t.Helper()
	c := &checkout{dir: t.TempDir(), prefix: fmt.Sprintf("%s%d-", prefix, os.Getpid()%10000)}
	c.env = append(append(os.Environ(), "VPP_BIN=", "HTTP_PORT="+freePort(t), "GRPC_PORT="+freePort(t), "VPP_SOCKET="+filepath.Join(c.dir, "none")), env...)
	if err := os.Symlink(programs, filepath.Join(c.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(c.dir, "examples/quickstart"), os.DirFS("../examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.dir, "examples/quickstart/network.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(c.rename(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// freePort returns a port that no program listens on at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// rename gives the namespaces and cables of the quickstart other names.
func (c *checkout) rename(text string) string { return strings.ReplaceAll(text, "qs-", c.prefix) }

// follow starts the quickstart, and executes the box of the README. Pings need a VPP
// that forwards.
func (c *checkout) follow(t *testing.T, forwards bool) {
	n := neighbours{c.prefix + "n"}
	n.create(t)
	before := n.state(t)
	end := c.run(t)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	box := regexp.MustCompile("(?s)```console\n(.*?)```").FindStringSubmatch(string(readme))
	if box == nil {
		t.Fatal("README.md has no box of commands")
	}
	c.shell(t, "bin/agentctl status --wait")
	for step := range strings.SplitSeq("\n"+box[1], "\n$ ") {
		line, expected, _ := strings.Cut(step, "\n")
		line, _, _ = strings.Cut(line, "   #")
		if line == "" || strings.HasPrefix(line, "echo") || strings.Contains(line, "ping") && !forwards {
			continue
		}
		c.await(t, line, strings.Split(strings.TrimSpace(expected), "\n"))
	}
	end()
	if after := n.state(t); after != before {
		t.Errorf("following the README changed what is not the agent's; before:\n%s\nafter:\n%s", before, after)
	}
	if left := c.shell(t, "ip netns; ip -o link"); strings.Contains(left, c.prefix+"red") || strings.Contains(left, c.prefix+"vpp") {
		t.Errorf("the quickstart has ended and left behind:\n%s", left)
	}
}

// run starts the script of "make run", and returns what ends it as Ctrl-C does.
func (c *checkout) run(t *testing.T) (end func()) {
	t.Helper()
	cmd := exec.Command("bash", "examples/quickstart/run.sh")
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("run.sh: %v\n%s", err, &out)
		}
	}
	t.Cleanup(end)
	return end
}

// shell runs a command of the README.
func (c *checkout) shell(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf("(exit %d); ", c.code)+c.rename(line))
	cmd.Dir, cmd.Env = c.dir, c.env
	out, _ := cmd.CombinedOutput() // some of the commands report a problem with their exit code
	if !strings.HasPrefix(line, "echo $?") {
		c.code = cmd.ProcessState.ExitCode()
	}
	return string(out)
}

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// changing is what differs from one run to the next: times and directories.
var changing = regexp.MustCompile(`time=\S+|ttl=\S+|for \d+\S*|\S*/examples/quickstart/`)

// await repeats a command until it prints the lines that are expected.
func (c *checkout) await(t *testing.T, line string, expected []string) {
	t.Helper()
	normal := func(text string) string { return squeeze(changing.ReplaceAllString(c.rename(text), "")) }
	for end := time.Now().Add(patience); ; {
		out := c.shell(t, line)
		missing := ""
		for _, l := range expected {
			if !strings.Contains(normal(out), normal(l)) {
				missing = l
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(end) || !repeats(line) {
			t.Fatalf("%s: expected %q, got\n%s", line, missing, out)
		}
	}
}

// repeats reports whether a command only looks.
func repeats(line string) bool {
	return strings.HasPrefix(line, "bin/agentctl") || strings.Contains(line, "ping")
}
