// Package agent runs plugins: it finds their dependencies, orders and starts
// them, and closes all of them again when the agent stops or when its start
// fails.
package agent

import (
	"context"
	"errors"
	"flag"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Agent is a set of plugins with one life: Start (or Run), then Stop. A
// process may have several agents. All methods may be called concurrently.
type Agent struct {
	opts options

	wired    sync.Once
	wiring   wiring
	prepared sync.Once
	flags    *config.Flags
	rest     []string // arguments that are not flags
	parseErr error
	loggers  *logging.Registry
	log      logging.Logger
	health   *health.Tree

	runner      *runner
	life        context.Context
	endLife     context.CancelFunc
	initialised []*member

	mu      sync.Mutex
	state   state
	begun   time.Time
	current string        // the plugin and phase being called
	err     error         // of the start or the stop
	stopped chan struct{} // closed when the agent has stopped
	emitMu  sync.Mutex

	quit        context.Context // ends when the agent must stop; its cause is the reason
	requestStop context.CancelCauseFunc
}

type state int

const (
	fresh state = iota
	starting
	running
	stopping
	stopped
)

// NewAgent returns an agent with the given plugins. It never fails: Start
// returns all errors of the plugins, joined.
func NewAgent(opts ...Option) *Agent {
	o := defaultOptions()
	for _, opt := range opts {
		opt(&o)
	}
	a := &Agent{opts: o, stopped: make(chan struct{})}
	a.quit, a.requestStop = context.WithCancelCause(context.Background())
	return a
}

// Run executes the command line. It also sets the flags that the program has defined
// with package flag. By default it starts the agent and waits until a signal, the context or the quit channel stops it. It returns the
// error of the start or of the stop.
func (a *Agent) Run() error {
	if !a.opts.hasArgs {
		a.opts.useProcess()
	}
	if done, err := a.command(); done || err != nil {
		return err
	}
	if limitHeap() {
		pace := time.NewTicker(paceCheck)
		defer pace.Stop()
		go paceHeap(a.After(), pace.C)
	}
	if err := a.Start(context.Background()); err != nil {
		return err
	}
	var reports sync.WaitGroup
	defer reports.Wait()
	if s := a.newSystemd(); s != nil {
		reports.Go(s.run)
	}
	tick := time.NewTicker(heapCheck)
	defer tick.Stop()
	releaseHeap(a.After(), tick.C)
	return a.Wait()
}

// Start wires the plugins, initialises them in order and returns when all of
// them run. If a plugin fails, Start closes the initialised plugins and
// returns the cause. ctx limits only the start: if it ends first, the start is
// rolled back. Start uses the command line of the process, as Run does, unless Args gives
// another one. If the command line only asks for output, such as --help, Start writes it and
// returns ErrNoStart.
func (a *Agent) Start(ctx context.Context) error {
	a.mu.Lock()
	if a.state != fresh {
		a.mu.Unlock()
		return ErrStartedTwice
	}
	a.state, a.begun = starting, time.Now()
	a.mu.Unlock()

	started := make(chan struct{})
	release := a.watch(started)
	err := a.start(ctx)
	if err != nil {
		a.finish(err)
		release()
		return err
	}
	close(started)
	go func() {
		defer release()
		<-a.quit.Done()
		a.stop()
	}()
	return nil
}

// Stop closes the plugins in the reverse order and returns their errors,
// joined. During a start it triggers the rollback. Further calls wait for the
// same stop. It must not be called from a callback of a plugin or from a
// goroutine the agent waits for; use QuitOnClose there.
func (a *Agent) Stop() error {
	if !a.isStarted() {
		return ErrNotStarted
	}
	a.requestStop(errors.New("Stop was called"))
	return a.Wait()
}

// Wait waits until the agent has stopped and returns the error of the stop, or
// of the start if that failed.
func (a *Agent) Wait() error {
	if !a.isStarted() {
		return ErrNotStarted
	}
	<-a.stopped
	return a.Error()
}

func (a *Agent) isStarted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state != fresh
}

// After returns a channel that is closed when the agent has stopped.
func (a *Agent) After() <-chan struct{} { return a.stopped }

// Error returns the error of the start or the stop; nil before the end.
func (a *Agent) Error() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Plugins returns the names of the plugins in the order of Init.
func (a *Agent) Plugins() []string {
	a.wire()
	return names(a.wiring.members)
}

// wire resolves the dependencies, once.
func (a *Agent) wire() {
	a.wired.Do(func() { a.wiring = resolve(a.opts.roots) })
}

// prepare wires the plugins and reads the command line, once.
func (a *Agent) prepare() {
	a.wire()
	a.prepared.Do(func() {
		if !a.opts.hasArgs && !inTest() {
			a.opts.useProcess()
		}
		a.flags = a.defineFlags()
		a.rest, a.parseErr = a.flags.Parse(a.opts.args)
		if a.parseErr == nil {
			a.parseErr = a.stopBound()
		}
		a.loggers = a.opts.loggers
		if a.loggers == nil && a.parseErr == nil {
			a.loggers, a.parseErr = a.newLoggers()
		}
		if a.loggers == nil {
			a.loggers = logging.NewRegistry()
		}
		a.log = a.loggers.Logger("agent")
		a.flags.OnOpenFile(func(plugin, file string) {
			a.log.Warn("every user of this machine can read a file with secrets", "plugin", plugin, "file", file, "hint", "chmod o-r")
		})
		a.health = health.NewTree(nil)
		a.opts.build = withCommit(a.opts.build)
	})
}

// inTest reports whether the process runs under go test, which has flags of its own.
func inTest() bool { return flag.Lookup("test.v") != nil }

func (a *Agent) finish(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.err = stopped, err
	close(a.stopped)
}

func (a *Agent) emit(e Event) {
	a.emitMu.Lock()
	defer a.emitMu.Unlock()
	logEvent(a.log, e)
	for _, listener := range a.opts.listeners {
		listener(e)
	}
}

func names(ms []*member) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.name
	}
	return out
}
