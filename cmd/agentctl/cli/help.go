package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// examples are those of commands that need no more than a line, by their paths.
var examples = map[string]string{
	"completion bash":       "source <(agentctl completion bash)",
	"completion fish":       "agentctl completion fish | source",
	"completion powershell": "agentctl completion powershell | Out-String | Invoke-Expression",
	"completion zsh":        "source <(agentctl completion zsh)",
	"config delete":         "agentctl config delete net.yaml --waitdone",
	"config get":            "agentctl config get > net.yaml",
	"config history":        "agentctl config history\nagentctl config history 12 --critical-path",
	"config resync":         "agentctl config resync --retry",
	"config retrieve":       "agentctl config retrieve -o yaml",
	"config update":         "agentctl config update net.yaml --replace --wait",
	"config validate":       "agentctl config validate net.yaml",
	"cancel":                "agentctl cancel 3f9a01c2",
	"confirm":               "agentctl confirm 3f9a01c2",
	"context delete":        "agentctl context delete lab",
	"context list":          "agentctl context list",
	"context set":           "agentctl context set lab host=10.0.0.7 http-port=9191 http-basic-auth='${env:LAB_USER}'",
	"context use":           "agentctl context use lab && agentctl status",
	"kvdb del":              "agentctl kvdb del config/vpp/v2/interfaces/loop1",
	"kvdb get":              "agentctl kvdb get config/vpp/v2/interfaces/loop1",
	"kvdb keygen":           "agentctl kvdb keygen agent.pem",
	"kvdb list":             "agentctl kvdb list config/vpp/v2/ --keys-only",
	"kvdb put":              "agentctl kvdb put config/vpp/v2/interfaces/loop1 '{\"name\": \"loop1\", \"type\": \"SOFTWARE_LOOPBACK\"}'",
	"log list":              "agentctl log list vpp",
	"log set":               "agentctl log set 'vpp-*' debug",
	"logout":                "agentctl logout",
	"model inspect":         "agentctl model inspect vpp.interfaces",
	"put":                   "agentctl put config/vpp/v2/interfaces/loop1 '{\"name\": \"loop1\", \"type\": \"SOFTWARE_LOOPBACK\"}'",
	"report":                "agentctl report -o /tmp",
	"rollback":              "agentctl rollback 12 --dry-run",
	"service list":          "agentctl service list -m ligato.generic",
	"status":                "agentctl status --wait --timeout 30s",
	"version":               "agentctl version -o json",
	"vpp acl":               "agentctl vpp acl web",
	"vpp ikev2":             "agentctl vpp ikev2",
	"vpp info":              "agentctl vpp info",
	"vpp lacp":              "agentctl vpp lacp",
	"vpp lldp":              "agentctl vpp lldp",
	"vpp punt":              "agentctl vpp punt",
}

// addExamples adds the examples of the table.
func addExamples(cmd *cobra.Command, path string) {
	if text := examples[path]; text != "" {
		cmd.Example = "  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	for _, child := range cmd.Commands() {
		addExamples(child, strings.TrimPrefix(path+" "+child.Name(), " "))
	}
}

// optionsCommand lists the flags of all commands, which the help of each only mentions.
func optionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "options", Short: "List the flags of all commands", Args: args(cobra.NoArgs),
		Example:          "  agentctl options",
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "Flags of all commands:\n%s", cmd.InheritedFlags().FlagUsages())
			return err
		},
	}
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
func (a *app) addHelp(root *cobra.Command) {
	root.SetUsageTemplate(oneLineOfFlags(root.UsageTemplate()))
	root.AddCommand(optionsCommand(), a.manCommand())
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	if completion, err := find(root, []string{"completion"}); err == nil { // an unknown shell is an error
		completion.Args = noCommand
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	addExamples(root, "")
}

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
