package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// TestCustomAgents follows custom-agents.md: it writes an agent in a module of its own, builds it, and
// uses it. "go mod tidy" would download modules that only tests of dependencies need, so "go list"
// completes go.mod instead.
func TestCustomAgents(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	page, err := os.ReadFile("custom-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	boxes := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(boxes) != 2 {
		t.Fatalf("found %d boxes of commands, expected 2", len(boxes))
	}
	dir := t.TempDir()
	for line := range strings.Lines(boxes[0][1]) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "$ "))
		switch program, args, _ := strings.Cut(line, " "); {
		case program == "mkdir":
		case line == "go mod tidy":
			completeModule(t, dir)
		case program == "agentctl":
			run(t, []string{"--dir", dir}, dir, args)
		case program == "go":
			inModule(t, dir, line)
		default:
			t.Errorf("%q: expected mkdir, agentctl or go", line)
		}
	}
	program, err := os.Stat(filepath.Join(dir, "bin", "motd"))
	if err != nil {
		t.Fatal(err)
	}
	if size := program.Size() >> 20; size > 22 {
		t.Errorf("the program has %d MB, the page says 19", size)
	}
	port := freePort(t)
	log := startProgram(t, filepath.Join(dir, "bin", "motd"), dir, "--http-port", port)
	global := []string{"--http-port", port}
	for _, line := range []string{"status --wait", "wait config/motd/v1/message/first"} {
		var out bytes.Buffer
		if code := cli.Run(t.Context(), append(strings.Fields(line), global...), cli.Streams{Out: &out, Err: &out}, config.NoEnviron); code != 0 {
			t.Fatalf("agentctl %s: exit code %d\n%s\n%s", line, code, &out, log)
		}
	}
	for step := range strings.SplitSeq("\n"+strings.TrimSpace(boxes[1][1]), "\n$ agentctl ") {
		line, want, _ := strings.Cut(step, "\n")
		if line == "" {
			continue
		}
		if got := squeeze(run(t, global, dir, line)); want == "" || !strings.Contains(got, squeeze(want)) {
			t.Errorf("agentctl %s: expected %q, got\n%s", line, want, got)
		}
	}
}

// completeModule completes go.mod and go.sum, and checks that they are complete.
func completeModule(t *testing.T, dir string) {
	t.Helper()
	const list = "go list -deps -test ./... tool >/dev/null"
	inModule(t, dir, list, "GOFLAGS=-mod=mod "+moduleFlags)
	inModule(t, dir, list, "GOFLAGS=-mod=readonly "+moduleFlags)
}

// moduleFlags are the flags of this module, too, so that its packages need not be compiled again.
const moduleFlags = "-trimpath -tags=grpcnotrace"

// inModule runs a go command in a directory, with the modules that are on this machine. The directory
// and this module are in one workspace: the packages of a module that is required are other ones for the
// cache of the go command, and would be compiled again.
func inModule(t *testing.T, dir, line string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	if len(env) == 0 {
		env = []string{"GOFLAGS=" + moduleFlags, "GOWORK=" + workspace(t, dir)}
	}
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOSUMDB=off"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// startProgram starts an agent, which ends with the test, and returns its log.
func startProgram(t *testing.T, program, dir string, args ...string) *bytes.Buffer {
	t.Helper()
	agent, log := exec.CommandContext(t.Context(), program, args...), &bytes.Buffer{}
	agent.Dir, agent.Stdout, agent.Stderr = dir, log, log
	agent.Cancel = func() error { return agent.Process.Signal(os.Interrupt) }
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Wait returns the error of the context if the agent exits without an error.
		if err := agent.Wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("the agent ended with %v\n%s", err, log)
		}
	})
	return log
}

// workspace writes a workspace of a module and this one.
func workspace(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(string(module))
	file := filepath.Join(t.TempDir(), "go.work")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s\n\nuse (\n\t%s\n\t%s\n)\n", version, dir, root), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
