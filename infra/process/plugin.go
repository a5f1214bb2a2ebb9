package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/infra"
)

// Plugin owns processes. When it is closed, it stops those that still run,
// concurrently. In process 1 it also reaps orphans; all other processes of such a
// program must be started by the plugin, because it cannot distinguish a child of
// os/exec from an orphan.
type Plugin struct {
	Deps
	reapAll bool

	once   sync.Once
	reaper *reaper

	mu        sync.Mutex
	processes []*Process
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
}

// Init starts reaping orphans, in process 1.
func (p *Plugin) Init() error {
	p.prepare()
	if p.reapAll || os.Getpid() == 1 {
		p.Log.Debug("reaping orphans")
		p.Go(func(ctx context.Context) {
			p.reaper.serve(ctx, func(pid int) { p.Log.Debug("orphan ended", "pid", pid) })
		})
	}
	return nil
}

func (p *Plugin) prepare() {
	p.once.Do(func() {
		p.SetDefaults()
		p.Setup()
		p.reaper = newReaper()
	})
}

// Add returns a new process, which is not started yet. Its name must be
// unique.
func (p *Plugin) Add(spec Spec) (*Process, error) {
	p.prepare()
	if spec.Name == "" || strings.ContainsAny(spec.Name, " /\t\n") {
		return nil, fmt.Errorf("process %q: expected a name without spaces and slashes", spec.Name)
	}
	if spec.Path == "" {
		return nil, fmt.Errorf("process %s: expected a file to execute", spec.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.find(spec.Name) >= 0 {
		return nil, fmt.Errorf("duplicate process %s", spec.Name)
	}
	proc := p.process(spec)
	p.processes = append(p.processes, proc)
	return proc, nil
}

func (p *Plugin) process(spec Spec) *Process {
	return &Process{spec: spec, owner: p, status: Status{Name: spec.Name, State: Initial}}
}

// Run runs a process once and returns its exit status. It stops the process when
// ctx ends. The process needs no name and is not listed.
func (p *Plugin) Run(ctx context.Context, spec Spec) (Exit, error) {
	p.prepare()
	spec.Restart = Restart{}
	proc := p.process(spec)
	if err := proc.Start(); err != nil {
		return Exit{Code: -1, Err: err}, err
	}
	exit, err := proc.Wait(ctx)
	if err == nil {
		return exit, nil
	}
	_ = proc.Stop(context.WithoutCancel(ctx)) // waits for its end without a timeout
	return proc.last(), err
}

func (p *Process) last() Exit {
	if last := p.Status().Last; last != nil {
		return *last
	}
	return Exit{Code: -1}
}

// Remove removes a stopped process. It returns ErrRunning if the process runs.
func (p *Plugin) Remove(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(name)
	if i < 0 {
		return fmt.Errorf("unknown process %s", name)
	}
	proc := p.processes[i]
	proc.mu.Lock()
	defer proc.mu.Unlock()
	if proc.alive() {
		return fmt.Errorf("remove %s: %w", name, ErrRunning)
	}
	p.processes = slices.Delete(p.processes, i, i+1)
	return nil
}

func (p *Plugin) find(name string) int {
	return slices.IndexFunc(p.processes, func(q *Process) bool { return q.spec.Name == name })
}

// StopAll stops processes in the reverse order, each when the one after it has
// ended.
func StopAll(ctx context.Context, ps []*Process) error {
	var errs []error
	for _, q := range slices.Backward(ps) {
		errs = append(errs, q.Stop(ctx))
	}
	return errors.Join(errs...)
}
