package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Cleanup takes back what the agent configured when the agent stops in an
// orderly way. It is off unless --cleanup-on-exit is given, because networks
// are expected to outlive the program that set them up.
//
// It depends on everything that configures, so it is closed first.
type Cleanup struct {
	CleanupDeps
	enabled bool
}

// CleanupDeps is what Cleanup needs.
type CleanupDeps struct {
	infra.PluginDeps
	Scheduler Scheduler
	// Sources are plugins that must be alive, and are not otherwise used, while
	// values are removed.
	Sources []infra.Plugin
}

// Scheduler is the part of the scheduler that Cleanup needs.
type Scheduler interface {
	kvs.Committer
	kvs.Inspector
}

// cleanupPatience bounds the removal of values; the stop of the agent as a
// whole is bounded as well.
const cleanupPatience = 3 * time.Second

// DefineFlags adds --cleanup-on-exit.
func (c *Cleanup) DefineFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.enabled, "cleanup-on-exit", c.enabled, "remove what the agent configured when it is stopped")
}

// Init does nothing: all there is to do is in Close.
func (c *Cleanup) Init() error { return nil }

// Close removes all values that the northbound asked for, and the network
// namespaces that were made for them.
func (c *Cleanup) Close() error {
	if !c.enabled {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), cleanupPatience)
	defer cancel()
	_, err := c.Scheduler.StartNBTransaction().Commit(ctx,
		kvs.WithResync(kvs.FullResync, false), kvs.WithDescription("clean up before the end"))
	var txn *kvs.TransactionError
	if errors.As(err, &txn) {
		for _, failed := range txn.GetKVErrors() {
			c.Log.Warn("value was not removed", "key", failed.Key, "error", failed.Error)
		}
	}
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}
