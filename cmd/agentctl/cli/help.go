package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
)

// optionsCommand lists the flags of all commands, which the help of each only mentions.
func optionsCommand() *cobra.Command {
	return cmdutil.OnTargets(&cobra.Command{
		Use: "options", Short: "List the flags of all commands", Args: cmdutil.Args(cobra.NoArgs),
		Example:          "  agentctl options",
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "Flags of all commands:\n%s", cmd.InheritedFlags().FlagUsages())
			return err
		},
	}, cmdutil.NoTarget)
}

// oneLineOfFlags replaces the global flags in a template of the library.
func oneLineOfFlags(template string) string {
	template = strings.Replace(template, "{{if .HasAvailableLocalFlags}}", "{{if and .HasParent .HasAvailableLocalFlags}}", 1)
	before, after, _ := strings.Cut(template, "{{if .HasAvailableInheritedFlags}}")
	_, after, _ = strings.Cut(after, "{{if .HasHelpSubCommands}}")
	return before + "\n\nGlobal flags, such as --host and --timeout: agentctl options{{if .HasHelpSubCommands}}" + after
}

// helpCommand is the help command of the library, except that it rejects unknown
// commands and suggests the nearest one.
func helpCommand(root *cobra.Command) *cobra.Command {
	return cmdutil.OnTargets(&cobra.Command{
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
	}, cmdutil.NoTarget)
}

// find returns the command at the end of a path.
func find(cmd *cobra.Command, path []string) (*cobra.Command, error) {
	for i, name := range path {
		children := cmd.Commands()
		at := slices.IndexFunc(children, func(c *cobra.Command) bool { return c.Name() == name || c.HasAlias(name) })
		if at < 0 {
			return nil, cmdutil.NoCommand(cmd, path[i:])
		}
		cmd = children[at]
	}
	return cmd, nil
}

// shellExamples are the examples of the commands of the library that write completions.
var shellExamples = map[string]string{
	"bash":       "  source <(agentctl completion bash)",
	"fish":       "  agentctl completion fish | source",
	"powershell": "  agentctl completion powershell | Out-String | Invoke-Expression",
	"zsh":        "  source <(agentctl completion zsh)",
}

// addHelp adds the commands help and completion.
func addHelp(root *cobra.Command) {
	root.SetUsageTemplate(oneLineOfFlags(root.UsageTemplate()))
	root.AddCommand(optionsCommand(), manCommand())
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	if completion, err := find(root, []string{"completion"}); err == nil { // an unknown shell is an error
		cmdutil.OnTargets(completion, cmdutil.NoTarget)
		completion.Args = cmdutil.NoCommand
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range completion.Commands() {
			shell.Example = shellExamples[shell.Name()]
		}
	}
}

// manCommand writes the manual pages of all commands, for packages. Their date is that of
// SOURCE_DATE_EPOCH, if it is set.
func manCommand() *cobra.Command {
	return cmdutil.OnTargets(&cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands into a directory", Hidden: true,
		Args:             cmdutil.Args(cobra.ExactArgs(1)),
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.Root().DisableAutoGenTag = true
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "Tenuto", Manual: "Tenuto"}, args[0])
		},
	}, cmdutil.NoTarget)
}
