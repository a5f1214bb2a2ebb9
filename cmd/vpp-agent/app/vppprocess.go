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
	// stopPatience is how long VPP may take to end when it is asked to.
	stopPatience = 2 * time.Second
	// lastWords bounds what is kept of VPP's output, to tell why it ended.
	lastWords = 2 << 10
)

// keepRunning starts VPP, and starts it again whenever it ends, until the plugin is
// closed.
func (p *LocalVPP) keepRunning(program, conf string) (err error) {
	output := &tail{limit: lastWords}
	p.proc, err = p.Processes.Add(process.Spec{
		Name: "vpp", Path: program, Args: []string{"-c", conf}, Stdout: output, Stderr: output,
		Restart: process.Restart{Max: process.Forever}, StopTimeout: stopPatience,
	})
	if err != nil {
		return err
	}
	p.proc.Watch(func(s process.Status) {
		switch {
		case s.State == process.Running && !s.Stopping:
			p.Health.OK(fmt.Sprintf("VPP runs, pid %d", s.PID))
		case s.State == process.Waiting:
			if err := os.Remove(p.Socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
				p.Log.Warn("socket of the VPP that ended is left", "error", err)
			}
			p.Health.Degraded("VPP ended, starting it again", ended(s.Last, output.take()))
		}
	})
	return p.proc.Start()
}

// ended tells how VPP ended, with its last words.
func ended(exit *process.Exit, words string) error {
	if words == "" {
		return errors.New(exit.String())
	}
	return fmt.Errorf("%v: %s", exit, words)
}

// tail keeps the end of what is written to it.
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

// take returns the last lines, in one, and forgets them.
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
