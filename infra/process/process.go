// Package process starts programs and keeps them running: with restarts after a
// pause that grows, output that goes to the log or to a writer, a stop that asks
// before it kills, and nothing left behind. What a program has started itself ends
// with it, unless it left the process group of the program, as daemons do; so a
// program that can run in the foreground must be told to.
//
// Processes belong to a Plugin. A program that is the first process of a container
// has to wait for the children of others as well: the plugin does so where it finds
// itself to be process 1.
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

// Errors of processes, for errors.Is.
var (
	// ErrRunning is that of a start, or a removal, of a process that is running or
	// waits to be started again.
	ErrRunning = errors.New("the process is running")
	// ErrNotRunning is that of a signal to a process that does not run.
	ErrNotRunning = errors.New("the process is not running")
)

// Spec says what to run, and how. It is not changed after it was given away.
type Spec struct {
	// Name is what the process is called in the log and by others; unique.
	Name string
	// Path is the file to execute, looked up in PATH if it has no slash.
	Path string
	Args []string
	// Dir is where it runs; empty: where the caller does.
	Dir string
	// Env are variables (NAME=value) besides those of the caller.
	Env []string
	// Stdout and Stderr take the output; nil: the log, line by line, at the info
	// level. A file is handed to the process as it is. Other writers are called by
	// one goroutine each, or by one if both are the same; what a writer refuses is
	// lost, and the process runs on.
	Stdout, Stderr io.Writer
	// Restart says whether it is started again when it ends by itself.
	Restart Restart
	// StopSignal asks it to end (default: SIGTERM).
	StopSignal syscall.Signal
	// StopTimeout is how long it may take to end then (default 5 s); after that it
	// is killed, with its process group.
	StopTimeout time.Duration
	// Affinity are the processors it may use; empty: those of the caller.
	Affinity CPUs
	// AffinityDelay is how long after the start Affinity is set, for a program
	// that sets another one at first; 0: from the start.
	AffinityDelay time.Duration
}

const defaultStopTimeout = 5 * time.Second

// State is what a process is doing.
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

// Exit is how a process ended.
type Exit struct {
	Code   int            // of exit; -1 if it was ended by a signal, or did not start
	Signal syscall.Signal // that ended it; 0 if none did
	Err    error          // why it could not be started
}

// Failed tells whether the process did not end with the code 0.
func (e Exit) Failed() bool { return e.Code != 0 || e.Signal != 0 || e.Err != nil }

// Status returns the code as shells tell it: 128 + N after the signal N, 127 if it
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

// String says how the process ended, for people.
func (e Exit) String() string {
	switch {
	case e.Err != nil:
		return "not started: " + e.Err.Error()
	case e.Signal != 0:
		return fmt.Sprintf("ended by signal %d (%v)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Status is a process at one moment.
type Status struct {
	Name     string
	State    State
	PID      int       // 0 unless it is running
	Started  time.Time // the last time; zero before the first
	Restarts int       // how often it was started again
	Last     *Exit     // how it ended the last time; nil if it never did
	// Pause is how long a waiting process waits to be started again.
	Pause time.Duration
	// Stopping tells that the end was asked for.
	Stopping bool
}

// Process is a program that is run, maybe again and again. All methods may be
// called concurrently.
type Process struct {
	spec  Spec
	owner *Plugin

	mu       sync.Mutex
	status   Status
	life     *life
	run      *run // while it runs
	watchers map[int]func(Status)
	watched  int // watchers there ever were
}

// life is the time from a start to the end for good.
type life struct {
	once sync.Once
	stop chan struct{} // closed when the end is asked for
	done chan struct{} // closed when it came
}

func (l *life) end() { l.once.Do(func() { close(l.stop) }) }

// Name returns the name of the process.
func (p *Process) Name() string { return p.spec.Name }

// Start starts the process and returns when it runs, or with the reason why it
// does not; that is not tried again.
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

// alive tells whether the process runs or will again; p.mu is held.
func (p *Process) alive() bool {
	if p.life == nil {
		return false
	}
	select {
	case <-p.life.done:
		return false
	default:
		return true
	}
}

// Stop ends the process: it is asked to, and killed if that takes too long. It
// returns when the process has ended; its error is that of ctx, which ends the
// waiting only. To stop a process that does not run is no error.
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

// Restart stops the process and starts it again.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	return p.Start()
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return fmt.Errorf("signal to %s: %w", p.spec.Name, ErrNotRunning)
	}
	if err := p.run.cmd.Process.Signal(s); errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal to %s: %w", p.spec.Name, ErrNotRunning)
	} else if err != nil {
		return fmt.Errorf("signal to %s: %w", p.spec.Name, err)
	}
	return nil
}

// Wait waits until the process has ended and is not to be started again, and
// returns how it ended. The error is that of ctx, or ErrNotRunning if the process
// was never started.
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

// Status returns what the process is doing.
func (p *Process) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Watch calls f with every change of the status from now on, in their order, until
// cancel is called. The next thing that happens to the process waits for f, which
// may call Status, but not Stop, Restart or Wait.
func (p *Process) Watch(f func(Status)) (cancel func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched++
	id := p.watched
	p.watchers[id] = f
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watchers, id)
	}
}
