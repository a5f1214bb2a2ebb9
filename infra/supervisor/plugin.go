// Package supervisor is the plugin that runs the programs of supervisor.conf
// side by side, for example VPP and its agent in a container. It starts them in
// order, restarts them, writes their output to files, forwards signals, runs
// hooks, and stops them in the reverse order. In process 1 it also reaps orphans
// (see package process).
//
//	programs:
//	- name: vpp
//	  executable-path: /usr/bin/vpp
//	  executable-args: [-c, /etc/vpp/startup.conf]   # with unix { nodaemon }
//	  logfile-path: /var/log/vpp/console.log
//	  restarts: -1
//	- name: agent
//	  executable-path: /usr/bin/vpp-agent
//	  executable-args: [--config-dir=/etc/vpp-agent]
//	  restarts: -1
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/process"
)

// Plugin runs the programs of supervisor.conf from its AfterInit to its Close. A
// program that uses it stops its agent when Done is closed (agent.QuitOnClose) and
// exits with the code from Err. The stop timeout of the agent must not be less
// than the sum of the stop timeouts of the programs.
type Plugin struct {
	Deps
	stdout, stderr io.Writer // of programs without a log file

	cfg      Config
	programs []*program
	hooks    *hooks
	signals  *signals

	once sync.Once
	done chan struct{}
	mu   sync.Mutex
	over bool // done is closed, or a stop was requested
	err  error
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	Processes *process.Plugin
}

type program struct {
	Program
	proc *process.Process
	log  *logFile // nil: the output of the supervisor
}

// ProgramError reports the failed program that made the supervisor stop.
type ProgramError struct {
	Name string
	Exit process.Exit
}

// Error returns "program vpp: exit status 3".
func (e *ProgramError) Error() string { return fmt.Sprintf("program %s: %v", e.Name, e.Exit) }

// Done is closed when supervision ends: a program that is not optional failed,
// or all programs have ended.
func (p *Plugin) Done() <-chan struct{} {
	p.once.Do(func() { p.done = make(chan struct{}) })
	return p.done
}

// Err returns the *ProgramError that closed Done, nil if there was none.
func (p *Plugin) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// ConfigSpec returns the defaults of supervisor.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init reads the configuration.
func (p *Plugin) Init() error {
	cfg, found, err := config.Load(p.Cfg, DefaultConfig())
	if err != nil {
		return err
	}
	if !found || len(cfg.Programs) == 0 {
		return fmt.Errorf("%s: no programs to run: set programs in %s.conf, or in the file named by --%s-config", p, p, p)
	}
	p.cfg = cfg
	if cfg.CPUAffinityMask != "" {
		own, err := process.ParseCPUMask(cfg.CPUAffinityMask)
		if err != nil {
			return err
		}
		if err := own.Pin(0); err != nil {
			return fmt.Errorf("sv-cpu-affinity-mask: %w", err)
		}
	}
	return nil
}

// AfterInit starts the programs.
func (p *Plugin) AfterInit() error {
	for i, c := range p.cfg.Programs {
		if err := p.add(c); err != nil {
			return errors.Join(fmt.Errorf("programs[%d] (%s): %w", i, c.Name, err), p.shutdown())
		}
	}
	p.hooks = newHooks(p)
	p.signals = startSignals(p)
	for _, prog := range p.programs {
		if err := prog.proc.Start(); err != nil { // logged before the next program, which may depend on it, is started
			return errors.Join(err, p.shutdown())
		}
	}
	return nil
}

func (p *Plugin) add(c Program) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	prog := &program{Program: c}
	spec.Stdout, spec.Stderr = p.stdout, p.stderr
	spec.Changed = func(s process.Status) { p.changed(prog, s) }
	if c.LogfilePath != "" {
		if prog.log, err = openLog(c.LogfilePath); err != nil {
			return fmt.Errorf("logfile-path: %w", err)
		}
		spec.Stdout, spec.Stderr = prog.log, prog.log
	}
	if prog.proc, err = p.Processes.Add(spec); err != nil {
		if prog.log != nil {
			err = errors.Join(err, prog.log.Close())
		}
		return err
	}
	p.programs = append(p.programs, prog)
	return nil
}

// changed handles a change of a program's state.
func (p *Plugin) changed(prog *program, s process.Status) {
	health := p.Health.Scope(prog.Name)
	switch {
	case s.State == process.Running && s.Stopping:
		return // not started yet
	case s.State == process.Running:
		health.OK(fmt.Sprintf("pid %d", s.PID))
	case s.State == process.Waiting:
		health.Degraded(fmt.Sprintf("restarting in %v", s.Pause), errors.New(s.Last.String()))
	case s.Last.Failed() && !s.Stopping:
		health.Failed("not restarted", errors.New(s.Last.String()))
	}
	p.hooks.add(s)
	if s.State == process.Terminated && !s.Stopping && !s.Started.IsZero() { // otherwise the start of the agent fails
		p.ended(prog, *s.Last)
	}
}

// ended decides whether to continue after a program has ended that is not
// restarted.
func (p *Plugin) ended(prog *program, exit process.Exit) {
	if exit.Failed() && !prog.Optional {
		p.finish(&ProgramError{prog.Name, exit})
		return
	}
	for _, other := range p.programs {
		if other != prog && other.proc.Status().State != process.Terminated {
			p.Log.Warn("continuing without a program", "name", prog.Name, "exit", exit.String())
			return
		}
	}
	p.finish(nil)
}

// finish closes Done, once.
func (p *Plugin) finish(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over, p.err = true, err
	p.Done()
	close(p.done)
}

// Close stops the programs, the last one first.
func (p *Plugin) Close() error {
	p.StopGoroutines()
	return p.shutdown()
}

func (p *Plugin) shutdown() error {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	procs := make([]*process.Process, len(p.programs))
	for i, prog := range p.programs {
		procs[i] = prog.proc
	}
	// Each program has its own stop timeout, after which it is killed.
	errs := []error{process.StopAll(context.Background(), procs)}
	if p.hooks != nil {
		p.hooks.wait()
	}
	if p.signals != nil {
		p.signals.stop()
	}
	for _, prog := range p.programs {
		errs = append(errs, p.Processes.Remove(prog.Name))
		if prog.log != nil {
			errs = append(errs, prog.log.Close())
		}
	}
	p.programs, p.hooks, p.signals = nil, nil, nil
	return errors.Join(errs...)
}
