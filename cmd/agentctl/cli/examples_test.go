package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

// Every command that does something has an example in its help.
func TestExamples(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.IsAvailableCommand() && !cmd.HasAvailableSubCommands() && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, child := range cmd.Commands() {
			check(child)
		}
	}
	check(Commands())
}
