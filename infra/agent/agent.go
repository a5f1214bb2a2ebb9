// Package agent runs plugins: it finds the plugins that others need, orders
// them, calls their callbacks, and takes everything down again, whether it ran
// for a year or failed half-way through its start.
package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Agent is a set of plugins with one life: Start (or Run), then Stop. Several
// agents can live in one process. All methods may be called concurrently.
type Agent struct {
	opts options

	wired    sync.Once
	wiring   wiring
	prepared sync.Once
	flags    *config.Flags
	rest     []string // arguments that are no flags
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

	quit        context.Context // ends when the agent shall stop; its cause says why
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

// NewAgent returns an agent with the given plugins. It never fails: what is
// wrong with them is the error of Start, all of it at once.
func NewAgent(opts ...Option) *Agent {
	o := defaultOptions()
	for _, opt := range opts {
		opt(&o)
	}
	a := &Agent{opts: o, stopped: make(chan struct{})}
	a.quit, a.requestStop = context.WithCancelCause(context.Background())
	return a
}

// Run does what the command line says, which is usually to start the agent and
// to wait until a signal, the context or the channel of its options stops it.
// It returns the error of the start or of the stop.
func (a *Agent) Run() error {
	if !a.opts.hasArgs {
		a.opts.args, a.opts.hasArgs = os.Args[1:], true
	}
	if done, err := a.command(); done || err != nil {
		return err
	}
	if err := a.Start(context.Background()); err != nil {
		return err
	}
	return a.Wait()
}

// Start wires the plugins, initialises them in order and returns when all of
// them run. If anything fails, those that are initialised are closed again and
// the error tells what went wrong. ctx bounds the start only: when it ends
// before, the start is rolled back.
func (a *Agent) Start(ctx context.Context) error {
	a.mu.Lock()
	if a.state != fresh {
		a.mu.Unlock()
		return ErrStartedTwice
	}
	a.state, a.begun = starting, time.Now()
	a.mu.Unlock()

	release := a.watch()
	err := a.start(ctx)
	if err != nil {
		a.finish(err)
		release()
		return err
	}
	go func() {
		defer release()
		<-a.quit.Done()
		a.stop()
	}()
	return nil
}

// Stop closes the plugins in the reverse order and returns their errors,
// joined. During a start it makes the start roll back. Called again, it waits
// for the same end. It must not be called from a callback of a plugin or from
// a goroutine the agent waits for; use QuitOnClose there.
func (a *Agent) Stop() error {
	a.mu.Lock()
	started := a.state != fresh
	a.mu.Unlock()
	if !started {
		return ErrNotStarted
	}
	a.requestStop(errors.New("Stop was called"))
	return a.Wait()
}

// Wait waits until the agent has stopped and returns the error of the stop, or
// of the start if that failed.
func (a *Agent) Wait() error {
	a.mu.Lock()
	started := a.state != fresh
	a.mu.Unlock()
	if !started {
		return ErrNotStarted
	}
	<-a.stopped
	return a.Error()
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
		a.flags = a.defineFlags()
		a.rest, a.parseErr = a.flags.Parse(a.opts.args)
		a.loggers = a.opts.loggers
		if a.loggers == nil && a.parseErr == nil {
			a.loggers, a.parseErr = a.newLoggers()
		}
		if a.loggers == nil {
			a.loggers = logging.NewRegistry()
		}
		a.log = a.loggers.Logger("agent")
		a.health = health.NewTree(nil)
		a.opts.build = withCommit(a.opts.build)
	})
}

func (a *Agent) start(ctx context.Context) error {
	a.prepare()
	if err := errors.Join(a.wiring.err(), a.parseErr); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if len(a.rest) > 0 {
		return fmt.Errorf("agent: unexpected argument %q", a.rest[0])
	}
	ctx, cancel := a.startContext(ctx)
	defer cancel()
	a.life, a.endLife = context.WithCancel(context.Background())
	a.runner = newRunner(a.Label(), a.emit, a.endLife)
	a.emit(Starting{a.opts.build.App, a.opts.build.Version, names(a.wiring.members)})
	a.attach()
	if err := a.startPlugins(ctx); err != nil {
		return a.rollback(err)
	}
	a.mu.Lock()
	a.state = running
	a.mu.Unlock()
	for _, m := range a.wiring.members {
		a.health.Ready(m.name)
	}
	a.emit(Started{len(a.wiring.members), time.Since(a.begun)})
	return nil
}

// startContext ends when the start has to be given up; its cause says why.
func (a *Agent) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, interrupt := context.WithCancelCause(ctx)
	release := context.AfterFunc(a.quit, func() {
		interrupt(fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(a.quit)))
	})
	stop := func() {}
	if d := a.opts.startTimeout; d > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, d, fmt.Errorf("%w: the start may take %v", ErrTimeout, d))
	}
	return ctx, func() { stop(); release(); interrupt(nil) }
}

