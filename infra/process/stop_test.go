package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestStop(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	proc, out := shell(t, p, `trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done`, func(s *Spec) {
		s.Restart = Restart{Max: Forever, First: time.Millisecond}
	})
	if err := proc.Stop(t.Context()); err != nil {
		t.Error("stop before the start:", err)
	}
	if _, err := proc.Wait(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Error("wait before the start:", err)
	}
	start(t, proc)
	if err := proc.Start(); !errors.Is(err, ErrRunning) {
		t.Error("second start:", err)
	}
	eventually(t, "ready", func() bool { return out.String() == "ready\n" })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proc.Wait(over); !errors.Is(err, context.Canceled) {
		t.Error("wait that is not continued:", err)
	}
	if err := proc.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if s := proc.Status(); s.State != Terminated || s.Last.Code != 5 || !s.Stopping || s.Restarts != 0 {
		t.Errorf("%+v", s)
	}
	if out.String() != "ready\nbye\n" {
		t.Errorf("output %q", out)
	}
	start(t, proc)
	if s := proc.Status(); s.State != Running || s.Stopping || s.PID == 0 {
		t.Errorf("%+v", s)
	}
}

func TestStopOfAWaitingProcess(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	waits := make(chan struct{})
	proc, _ := shell(t, p, `exit 1`, func(s *Spec) {
		s.Restart = Restart{Max: Forever, First: time.Hour}
		s.Changed = func(s Status) {
			if s.State == Waiting {
				close(waits)
			}
		}
	})
	start(t, proc)
	<-waits
	if err := p.Remove("shell"); !errors.Is(err, ErrRunning) {
		t.Error("removed:", err)
	}
	if err := proc.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if s := proc.Status(); s.State != Terminated || s.Last.Code != 1 {
		t.Errorf("%+v", s)
	}
}

// A process that ignores StopSignal is killed with its children.
func TestStopKills(t *testing.T) {
	t.Parallel()
	p, log := newPlugin(t)
	proc, out := shell(t, p, `trap '' TERM; sleep 1000 & echo $!; while :; do sleep 0.01; done`, func(s *Spec) {
		s.StopTimeout = 30 * time.Millisecond
	})
	start(t, proc)
	eventually(t, "ready", func() bool { return strings.HasSuffix(out.String(), "\n") })
	if err := proc.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if s := proc.Status(); s.Last.Signal != syscall.SIGKILL {
		t.Errorf("%+v", s.Last)
	}
	if !strings.Contains(log.String(), "process does not stop, killing it") {
		t.Errorf("the log says\n%s", log)
	}
	expectGone(t, out)
}

// What a process leaves in its group when it ends by itself is killed.
func TestLeftoversAreKilled(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	proc, out := shell(t, p, `sleep 1000 & echo $!; exit 0`, nil)
	start(t, proc)
	if exit := wait(t, proc); exit.Failed() {
		t.Error(exit)
	}
	expectGone(t, out)
}

// expectGone waits for the end of the process whose number was written.
func expectGone(t *testing.T, out *infratest.Buffer) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of the child", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// A daemon that left the group and holds the output does not hold up the end.
func TestDaemonHoldsTheOutput(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("SKIPPED: no setsid here (Debian: apt install util-linux)")
	}
	here := filepath.Join(t.TempDir(), "here")
	proc, out := shell(t, p, `setsid sh -c 'echo $$; touch "$0"; exec sleep 1000' "$0" & until [ -e "$0" ]; do sleep 0.01; done`,
		func(s *Spec) { s.Args = append(s.Args, here) })
	start(t, proc)
	wait(t, proc)
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatalf("output %q, want a process ID", out)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the daemon is gone: %v", err)
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	proc, out := shell(t, p, `trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.01; done`, nil)
	if err := proc.Signal(syscall.SIGUSR1); !errors.Is(err, ErrNotRunning) {
		t.Error("signal before the start:", err)
	}
	start(t, proc)
	eventually(t, "ready", func() bool { return out.String() == "ready\n" })
	if err := proc.Signal(syscall.SIGUSR1); err != nil {
		t.Error(err)
	}
	if exit := wait(t, proc); exit.Failed() || out.String() != "ready\ngot\n" {
		t.Errorf("%v, %q", exit, out)
	}
}
