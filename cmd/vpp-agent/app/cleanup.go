package app

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
)

// Cleanup removes the configuration when the agent stops gracefully. It is
// disabled unless --cleanup-on-exit is given, because networks are expected to
// outlive the program that configured them.
//
// It is closed first, while all other plugins still work, and is limited by the
// stop timeout of the agent.
type Cleanup struct {
	CleanupDeps
	enabled bool
}

// CleanupDeps is what Cleanup needs.
type CleanupDeps struct {
	infra.PluginDeps
	Northbound Withdrawer
}

// Withdrawer removes the configuration of the northbound.
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
	fs.BoolVar(&c.enabled, "cleanup-on-exit", c.enabled, "remove the configuration when the agent stops")
}

// Enabled reports whether the configuration is to be removed.
func (c *Cleanup) Enabled() bool { return c.enabled }

// Init does nothing; Close does the work.
func (c *Cleanup) Init() error { return nil }

// Close removes all configured values.
func (c *Cleanup) Close() error {
	if !c.enabled {
		return nil
	}
	if err := c.Northbound.Withdraw(context.WithoutCancel(c.Context())); err != nil {
		return fmt.Errorf("remove the configuration: %w", err)
	}
	return nil
}
