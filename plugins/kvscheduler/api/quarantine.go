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

// Quarantine is for operators who look after values that bring their southbound
// down. A value that was being worked on when a southbound went down is a
// suspect: when the southbound is up again all others come first, and then the
// suspects one at a time, so that the next crash tells which one it was. Who
// succeeds is none any more; who was there at the configured number of crashes
// within an hour is quarantined: nothing is done with it until it is changed,
// deleted or released.
type Quarantine interface {
	// Suspects lists the values in quarantine and those that may get there,
	// sorted by key.
	Suspects() []Suspect
	// ReleaseQuarantined tries values in quarantine again, one at a time; without
	// keys all of them. If one of the keys is not in quarantine, the error is an
	// ErrNotQuarantined and nothing is done.
	ReleaseQuarantined(ctx context.Context, keys ...string) error
}

// Suspect is a value that may bring its southbound down.
type Suspect struct {
	Key        string
	Base       string `json:",omitempty"` // the value it is derived from
	Southbound string
	Operation  string      // "Create", "Update" or "Delete"
	Crashes    []time.Time // at which it was being worked on
	// Quarantined: nothing is done with it any more.
	Quarantined bool
}

// QuarantineError is why nothing is done with a value in quarantine.
type QuarantineError struct{ Suspect Suspect }

// Error says what happened and what to do.
func (e *QuarantineError) Error() string {
	s := &e.Suspect
	times := make([]string, len(s.Crashes))
	for i, t := range s.Crashes {
		times[i] = t.UTC().Format(time.RFC3339)
	}
	what := map[string]string{"Create": "created", "Update": "changed", "Delete": "removed"}[s.Operation]
	n := fmt.Sprintf("%d times", len(times))
	if len(times) == 1 {
		n = "once"
	}
	return fmt.Sprintf("quarantined: southbound %q went down %s (%s) while it was being %s; change it or run agentctl quarantine release %s",
		s.Southbound, n, strings.Join(times, ", "), what, s.Key)
}
