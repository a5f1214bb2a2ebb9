package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reaper reaps orphans. Process 1 becomes the parent of all processes whose parents
// have ended; when they end, they stay in the process table until their parent
// reads their exit code.
type reaper struct {
	mu   sync.Mutex // held while a process starts, whose process ID is not known yet
	own  map[int]bool
	wake chan struct{}
}

func newReaper() *reaper { return &reaper{own: map[int]bool{}, wake: make(chan struct{}, 1)} }

// start starts a process that the caller waits for.
func (r *reaper) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.own[cmd.Process.Pid] = true
	return nil
}

// ended reports that the caller of start has waited for the process.
func (r *reaper) ended(pid int) {
	r.mu.Lock()
	delete(r.own, pid)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// serve reaps orphans until ctx ends. It calls reaped with each of them.
func (r *reaper) serve(ctx context.Context, reaped func(pid int)) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	for {
		for pid := r.reap(); pid > 0; pid = r.reap() {
			reaped(pid)
		}
		select {
		case <-died:
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

// reap reaps one child that has ended and that no caller waits for; 0 if there is
// none.
func (r *reaper) reap() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return 0
		}
	}
	pid := pidOf(&info)
	if pid == 0 || r.own[pid] { // the next call of ended triggers another check
		return 0
	}
	if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil || got != pid {
		return 0
	}
	return pid
}

// pidOf returns si_pid. It is the first field of a union that is aligned like a
// pointer, after three integers.
func pidOf(info *unix.Siginfo) int {
	fields := (*[8]int32)(unsafe.Pointer(info))
	if strconv.IntSize == 64 {
		return int(fields[4])
	}
	return int(fields[3])
}
