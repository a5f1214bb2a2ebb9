package nltest

import (
	"testing"
	"time"
)

// pollLimit is how long Poll waits; far more than the kernel ever needs.
const pollLimit = 2 * time.Minute

// Poll waits until the kernel has done what it does in its own time.
func Poll(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(pollLimit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("still not so: %s", what)
		case <-tick.C:
		}
	}
}
