// Package contract remembers which descriptors violate their contract, and how.
package contract

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Violation is how a descriptor violates its contract.
type Violation struct {
	Descriptor string
	Key        string // of the value; empty: in Retrieve
	Problem    string
}

// maxRemembered limits the violations that are remembered one by one; all of them are
// counted.
const maxRemembered = 1000

// Tracker has the contract violations that are not over. All methods may be called
// concurrently.
type Tracker struct {
	log    logging.Logger
	report func([]Violation)

	any   atomic.Bool
	dry   atomic.Bool // see DryRun
	mu    sync.Mutex
	count map[string]uint64      // by descriptor, since the start
	last  map[string][]string    // of the last Retrieve, by descriptor
	keys  map[string][]Violation // by value
}

// New returns a tracker that reports all violations whenever they change.
func New(log logging.Logger, report func([]Violation)) *Tracker {
	return &Tracker{log: log, report: report,
		count: map[string]uint64{}, last: map[string][]string{}, keys: map[string][]Violation{}}
}

// Value reports what is wrong with a value, or with those that are derived from it.
func (t *Tracker) Value(descriptor, key, problem string) {
	if t.add(Violation{descriptor, key, problem}) {
		t.log.Warn("descriptor violates its contract", "descriptor", descriptor, "key", key, "problem", problem)
	}
}

// Retrieve reports what is wrong with the result of a Retrieve.
func (t *Tracker) Retrieve(descriptor, problem string) {
	t.add(Violation{Descriptor: descriptor, Problem: problem})
}

func (t *Tracker) add(v Violation) bool {
	if !t.note(v) {
		return false
	}
	t.report(t.List())
	return true
}

// DryRun ignores violations of values, and Forget, until the returned function is called: values of
// a plan that is not applied have none.
func (t *Tracker) DryRun() (end func()) {
	t.dry.Store(true)
	return func() { t.dry.Store(false) }
}

// note remembers a violation; false if it is known.
func (t *Tracker) note(v Violation) bool {
	if v.Key != "" && t.dry.Load() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.any.Store(true)
	t.count[v.Descriptor]++
	switch {
	case v.Key == "" && len(t.last[v.Descriptor]) < maxRemembered:
		t.last[v.Descriptor] = append(t.last[v.Descriptor], v.Problem)
	case v.Key != "" && len(t.keys) < maxRemembered && !slices.Contains(t.keys[v.Key], v):
		t.keys[v.Key] = append(t.keys[v.Key], v)
	default:
		return false
	}
	return true
}

// Begin forgets what was wrong with the last Retrieve of a descriptor.
func (t *Tracker) Begin(descriptor string) {
	t.mu.Lock()
	some := len(t.last[descriptor]) > 0
	delete(t.last, descriptor)
	t.mu.Unlock()
	if some {
		t.report(t.List())
	}
}

// Forget removes the violations of a value whose descriptor is about to be called again.
func (t *Tracker) Forget(key string) {
	if !t.any.Load() || t.dry.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.keys, key)
}

// Of returns the problems of a value.
func (t *Tracker) Of(key string) (problems []string) {
	if !t.any.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.keys[key] {
		problems = append(problems, v.Problem)
	}
	return problems
}

// List returns all violations that are remembered, sorted by descriptor, key and problem.
func (t *Tracker) List() (list []Violation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for descriptor, problems := range t.last {
		for _, problem := range problems {
			list = append(list, Violation{Descriptor: descriptor, Problem: problem})
		}
	}
	for _, some := range t.keys {
		list = append(list, some...)
	}
	slices.SortFunc(list, func(a, b Violation) int {
		return strings.Compare(a.Descriptor+" "+a.Key+" "+a.Problem, b.Descriptor+" "+b.Key+" "+b.Problem)
	})
	return list
}

// Counts returns how often descriptors violated their contract since the start, by
// descriptor.
func (t *Tracker) Counts() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.count)
}
