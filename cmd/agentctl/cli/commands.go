package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// Commands returns the tree of all commands, for documentation and its checks.
func Commands() *cobra.Command { return (&app{now: time.Now}).root() }

// ConfigFile returns the defaults of the configuration file of agentctl, for
// documentation; see config.Keys.
func ConfigFile() any { return fileConfig{Timeout: defaultTimeout} }
