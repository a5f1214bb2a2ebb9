package agent_test

import (
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// worker is a plugin that describes its work.
type worker struct {
	infra.PluginDeps
	done atomic.Pointer[string]
}

func (*worker) Init() error { return nil }

func (w *worker) Summary() string { return *w.done.Load() }

// notifications listens as systemd does, and returns a function that waits for a message.
func notifications(t *testing.T) (next func() string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	return func() string {
		buffer := make([]byte, 4096)
		n, err := conn.Read(buffer)
		infratest.Fatal(t, err)
		return string(buffer[:n])
	}
}

// expectNext waits for a message, ignoring a status that is on the way to it.
func expectNext(t *testing.T, next func() string, want string) {
	t.Helper()
	for {
		switch got := next(); {
		case got == want:
			return
		case !strings.HasPrefix(got, "STATUS=") || !strings.HasPrefix(want, "STATUS=") && want != "STOPPING=1\nSTATUS=stopping":
			t.Fatalf("notified %q, want %q", got, want)
		}
	}
}

// A program reports to systemd that it is ready, what it does, what is wrong, and that it stops.
func TestSystemdIsNotified(t *testing.T) {
	next := notifications(t)
	w := &worker{}
	w.SetName("worker")
	few, all := "17 of 20 values in effect", "20 of 20 values\nin effect"
	w.done.Store(&few)
	quit := make(chan struct{})
	a := newAgent(t, agent.AllPlugins(w), agent.Args(), agent.Environ(config.ProcessEnviron), agent.QuitOnClose(quit))
	ended := make(chan error, 1)
	go func() { ended <- a.Run() }()
	expectNext(t, next, "READY=1")
	expectNext(t, next, "STATUS=OK; 17 of 20 values in effect")
	w.Health.Degraded("the disk is full", nil)
	expectNext(t, next, "STATUS=DEGRADED; worker: the disk is full; 17 of 20 values in effect")
	w.done.Store(&all)
	w.Health.OK("")
	expectNext(t, next, "STATUS=OK; 20 of 20 values in effect")
	close(quit)
	expectNext(t, next, "STOPPING=1\nSTATUS=stopping")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
