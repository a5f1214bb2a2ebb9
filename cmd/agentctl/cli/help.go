package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// helpCommand is the help command of the library, except that it rejects unknown
// commands and suggests the nearest one.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		Long:  "Help provides help for any command in the application.\nSimply type agentctl help [path to command] for full details.",
		// Help needs neither an agent nor a valid configuration.
		PersistentPreRun: func(*cobra.Command, []string) {},
		ValidArgsFunction: func(_ *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
			if of, err := find(root, args); err == nil {
				for _, child := range of.Commands() {
					if child.IsAvailableCommand() && strings.HasPrefix(child.Name(), prefix) {
						names = append(names, child.Name()+"\t"+child.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, err := find(root, args)
			if err != nil {
				return err
			}
			cmd.InitDefaultHelpFlag() // so that it is listed
			return cmd.Help()
		},
	}
}

// find returns the command at the end of a path.
func find(cmd *cobra.Command, path []string) (*cobra.Command, error) {
	for i, name := range path {
		children := cmd.Commands()
		at := slices.IndexFunc(children, func(c *cobra.Command) bool { return c.Name() == name || c.HasAlias(name) })
		if at < 0 {
			return nil, noCommand(cmd, path[i:])
		}
		cmd = children[at]
	}
	return cmd, nil
}

// addHelp adds the commands help and completion.
func addHelp(root *cobra.Command) {
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	if completion, err := find(root, []string{"completion"}); err == nil { // an unknown shell is an error
		completion.Args = noCommand
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}
