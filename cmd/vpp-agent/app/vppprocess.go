package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// restartPause is how long a VPP that ended stays down.
	restartPause = time.Second
	// stopPatience is how long VPP may take to end when it is asked to.
	stopPatience = 2 * time.Second
	// lastWords bounds what is kept of VPP's output, to tell why it ended.
	lastWords = 2 << 10
)

// keepRunning runs VPP again and again until ctx ends.
func (p *LocalVPP) keepRunning(ctx context.Context, program, conf string) {
	// The kernel kills VPP when the thread that started it ends, which must
	// happen with the agent and not before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		err := p.runOnce(ctx, program, conf)
		if ctx.Err() != nil {
			return
		}
		p.Log.Error("VPP ended, starting it again", "program", program, "error", err)
		p.Health.Degraded("VPP ended, starting it again", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartPause):
		}
	}
}

// runOnce runs VPP until it ends, or ends it with ctx. VPP is in a process group
// of its own, so that a Ctrl-C reaches the agent first, which has to clean up.
func (p *LocalVPP) runOnce(ctx context.Context, program, conf string) error {
	output := &tail{limit: lastWords}
	cmd := exec.CommandContext(ctx, program, "-c", conf)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopPatience
	if err := os.Remove(p.Socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.Log.Info("VPP started", "program", program, "pid", cmd.Process.Pid, "dir", p.dir.path)
	p.Health.OK(fmt.Sprintf("VPP runs, pid %d", cmd.Process.Pid))
	err := cmd.Wait()
	if said := output.String(); said != "" && ctx.Err() == nil {
		err = fmt.Errorf("%w: %s", errors.Join(err, errEnded), said)
	}
	return err
}

var errEnded = errors.New("VPP ended")

// tail keeps the end of what is written to it. It is used by one goroutine.
type tail struct {
	limit int
	text  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if over := len(t.text) - t.limit; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(b), nil
}

// String returns the last lines, in one.
func (t *tail) String() string {
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	if over := len(lines) - 5; over > 0 {
		lines = lines[over:]
	}
	return strings.TrimSpace(string(bytes.Join(lines, []byte("; "))))
}
