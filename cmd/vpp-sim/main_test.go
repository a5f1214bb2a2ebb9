package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines collects the output, line by line.
type lines struct{ ch chan string }

func (l lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l.ch <- strings.TrimSuffix(line, "\n")
	}
	return len(p), nil
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, controlSocket := filepath.Join(dir, "run", "api.sock"), filepath.Join(dir, "control")
	ctx, cancel := context.WithCancel(t.Context())
	in, type_ := io.Pipe()
	out := lines{make(chan string, 100)}
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--socket", socket, "--control", controlSocket, "--release", "23.06", "--host-interfaces"}, in, out)
	}()
	for _, want := range []string{"simulated VPP 23.06 on " + socket, "control commands on " + controlSocket} {
		if line := <-out.ch; line != want {
			t.Errorf("%q, expected %q", line, want)
		}
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := type_.Write([]byte("dump\n")); err != nil {
		t.Fatal(err)
	}
	if line := <-out.ch; !strings.HasPrefix(line, "interface 0 local0") {
		t.Errorf("%q", line)
	}
	_ = type_.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, path := range []string{socket, controlSocket} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestControlSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	out := lines{make(chan string, 100)}
	done := make(chan error, 1)
	control := filepath.Join(dir, "control")
	go func() {
		done <- run(ctx, []string{"--socket", filepath.Join(dir, "s"), "--control", control}, strings.NewReader("pid\n"), out)
	}()
	<-out.ch // it serves
	<-out.ch // it takes commands
	<-out.ch // the pid asked for on standard input
	conn, err := net.Dial("unix", control)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("fail create_loopback -6 1\ncounts\n")); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewScanner(conn)
	for range 2 {
		if !answer.Scan() || answer.Text() != "." {
			t.Errorf("%q, %v", answer.Text(), answer.Err())
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = conn.Close()
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--release", "1.2"}, {"--nope"}, {"extra"}, {"--socket", "/proc/nope/api.sock"}} {
		if err := run(t.Context(), args, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	_, err := parse([]string{"--help"}, &out)
	if err == nil || !strings.Contains(out.String(), "--host-interfaces") || !strings.Contains(out.String(), "failafter MESSAGE") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
