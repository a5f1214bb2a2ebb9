package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
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

// usage writes how a command is used. It only mentions the flags of all commands. The usage of the
// library has them, and its replacement there is a template: with a template in a program, the
// linker keeps all exported methods of all types.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if len(c.Aliases) > 0 {
		b.WriteString("\n\nAliases:\n  " + c.NameAndAliases())
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	listCommands(&b, c)
	if c.HasParent() && c.HasAvailableLocalFlags() {
		b.WriteString("\n\nFlags:\n" + strings.TrimRight(c.LocalFlags().FlagUsages(), "\n"))
	}
	b.WriteString("\n\nGlobal flags, such as --host and --timeout: agentctl options")
	if c.HasAvailableSubCommands() {
		b.WriteString("\n\nUse \"" + c.CommandPath() + " [command] --help\" for more information about a command.")
	}
	b.WriteString("\n")
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// listCommands writes the commands below a command, by their groups.
func listCommands(b *strings.Builder, c *cobra.Command) {
	list := func(title, group string) {
		begin := "\n\n" + title
		for _, child := range c.Commands() {
			if child.GroupID == group && (child.IsAvailableCommand() || child.Name() == "help") {
				fmt.Fprintf(b, "%s\n  %-*s %s", begin, child.NamePadding(), child.Name(), child.Short)
				begin = ""
			}
		}
	}
	for _, group := range c.Groups() {
		list(group.Title, group.ID)
	}
	if len(c.Groups()) > 0 {
		list("Additional Commands:", "")
	} else {
		list("Available Commands:", "")
	}
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
	root.SetUsageFunc(usage)
	addVersion(root)
	root.AddCommand(optionsCommand())
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

// addVersion adds the flag --version, which needs no valid configuration. The text of the library's
// flag is changed by a template.
func addVersion(root *cobra.Command) {
	wanted := root.Flags().BoolP("version", "v", false, "version for agentctl")
	connect, help := root.PersistentPreRunE, root.RunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if *wanted {
			return nil
		}
		return connect(cmd, args)
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*wanted {
			return help(cmd, args)
		}
		version, _, _ := buildinfo.Version()
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "agentctl %s\n", version)
		return err
	}
}