// attach gives the plugins what the agent has for them.
func (a *Agent) attach() {
	for _, m := range a.wiring.members {
		reporter := a.health.Plugin(m.name, names(m.needs)...)
		if d, ok := m.Plugin.(interface{ Attach(infra.Runtime) }); ok {
			d.Attach(infra.Runtime{
				Context: a.life,
				Log:     a.loggers.PluginLogger(m.name),
				Config:  a.flags.Source(m.name),
				Health:  reporter,
			})
		}
		if h, ok := m.Plugin.(infra.HostAware); ok {
			h.SetHost(host{a})
		}
	}
}

func (a *Agent) startPlugins(ctx context.Context) error {
	for _, m := range a.wiring.members {
		begin := time.Now()
		late := func() { _ = closePlugin(m) }
		if err := a.call(ctx, m, InitPhase, m.Init, late); err != nil {
			return err
		}
		a.initialised = append(a.initialised, m)
		a.emit(PluginInitialised{m.name, time.Since(begin)})
		if ctx.Err() != nil {
			return &PluginError{m.name, InitPhase, context.Cause(ctx)}
		}
	}
	for _, m := range a.wiring.members {
		p, ok := m.Plugin.(infra.PostInit)
		if !ok {
			continue
		}
		begin := time.Now()
		if err := a.call(ctx, m, AfterInitPhase, p.AfterInit, nil); err != nil {
			return err
		}
		a.emit(PluginStarted{m.name, time.Since(begin)})
		if ctx.Err() != nil {
			return &PluginError{m.name, AfterInitPhase, context.Cause(ctx)}
		}
	}
	return nil
}

func (a *Agent) call(ctx context.Context, m *member, phase Phase, f func() error, late func()) error {
	a.mu.Lock()
	a.current = fmt.Sprintf("%s of plugin %s", phase, m.name)
	a.mu.Unlock()
	return a.runner.call(ctx, m, phase, f, late)
}

func (a *Agent) rollback(cause error) error {
	order := slices.Clone(a.initialised)
	slices.Reverse(order)
	a.emit(RollingBack{cause, names(order)})
	return fmt.Errorf("agent: start: %w", errors.Join(cause, a.closePlugins()))
}

// stop is the end of an agent that runs.
func (a *Agent) stop() {
	a.mu.Lock()
	a.state = stopping
	a.mu.Unlock()
	begin := time.Now()
	a.emit(Stopping{context.Cause(a.quit).Error()})
	err := a.closePlugins()
	if err != nil {
		err = fmt.Errorf("agent: stop: %w", err)
	}
	a.emit(Stopped{time.Since(begin), err})
	a.finish(err)
}

// closePlugins closes the initialised plugins in the reverse order.
func (a *Agent) closePlugins() error {
	ctx, cancel := context.WithCancel(context.Background())
	if d := a.opts.stopTimeout; d > 0 {
		ctx, cancel = context.WithTimeoutCause(context.Background(), d, fmt.Errorf("%w: the stop may take %v", ErrTimeout, d))
	}
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(a.initialised) {
		begin := time.Now()
		err := a.call(ctx, m, ClosePhase, func() error { return closePlugin(m) }, nil)
		a.emit(PluginClosed{m.name, time.Since(begin), err})
		errs = append(errs, err)
	}
	a.initialised = nil
	a.runner.close()
	a.endLife()
	return errors.Join(errs...)
}

// closePlugin waits for the goroutines of a plugin, then closes it.
func closePlugin(m *member) error {
	if d, ok := m.Plugin.(interface{ StopGoroutines() }); ok {
		d.StopGoroutines()
	}
	return m.Close()
}

func (a *Agent) finish(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.err = stopped, err
	close(a.stopped)
}

// watch waits for what shall stop the agent, until release is called.
func (a *Agent) watch() (release func()) {
	signals := make(chan os.Signal, 2)
	if len(a.opts.signals) > 0 {
		signal.Notify(signals, a.opts.signals...)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		done, quit := a.opts.context.Done(), a.opts.quit
		for {
			select {
			case s := <-signals:
				a.onSignal(s)
			case <-done:
				a.requestStop(fmt.Errorf("the context ended: %w", context.Cause(a.opts.context)))
				done = nil
			case <-quit:
				a.requestStop(errors.New("the quit channel was closed"))
				quit = nil
			case <-end:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(end)
		<-ended
	}
}

func (a *Agent) onSignal(s os.Signal) {
	if a.quit.Err() == nil {
		a.requestStop(fmt.Errorf("signal %v", s))
		return
	}
	a.mu.Lock()
	current := a.current
	a.mu.Unlock()
	a.log.Warn("already stopping, waiting for a plugin; SIGKILL ends the process at once",
		"signal", s.String(), "waiting-for", current)
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
