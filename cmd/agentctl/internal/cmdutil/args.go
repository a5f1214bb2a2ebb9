package cmdutil

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
)

// Parent returns a command that only has subcommands.
func Parent(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}

// NoCommand returns an error for the arguments of a command that only has subcommands, with the
// nearest one.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = max(1, len(args[0])/3)
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", near[0])
	}
	return exit.Usagef("unknown command %q of %s%s", args[0], cmd.CommandPath(), hint)
}

// Args converts wrong numbers of arguments to usage errors that name the expected
// ones.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		given := fmt.Sprintf("%d arguments", len(args)) // they may be secret
		if len(args) == 1 {
			given = "1 argument"
		}
		return exit.Usagef("expected '%s%s', got %s", strings.TrimSuffix(cmd.CommandPath(), cmd.Name()), cmd.Use, given)
	}
}
