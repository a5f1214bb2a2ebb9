// Package process starts programs and supervises them: it restarts them with
// growing delays, copies their output to the log or to a writer, and stops them by
// a signal before it kills them. Processes that a program has started end with it,
// unless they left its process group, as daemons do. A program that can run in the
// foreground must therefore be configured to do so.
//
// Processes belong to a Plugin. The first process of a container must also reap
// orphans; the plugin does so if it runs in process 1.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Errors of processes.
var (
	// ErrRunning is returned by the start or the removal of a process that is
	// running or waits for a restart.
	ErrRunning = errors.New("the process is running")
	// ErrNotRunning is returned by a signal to a process that does not run.
	ErrNotRunning = errors.New("the process is not running")
)

// Spec specifies a process. It must not be changed after it was passed to a
// function.
type Spec struct {
	// Name is the unique name of the process in logs.
	Name string
	// Path is the file to execute, looked up in PATH if it has no slash.
	Path string
	Args []string
	// Dir is its working directory; empty: the caller's.
	Dir string
	// Env are variables (NAME=value) in addition to the caller's.
	Env []string
	// Stdout and Stderr receive the output; nil: the log, line by line, at the
	// info level. A file is passed to the process directly. Each other writer is
	// called by one goroutine, also if both are the same writer. If writing fails,
	// the output is lost and the process continues.
	Stdout, Stderr io.Writer
	// Restart says whether it is restarted when it ends by itself.
	Restart Restart
	// StopSignal requests its end (default: SIGTERM).
	StopSignal syscall.Signal
	// StopTimeout is how long it may take to end after StopSignal (default 5 s).
	// After that it is killed with its process group.
	StopTimeout time.Duration
	// Affinity are the CPUs it may use; empty: the caller's.
	Affinity CPUs
	// AffinityDelay is the delay after the start before Affinity is set, for a
	// program that sets its own affinity first; 0: Affinity is set before the
	// start.
	AffinityDelay time.Duration
	// Changed is called with every change of the status, in order; it may be nil. The
	// process does not proceed until it returns. It may call Status, but not Stop or
	// Wait.
	Changed func(Status)
}

const defaultStopTimeout = 5 * time.Second

// State is the state of a process.
type State string

// The states of a process.
const (
	// Initial is the state before the first start.
	Initial State = "initial"
	// Running is the state from the start to the end.
	Running State = "running"
	// Waiting is the state of a process that ended and will be started again.
	Waiting State = "waiting"
	// Terminated is the state of a process that ended, or was stopped.
	Terminated State = "terminated"
)

// Exit is the result of a process.
type Exit struct {
	Code   int            // exit code; -1 if it was killed by a signal, or did not start
	Signal syscall.Signal // the signal that killed it; 0 if none did
	Err    error          // the error of the start
}

// Failed reports whether the process did not exit with code 0.
func (e Exit) Failed() bool { return e.Code != 0 || e.Signal != 0 || e.Err != nil }

// Status returns the code as shells do: 128 + N for signal N, 127 if the process
// could not be started.
func (e Exit) Status() int {
	switch {
	case e.Signal != 0:
		return 128 + int(e.Signal)
	case e.Err != nil:
		return 127
	}
	return e.Code
}

// String describes the result.
func (e Exit) String() string {
	switch {
	case e.Err != nil:
		return "not started: " + e.Err.Error()
	case e.Signal != 0:
		return fmt.Sprintf("killed by signal %d (%v)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Status is the status of a process at one moment.
type Status struct {
	Name     string
	State    State
	PID      int       // 0 unless it is running
	Started  time.Time // of the last start; zero before the first
	Restarts int       // number of restarts
	Last     *Exit     // result of the last run; nil if there is none
	// Pause is the delay before the restart of a waiting process.
	Pause time.Duration
	// Stopping reports that a stop was requested.
	Stopping bool
}

// Process is a supervised program. All methods may be called concurrently.
type Process struct {
	spec  Spec
	owner *Plugin

	mu     sync.Mutex
	status Status
	life   *life
	run    *run // while it runs
}

// life is the time from a start to the final end.
type life struct {
	once sync.Once
	stop chan struct{} // closed when a stop is requested
	done chan struct{} // closed when the process has ended
}

func (l *life) end() { l.once.Do(func() { close(l.stop) }) }

// Start starts the process and returns when it runs, or returns an error if it
// does not start; it does not retry.
func (p *Process) Start() error {
	p.mu.Lock()
	if p.alive() {
		p.mu.Unlock()
		return fmt.Errorf("start %s: %w", p.spec.Name, ErrRunning)
	}
	l := &life{stop: make(chan struct{}), done: make(chan struct{})}
	p.life = l
	p.mu.Unlock()
	started := make(chan error, 1)
	p.owner.Go(func(ctx context.Context) { p.supervise(ctx, l, started) })
	if err := <-started; err != nil {
		<-l.done
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	return nil
}

// alive reports whether the process runs or will be restarted; p.mu is held.
func (p *Process) alive() bool {
	return p.life != nil && !ended(p.life.done)
}

// Stop stops the process by StopSignal, and kills it after StopTimeout. It
// returns when the process has ended. If ctx ends, Stop returns its error, but
// the stop continues. Stopping a process that does not run is not an error.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	l := p.life
	p.mu.Unlock()
	if l == nil {
		return nil
	}
	l.end()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", p.spec.Name, ctx.Err())
	}
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return fmt.Errorf("signal to %s: %w", p.spec.Name, ErrNotRunning)
	}
	err := p.run.cmd.Process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		err = ErrNotRunning
	}
	if err != nil {
		return fmt.Errorf("signal to %s: %w", p.spec.Name, err)
	}
	return nil
}

// Wait waits until the process has ended and will not be restarted, and returns
// its result. The error is ctx's error, or ErrNotRunning if the process was never
// started.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	p.mu.Lock()
	l := p.life
	p.mu.Unlock()
	if l == nil {
		return Exit{}, fmt.Errorf("wait for %s: %w", p.spec.Name, ErrNotRunning)
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("wait for %s: %w", p.spec.Name, ctx.Err())
	}
	if last := p.Status().Last; last != nil {
		return *last, nil
	}
	return Exit{}, fmt.Errorf("wait for %s: %w", p.spec.Name, ErrNotRunning)
}

// Status returns the status of the process.
func (p *Process) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}
