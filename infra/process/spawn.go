package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// run is one run of a process.
type run struct {
	cmd    *exec.Cmd
	pid    int
	exited chan Exit // buffered; gets the result after the cleanup
	pipes  []*pipe
}

// spawn starts the process. ctx does not stop it.
func (p *Process) spawn(ctx context.Context) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &run{exited: make(chan Exit, 1)}
	r.cmd = exec.Command(p.spec.Path, p.spec.Args...)
	r.cmd.Dir = p.spec.Dir
	if len(p.spec.Env) > 0 {
		r.cmd.Env = append(r.cmd.Environ(), p.spec.Env...)
	}
	// The process has its own process group, so that Ctrl-C reaches only the
	// caller, which knows the order of the stop, and so that its children can
	// be killed with it.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := r.connect(p); err != nil {
		r.closePipes()
		return nil, err
	}
	started := make(chan error)
	go func() {
		// The kernel kills the process when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.start(r.cmd)
		started <- err
		if err == nil {
			r.exited <- r.wait(p.owner.reaper)
		}
	}()
	if err := <-started; err != nil {
		r.closePipes()
		return nil, err
	}
	r.pid = r.cmd.Process.Pid
	r.read()
	return r, nil
}

// start starts the command on this thread, with its affinity.
func (p *Process) start(cmd *exec.Cmd) error {
	if len(p.spec.Affinity) > 0 && p.spec.AffinityDelay <= 0 {
		back, err := p.spec.Affinity.pinThread()
		if err != nil {
			return err
		}
		defer back() // children inherit the affinity of the thread
	}
	return p.owner.reaper.start(cmd)
}

// wait waits for the end of the process, kills the remaining processes of its
// group, and reads the remaining output.
func (r *run) wait(reaper *reaper) Exit {
	pid := r.cmd.Process.Pid
	// Until the process is reaped, neither its process ID nor the ID of its
	// group can be reused.
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	r.kill()
	err := r.cmd.Wait()
	reaper.ended(pid)
	for _, p := range r.pipes {
		p.drain()
	}
	state := r.cmd.ProcessState
	if state == nil {
		return Exit{Code: -1, Err: fmt.Errorf("wait: %w", err)}
	}
	exit := Exit{Code: state.ExitCode()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		exit.Signal = ws.Signal()
	}
	return exit
}

func (r *run) kill() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) }

// connect prepares the output of the process.
func (r *run) connect(p *Process) error {
	stdout, err := r.output(p, "stdout", p.spec.Stdout)
	if err != nil {
		return err
	}
	r.cmd.Stdout = stdout
	if p.spec.Stderr != nil && same(p.spec.Stdout, p.spec.Stderr) {
		r.cmd.Stderr = stdout
		return nil
	}
	stderr, err := r.output(p, "stderr", p.spec.Stderr)
	r.cmd.Stderr = stderr
	return err
}

// same reports whether two writers are the same. Incomparable writers are not.
func same(a, b io.Writer) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = false
		}
	}()
	return a == b
}

func (r *run) output(p *Process, stream string, to io.Writer) (*os.File, error) {
	if f, ok := to.(*os.File); ok {
		return f, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe for the output: %w", err)
	}
	pp := &pipe{read: read, write: write, done: make(chan struct{})}
	r.pipes = append(r.pipes, pp)
	if to == nil {
		log := p.owner.Log.NewLogger(p.spec.Name)
		pp.copy = func() { copyLines(pp, func(line string) { log.Info("output", "stream", stream, "line", line) }) }
		return write, nil
	}
	pp.copy = func() {
		copyAll(to, pp, func(err error) {
			p.owner.Log.Warn("output of a process is lost", "name", p.spec.Name, "stream", stream, "error", err)
		})
	}
	return write, nil
}

func (r *run) read() {
	for _, p := range r.pipes {
		_ = p.write.Close() // the process has it
		go func() {
			defer close(p.done)
			p.copy()
		}()
	}
}

func (r *run) closePipes() {
	for _, p := range r.pipes {
		_ = p.write.Close()
		_ = p.read.Close()
	}
}
