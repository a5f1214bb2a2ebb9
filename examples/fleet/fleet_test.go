package fleet

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// twoPorts returns a free port whose next one is free as well.
func twoPorts(t *testing.T) int {
	t.Helper()
	for {
		one, err := net.Listen("tcp", "127.0.0.1:0")
		infratest.Fatal(t, err)
		port := one.Addr().(*net.TCPAddr).Port
		two, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+1))
		_ = one.Close()
		if err == nil {
			_ = two.Close()
			return port
		}
	}
}

// The commands of "Try it" do what the page says.
func TestReadme(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("NOT CHECKED: there is no etcd here (Debian: apt install etcd-server)")
	}
	text, err := os.ReadFile("README.md")
	infratest.Fatal(t, err)
	_, tried, ok := strings.Cut(string(text), "## Try it\n")
	if !ok {
		t.Fatal("the page has no section 'Try it'")
	}
	bin, port := t.TempDir(), strconv.Itoa(twoPorts(t))
	infratest.Fatal(t, infratest.Programs(t.Context(), bin, "vpp-agent", "agentctl"))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var log bytes.Buffer
	start := exec.CommandContext(ctx, "./start.sh")
	start.Env = append(start.Environ(), "BIN="+bin, "ETCD_PORT="+port)
	start.Stdout, start.Stderr, start.WaitDelay = &log, &log, 30*time.Second
	start.Cancel = func() error { return start.Process.Signal(syscall.SIGTERM) }
	infratest.Fatal(t, start.Start())
	defer func() {
		if err := start.Cancel(); err != nil {
			t.Error(err)
		}
		if err := start.Wait(); err != nil {
			t.Errorf("start.sh: %v\n%s", err, log.String())
		}
	}()
	agentctl := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, bin+"/agentctl", args...)
		cmd.Dir, cmd.Env = "../..", append(cmd.Environ(), "ETCD_ENDPOINTS=127.0.0.1:"+port)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < 3; <-tick.C { // until the routers are there
		if ctx.Err() != nil {
			t.Fatal("the routers do not run")
		}
		out, _ := agentctl("fleet", "agents")
		n = strings.Count(out, "edge-")
	}
	commands := 0
	for line := range strings.Lines(tried) {
		command, ok := strings.CutPrefix(line, "    bin/agentctl ")
		if !ok {
			continue
		}
		commands++
		out, err := agentctl(strings.Fields(command)...)
		fails := strings.Contains(command, "--fault")
		if (err != nil) != fails {
			t.Errorf("%s%v\n%s", line, err, out)
		}
		for word, want := range map[string]string{
			"apply": "rollout r-1: 3 agents have revision 1", "why": "underlay", "rehearse": "the rollout would fail: wave", "undo": "3 agents have revision 0", "history": "r-1-undo",
		} {
			if strings.HasPrefix(command, "fleet "+word) && !strings.Contains(out, want) {
				t.Errorf("%sexpected %q in\n%s", line, want, out)
			}
		}
	}
	if commands != 6 {
		t.Errorf("the page has %d commands, expected 6", commands)
	}
}
