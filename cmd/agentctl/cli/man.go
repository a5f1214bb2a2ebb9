package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual pages of all commands, for packages. Their date is that of
// SOURCE_DATE_EPOCH, if it is set.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands into a directory", Hidden: true,
		Args:             args(cobra.ExactArgs(1)),
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.Root().DisableAutoGenTag = true
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "Tenuto", Manual: "Tenuto"}, args[0])
		},
	}
}
