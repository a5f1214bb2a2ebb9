package app

import (
	"context"
	"errors"
	"testing"
)

type withdrawer func(ctx context.Context) error

func (w withdrawer) Withdraw(ctx context.Context) error { return w(ctx) }

// How long it takes to remove a network is for the stop of the agent to bound.
func TestCleanupHasTheTimeOfTheStop(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	c := newCleanup()
	c.Northbound = withdrawer(func(ctx context.Context) error {
		if end, bounded := ctx.Deadline(); bounded || ctx.Done() != nil {
			t.Errorf("it has to end at %v", end)
		}
		return refused
	})
	if err := c.Close(); err != nil {
		t.Errorf("it is off, but: %v", err)
	}
	c.enabled = true
	if err := c.Close(); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}
