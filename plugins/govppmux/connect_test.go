package govppmux

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A VPP that accepts connections and does not answer gets more time with each attempt.
func TestPatience(t *testing.T) {
	p := &Plugin{}
	silent := fmt.Errorf("handshake: %w", context.DeadlineExceeded)
	for _, want := range []time.Duration{6 * time.Second, 12 * time.Second, 24 * time.Second, 48 * time.Second, maxPatience, maxPatience} {
		if p.beMorePatient(silent); p.patience != want {
			t.Errorf("patience %v, expected %v", p.patience, want)
		}
	}
	if p.beMorePatient(errors.New("connection refused")); p.patience != 0 {
		t.Errorf("patience %v with a VPP that is not there, expected the default", p.patience)
	}
}
