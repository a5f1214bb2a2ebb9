package cmdutil

import (
	"fmt"

	"github.com/spf13/cobra"
)

// AllowEmptyFlag adds the flag of commands that may take the whole configuration from an agent: lose says how.
// Without it they return LoseAll.
func AllowEmptyFlag(cmd *cobra.Command, allow *bool, lose string) {
	cmd.Flags().BoolVar(allow, "allow-empty", false, lose+"; without it this is an error")
}

// LoseAll is the error of a change that would take the whole configuration from agents, because of a wrong
// label or an empty file: probably an accident.
func LoseAll(agents, since string) error {
	return fmt.Errorf("%s would lose all items, since %s; if that is right: --allow-empty", agents, since)
}
