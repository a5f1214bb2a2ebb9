package process

import (
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxCPU is the highest CPU number that unix.CPUSet supports.
const maxCPU = 1023

// CPUs are CPU numbers, from 0.
type CPUs []int

// ParseCPUList parses numbers and ranges like taskset -c: "0,4-6", "0-6:2".
func ParseCPUList(text string) (CPUs, error) {
	var cpus CPUs
	for part := range strings.SplitSeq(text, ",") {
		from, to, step, err := parseRange(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("CPUs %q: %q: expected a number or a range (0,4-6), at most %d", text, part, maxCPU)
		}
		for n := from; n <= to; n += step {
			cpus = append(cpus, n)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func parseRange(part string) (from, to, step int, err error) {
	step = 1
	part, stride, strided := strings.Cut(part, ":")
	first, last, isRange := strings.Cut(part, "-")
	from, err = strconv.Atoi(first)
	to = from
	if err == nil && isRange {
		to, err = strconv.Atoi(last)
	}
	if err == nil && strided {
		step, err = strconv.Atoi(stride)
	}
	if err == nil && (from < 0 || to < from || to > maxCPU || step < 1 || strided && !isRange) {
		err = strconv.ErrRange
	}
	return from, to, step, err
}

// ParseCPUMask parses a mask like taskset: hexadecimal, with or without 0x. The
// lowest bit is CPU 0.
func ParseCPUMask(text string) (CPUs, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(strings.ReplaceAll(text, ",", ""), "0x"), "0X")
	mask, ok := new(big.Int).SetString(digits, 16)
	if !ok || mask.Sign() <= 0 || mask.BitLen() > maxCPU+1 {
		return nil, fmt.Errorf("CPU mask %q: expected a hexadecimal number (0x3 is CPUs 0 and 1)", text)
	}
	var cpus CPUs
	for n := range mask.BitLen() {
		if mask.Bit(n) == 1 {
			cpus = append(cpus, n)
		}
	}
	return cpus, nil
}

func (c CPUs) set() (s unix.CPUSet) {
	for _, n := range c {
		s.Set(n)
	}
	return s
}

// pinThread binds this thread to the CPUs; back restores its affinity.
func (c CPUs) pinThread() (back func(), err error) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("read the CPU affinity of this thread: %w", err)
	}
	set := c.set()
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("bind to the CPUs %v: %w", []int(c), err)
	}
	return func() { _ = unix.SchedSetaffinity(0, &before) }, nil
}

// Pin binds all present and future threads of a process to the CPUs; 0 is this
// process.
func (c CPUs) Pin(pid int) error {
	dir := "/proc/self/task"
	if pid != 0 {
		dir = fmt.Sprintf("/proc/%d/task", pid)
	}
	threads, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("threads of process %d: %w", pid, err)
	}
	set := c.set()
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
			return fmt.Errorf("bind process %d to the CPUs %v: %w", pid, []int(c), err)
		}
	}
	return nil
}

// pin sets the affinity of a run after its delay. The returned function cancels
// it.
func (p *Process) pin(r *run) (cancel func()) {
	if len(p.spec.Affinity) == 0 || p.spec.AffinityDelay <= 0 {
		return func() {}
	}
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(p.spec.AffinityDelay)
		defer timer.Stop()
		select {
		case <-end:
			return
		case <-timer.C:
		}
		if err := p.spec.Affinity.Pin(r.pid); err != nil {
			p.owner.Log.Warn("cannot set the CPU affinity of a process", "name", p.spec.Name, "pid", r.pid, "error", err)
		}
	}()
	return func() { close(end); <-done }
}
