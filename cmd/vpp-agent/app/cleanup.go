package app

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
)

// Cleanup takes back what the agent configured when the agent stops in an
// orderly way. It is off unless --cleanup-on-exit is given, because networks
// are expected to outlive the program that set them up.
//
// It is the first to be closed, while everything that configures still works, and
// has the time that the stop of the agent as a whole may take.
type Cleanup struct {
	CleanupDeps
	enabled bool
}

// CleanupDeps is what Cleanup needs.
type CleanupDeps struct {
	infra.PluginDeps
	Northbound Withdrawer
}

// Withdrawer takes back all that the northbound asked for.
type Withdrawer interface {
	Withdraw(ctx context.Context) error
}

func newCleanup() *Cleanup {
	c := &Cleanup{}
	c.SetName("cleanup")
	return c
}

// DefineFlags adds --cleanup-on-exit.
func (c *Cleanup) DefineFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.enabled, "cleanup-on-exit", c.enabled, "remove what the agent configured when it is stopped")
}

// Enabled reports whether anything is to be removed.
func (c *Cleanup) Enabled() bool { return c.enabled }

// Init does nothing: all there is to do is in Close.
func (c *Cleanup) Init() error { return nil }

// Close removes all values that the northbound asked for.
func (c *Cleanup) Close() error {
	if !c.enabled {
		return nil
	}
	if err := c.Northbound.Withdraw(context.WithoutCancel(c.Context())); err != nil {
		return fmt.Errorf("remove the configuration: %w", err)
	}
	return nil
}
