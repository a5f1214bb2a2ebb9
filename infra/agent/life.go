package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
)

func (a *Agent) start(ctx context.Context) error {
	a.prepare()
	if err := errors.Join(a.wiring.err(), a.usageErr()); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if done, err := a.command(); err != nil {
		return fmt.Errorf("agent: %w", err)
	} else if done {
		return ErrNoStart
	}
	ctx, cancel := a.startContext(ctx)
	defer cancel()
	a.life, a.endLife = context.WithCancel(context.Background())
	a.runner = newRunner(a.Label(), a.emit, a.endLife)
	a.emit(Starting{a.opts.build.App, a.opts.build.Version, names(a.wiring.members)})
	if dir := a.flags.MissingDir(); dir != "" {
		a.log.Warn("the directory of configuration files does not exist; plugins use their defaults", "config-dir", dir)
	}
	a.attach()
	if err := a.startPlugins(ctx); err != nil {
		return a.rollback(err)
	}
	a.mu.Lock()
	a.state = running
	a.mu.Unlock()
	for _, m := range a.wiring.members {
		if d, ok := m.Plugin.(interface{ Disabled() bool }); ok && d.Disabled() {
			a.health.Disabled(m.name)
			continue
		}
		a.health.Ready(m.name)
	}
	a.emit(Started{len(a.wiring.members), time.Since(a.begun)})
	return nil
}

// startContext ends when the start must be aborted; its cause is the reason.
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

// attach sets the services of all plugins.
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
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
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
		ctx, cancel = context.WithTimeoutCause(context.Background(), d, fmt.Errorf("%w: the stop may take %v (--stop-timeout)", ErrTimeout, d))
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
