package app

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/process"
)

const (
	// stopPatience is how long VPP may take to stop.
	stopPatience = 2 * time.Second
	// lastWords is how much of VPP's output is kept, to explain why it ended.
	lastWords = 2 << 10
)

// keepRunning starts VPP, and restarts it whenever it ends, until the plugin is
// closed.
func (p *LocalVPP) keepRunning(program, conf string) (err error) {
	output := &tail{limit: lastWords}
	p.proc, err = p.Processes.Add(process.Spec{
		Name: "vpp", Path: program, Args: []string{"-c", conf}, Stdout: output, Stderr: output,
		Restart: process.Restart{Max: process.Forever}, StopTimeout: stopPatience,
		Changed: func(s process.Status) {
			switch {
			case s.State == process.Running && !s.Stopping:
				p.Health.OK(fmt.Sprintf("VPP runs, pid %d", s.PID))
			case s.State == process.Waiting:
				if err := os.Remove(p.Socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
					p.Log.Warn("socket of the VPP that ended is left", "error", err)
				}
				p.Health.Degraded("VPP ended, restarting it", ended(s.Last, output.take()))
			}
		},
	})
	if err != nil {
		return err
	}
	return p.proc.Start()
}

// ended describes how VPP ended, with its last output.
func ended(exit *process.Exit, words string) error {
	if words == "" {
		return errors.New(exit.String())
	}
	return fmt.Errorf("%v: %s", exit, words)
}

// tail keeps the end of its input.
type tail struct {
	limit int
	mu    sync.Mutex
	text  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - t.limit; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(b), nil
}

// take returns the last lines, joined, and clears them.
func (t *tail) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer func() { t.text = nil }()
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	if over := len(lines) - 5; over > 0 {
		lines = lines[over:]
	}
	return strings.TrimSpace(string(bytes.Join(lines, []byte("; "))))
}
