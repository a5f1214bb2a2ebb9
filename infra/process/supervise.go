package process

import (
	"cmp"
	"context"
	"syscall"
	"time"
)

// supervise runs the process until it ends and is not restarted. started gets the
// result of the first start.
func (p *Process) supervise(ctx context.Context, l *life, started chan<- error) {
	defer close(l.done)
	restart := p.spec.Restart.withDefaults()
	for count := 0; ; {
		begin := time.Now()
		exit, err := p.once(ctx, l, started)
		if started != nil && err != nil {
			return
		}
		started = nil
		next, pause, again := restart.next(count, time.Since(begin))
		stopping := ctx.Err() != nil || ended(l.stop)
		if stopping || !again {
			p.terminated(exit, stopping)
			return
		}
		count = next
		p.waiting(exit, pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			continue
		case <-l.stop:
		case <-ctx.Done():
		}
		timer.Stop()
		p.terminated(exit, true)
		return
	}
}

func ended(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// once runs the process until it ends or is stopped. It returns an error if the
// start failed. started receives the outcome of the start, unless started is
// nil.
func (p *Process) once(ctx context.Context, l *life, started chan<- error) (Exit, error) {
	r, err := p.spawn(ctx)
	if err != nil {
		exit := Exit{Code: -1, Err: err}
		if started != nil {
			p.change(func(s *Status) { s.State, s.Last = Terminated, &exit })
			started <- err
		}
		return exit, err
	}
	p.running(r, started == nil)
	if started != nil {
		started <- nil
	}
	defer p.pin(r)()
	select {
	case exit := <-r.exited:
		return exit, nil
	case <-l.stop:
	case <-ctx.Done():
	}
	return p.end(r), nil
}

// end sends StopSignal to the process, and kills it after StopTimeout.
func (p *Process) end(r *run) Exit {
	p.change(func(s *Status) { s.Stopping = true })
	signal, patience := cmp.Or(p.spec.StopSignal, syscall.SIGTERM), p.spec.StopTimeout
	if patience <= 0 {
		patience = defaultStopTimeout
	}
	_ = r.cmd.Process.Signal(signal) // fails only if the process has ended
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case exit := <-r.exited:
		return exit
	case <-timer.C:
	}
	p.owner.Log.Warn("process does not stop, killing it", "name", p.spec.Name, "pid", r.pid, "signal", signal.String(), "after", patience)
	r.kill()
	return <-r.exited
}

func (p *Process) running(r *run, again bool) {
	p.owner.Log.Info("process started", "name", p.spec.Name, "pid", r.pid, "command", r.cmd.Path)
	p.change(func(s *Status) {
		p.run = r
		s.State, s.PID, s.Started, s.Pause, s.Stopping = Running, r.pid, time.Now(), 0, false
		if again {
			s.Restarts++
		}
	})
}

func (p *Process) waiting(exit Exit, pause time.Duration) {
	p.owner.Log.Warn("process ended, restarting it", "name", p.spec.Name, "exit", exit.String(), "in", pause)
	p.change(func(s *Status) {
		p.run = nil
		s.State, s.PID, s.Last, s.Pause = Waiting, 0, &exit, pause
	})
}

func (p *Process) terminated(exit Exit, stopped bool) {
	log := p.owner.Log.Error
	if stopped || !exit.Failed() {
		log = p.owner.Log.Info
	}
	log("process ended", "name", p.spec.Name, "exit", exit.String(), "stopped", stopped)
	p.change(func(s *Status) {
		p.run = nil
		s.State, s.PID, s.Last, s.Pause, s.Stopping = Terminated, 0, &exit, 0, stopped
	})
}

func (p *Process) change(f func(*Status)) {
	p.mu.Lock()
	f(&p.status)
	now := p.status
	p.mu.Unlock()
	if p.spec.Changed != nil {
		p.spec.Changed(now)
	}
}
