package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotQuarantined: the value is not in quarantine.
var ErrNotQuarantined = errors.New("not in quarantine")

// Quarantine handles values that crash their southbound. A value with an operation in flight
// when a southbound crashed is a suspect. After the reconnect all other values are applied
// first, and then the suspects one at a time, so that the next crash identifies the value. A
// suspect whose trial succeeds is released. A value with the configured number of crashes
// within an hour is put into quarantine: no operation runs on it until it is changed, deleted
// or released.
//
// A southbound may also crash some time after an operation succeeded. After as many crashes in
// a row, each soon after the values were applied, the scheduler searches the value: it holds back
// those that were changed last, and then halves what is in question with each crash and each time
// that the southbound survives. The value that it finds is put into quarantine.
type Quarantine interface {
	// Suspects lists the values in quarantine and the suspects, sorted by key.
	Suspects() []Suspect
	// ReleaseQuarantined tries values in quarantine again, one at a time; without keys all of
	// them. To release a value that is held back ends the search. If one of the keys is not in quarantine, the error is an ErrNotQuarantined and
	// nothing is done.
	ReleaseQuarantined(ctx context.Context, keys ...string) error
}

// Suspect is a value that may crash its southbound.
type Suspect struct {
	Key        string
	Base       string `json:",omitempty"` // the value it is derived from
	Southbound string
	Operation  string      // "Create", "Update" or "Delete"; empty: a search found the value, or holds it back
	Crashes    []time.Time // with the operation in flight; without one: some time after the value was applied
	// Quarantined reports that the value is in quarantine.
	Quarantined bool
	// HeldBack reports that the value is not applied for the time of a search.
	HeldBack bool `json:",omitempty"`
	// Search describes the search; empty unless HeldBack.
	Search string `json:",omitempty"`
}

// QuarantineError is the error of a value in quarantine.
type QuarantineError struct{ Suspect Suspect }

// Error describes the crash and the remedy.
func (e *QuarantineError) Error() string {
	s := &e.Suspect
	times := make([]string, len(s.Crashes))
	for i, t := range s.Crashes {
		times[i] = t.UTC().Format(time.RFC3339)
	}
	when := "soon after it was applied"
	if what := map[string]string{"Create": "created", "Update": "changed", "Delete": "removed"}[s.Operation]; what != "" {
		when = "while it was being " + what
	}
	n := fmt.Sprintf("%d times", len(times))
	if len(times) == 1 {
		n = "once"
	}
	return fmt.Sprintf("quarantined: southbound %q went down %s (%s) %s; change it or run agentctl quarantine release %s",
		s.Southbound, n, strings.Join(times, ", "), when, s.Key)
}
