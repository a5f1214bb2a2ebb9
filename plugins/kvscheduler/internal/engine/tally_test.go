package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tally counts what the random cases of this process really did. Cases that are
// run again to make a failure smaller count as well.
type tally struct {
	policies    bool // take part
	mu          sync.Mutex
	cases       int
	steps       map[string]int // by name
	operations  int            // of descriptors
	faults      map[string]int // by kind
	transitions map[string]int // changes of owner, by kind
	divergences int            // from the oracle, or from another invariant
}

func newTally(policies bool) *tally {
	return &tally{policies: policies, steps: map[string]int{}, faults: map[string]int{}, transitions: map[string]int{}}
}

// done adds one case, which has ended.
func (t *tally) done(s *simulation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cases++
	for name, n := range s.taken {
		t.steps[name] += n
	}
	t.operations += len(s.w.ops)
	for kind, n := range s.w.faults {
		t.faults[kind] += n
	}
	for kind, n := range s.w.transitions {
		t.transitions[kind] += n
	}
	if s.diverged {
		t.divergences++
	}
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	steps, byStep := list(t.steps)
	faults, byKind := list(t.faults)
	_, owners := list(t.transitions)
	return fmt.Sprintf("%d cases of %d steps, %d operations, %d faults, %d divergences\nsteps:  %s\nfaults: %s\nowners: %s",
		t.cases, steps, t.operations, faults, t.divergences, byStep, byKind, owners)
}

func list(counts map[string]int) (sum int, text string) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		sum += counts[name]
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return sum, strings.Join(parts, ", ")
}

// report says what was done, and fails if a fault was never injected although
// there were cases enough: a test of faults that has none passes too easily.
func (t *tally) report(tb testing.TB) {
	tb.Logf("the scheduler against its oracle: %v", t)
	if t.cases < 1000 {
		return
	}
	for _, kind := range faultKinds {
		if t.faults[kind] == 0 && (t.policies || kind != strangers && kind != foundByCreate && kind != policyStorm) {
			tb.Errorf("no fault %q in %d cases", kind, t.cases)
		}
	}
}

const (
	strangers     = "object made by a foreign hand"
	foundByCreate = "object found by Create"
	policyStorm   = "storm with ownership policies"
)

// faultKinds are all faults that random cases inject.
var faultKinds = []string{
	"error before the effect", "error after the effect", "panic before the effect", "panic after the effect",
	"operation that is not done", "callback that hangs", "dump failed", "dump panicked", "dump incomplete",
	"first dump failed", "first dump panicked", "first dump without content",
	"session down", "session down, state lost", "scheduler restarted", "scheduler killed in an operation",
	strangers, foundByCreate, policyStorm, "value deleted by a foreign hand", "value changed by a foreign hand",
	"clock set", "clock set during an operation",
	"notification lost", "notification duplicated", "notification reordered",
	"foreign hand in a storm", "session that changes while callbacks run late", "callback that returns late",
	"late effect before a late return", "scheduler restarted while callbacks run late",
	lostRepaired, lostKept, lostInStorm, lostProperty,
}
