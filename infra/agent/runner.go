package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// slowAfter is how long a callback may take before the agent logs a
	// warning.
	slowAfter = 2 * time.Second
	// graceTime is how long a callback may continue after its timeout, when its
	// context has ended, before the agent abandons it.
	graceTime = time.Second
)

// runner calls the callbacks of plugins one after another, from one goroutine.
// A callback that times out is abandoned with its goroutine; the next
// callbacks run on a new goroutine.
type runner struct {
	label     string // of goroutines, see Agent.Label
	emit      func(Event)
	interrupt func() // ends the contexts of all plugins
	worker    *worker
}

func newRunner(label string, emit func(Event), interrupt func()) *runner {
	return &runner{label: label, emit: emit, interrupt: interrupt, worker: newWorker()}
}

func (r *runner) close() { r.worker.close() }

// call runs one callback of a plugin. When ctx ends, the contexts of the
// plugins end, and the callback has graceTime to return. If an abandoned
// callback returns nil later, its goroutine calls late.
func (r *runner) call(ctx context.Context, m *member, phase Phase, f func() error, late func()) error {
	j := &job{run: f, late: late, done: make(chan error, 1)}
	j.labels = pprof.WithLabels(context.Background(), pprof.Labels(agentLabel, r.label, pluginLabel, m.name))
	begin := time.Now()
	r.worker.do(j)
	slow := time.NewTimer(slowAfter)
	defer slow.Stop()
	for {
		select {
		case err := <-j.done:
			return r.result(m, phase, err)
		case <-slow.C:
			r.emit(PluginSlow{m.name, phase, time.Since(begin)})
		case <-ctx.Done():
			r.interrupt()
			grace := time.NewTimer(graceTime)
			defer grace.Stop()
			select {
			case err := <-j.done:
				if err != nil { // most likely because its context ended
					err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
				}
				return r.result(m, phase, err)
			case <-grace.C:
				return r.leave(m, phase, j, time.Since(begin), context.Cause(ctx))
			}
		}
	}
}

func (r *runner) result(m *member, phase Phase, err error) error {
	if err == nil {
		return nil
	}
	failed := PluginFailed{Name: m.name, Phase: phase, Err: err}
	if p, ok := errors.AsType[*panicError](err); ok {
		failed.Stack = p.stack
	}
	r.emit(failed)
	return &PluginError{m.name, phase, err}
}

// leave abandons a callback.
func (r *runner) leave(m *member, phase Phase, j *job, after time.Duration, cause error) error {
	if !j.settled.CompareAndSwap(false, true) { // it returned just now
		return r.result(m, phase, <-j.done)
	}
	stacks := append([]string{stackOf(r.worker.id)}, goroutines(agentLabel, r.label, pluginLabel, m.name)...)
	r.worker.close()
	r.worker = newWorker()
	err := fmt.Errorf("did not return within %v: %w", round(after), cause)
	r.emit(PluginFailed{m.name, phase, err, strings.Join(stacks, "\n\n")})
	return &PluginError{m.name, phase, err}
}

// job is one running callback.
type job struct {
	labels context.Context // carries the labels of the goroutines that the callback starts
	run    func() error
	late   func()
	done   chan error // buffered
	// settled is set by what comes first: the callback returns, or it is abandoned.
	settled atomic.Bool
}

func (j *job) execute() {
	pprof.SetGoroutineLabels(j.labels)
	defer pprof.SetGoroutineLabels(context.Background())
	err := guard(j.run)
	abandoned := !j.settled.CompareAndSwap(false, true)
	if abandoned && err == nil && j.late != nil {
		_ = guard(func() error { j.late(); return nil })
	}
	j.done <- err
}

// worker is the goroutine on which callbacks run.
type worker struct {
	jobs chan *job
	id   string // as stack dumps name it: "goroutine 7 "
}

func newWorker() *worker {
	w := &worker{jobs: make(chan *job)}
	ready := make(chan struct{})
	go func() {
		w.id = goroutineID()
		close(ready)
		for j := range w.jobs {
			j.execute()
		}
	}()
	<-ready
	return w
}

func (w *worker) do(j *job) { w.jobs <- j }
func (w *worker) close()    { close(w.jobs) }
