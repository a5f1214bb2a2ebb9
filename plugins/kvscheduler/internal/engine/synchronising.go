package engine

import (
	"maps"
	"slices"
	"sync"
)

// synchronising are the southbounds that have connected and whose values are not
// synchronised yet: that waits in the queue, or runs. A southbound that is reported as up
// again while it is up is not among them: it works, and parts of it are converged. All
// methods may be called concurrently.
type synchronising struct {
	tell func(southbounds []string)

	mu    sync.Mutex
	up    map[string]bool
	tasks map[string]int // that synchronise a southbound and are not done
}

func newSynchronising(tell func([]string)) *synchronising {
	return &synchronising{tell: tell, up: map[string]bool{}, tasks: map[string]int{}}
}

// begin notes a change that is about to be queued.
func (y *synchronising) begin(s *sessionChange) {
	y.mu.Lock()
	defer y.mu.Unlock()
	s.begins = s.up && !y.up[s.name]
	y.up[s.name] = s.up
	if s.begins {
		y.count(s.name, 1)
	}
}

// end notes that a change was executed, or that it never will be.
func (y *synchronising) end(s *sessionChange) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if s.begins {
		y.count(s.name, -1)
	}
}

// count reports the southbounds if they changed. It does that under the lock, so that the
// reports have the order of the changes.
func (y *synchronising) count(name string, n int) {
	before := y.tasks[name]
	y.tasks[name] = before + n
	if before+n == 0 {
		delete(y.tasks, name)
	}
	if before == 0 || before+n == 0 {
		y.tell(slices.Sorted(maps.Keys(y.tasks)))
	}
}
