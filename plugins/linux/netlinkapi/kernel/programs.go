package kernel

import (
	"os/exec"
	"sync"
	"time"
)

// ownMemory is for how long a program that has ended is known: the notifications of its changes
// are read later. Numbers of processes are not used again so soon.
const ownMemory = 10 * time.Second

// programs runs programs, and distinguishes their changes from the changes of other processes: the
// kernel reports the netlink port of the process that made a change. Its number is usually the number
// of the process. A program whose port has another number looks like another process.
type programs struct {
	mu    sync.Mutex
	ended map[int]time.Time // of own processes; the zero time: they run
}

func newPrograms() *programs { return &programs{ended: map[int]time.Time{}} }

// run is cmd.Run.
func (p *programs) run(cmd *exec.Cmd) error {
	pid, err := p.start(cmd)
	if err != nil {
		return err
	}
	defer p.end(pid)
	return cmd.Wait()
}

// start starts a program, which is known before anything is asked about it.
func (p *programs) start(cmd *exec.Cmd) (pid int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	p.ended[cmd.Process.Pid] = time.Time{}
	return cmd.Process.Pid, nil
}

func (p *programs) end(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for other, at := range p.ended {
		if !at.IsZero() && now.Sub(at) > ownMemory {
			delete(p.ended, other)
		}
	}
	p.ended[pid] = now
}

// own reports whether a port belongs to an own program.
func (p *programs) own(port uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, known := p.ended[int(port)]
	return known && (at.IsZero() || time.Since(at) <= ownMemory)
}
