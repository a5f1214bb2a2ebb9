// Package log has the commands for the levels of loggers.
package log

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// New returns the command "log".
func New(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.Parent("log", "Show and set the levels of loggers", newList(f), newSet(f))
}

type listOptions struct {
	*cmdutil.Factory
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: "list [LOGGER]", Aliases: []string{"ls", "l"},
		Example: "  agentctl log list vpp",
		Short:   "List loggers whose names contain LOGGER, or all", Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeLoggers(f, cmd, args, prefix)
		},
		RunE: o.run,
	})
}

func (o *listOptions) run(cmd *cobra.Command, args []string) error {
	list, err := o.Client.Log.List(cmd.Context())
	if err != nil {
		return err
	}
	part, all := strings.Join(args, ""), namesOf(list)
	list = slices.DeleteFunc(list, func(l client.LoggerLevel) bool { return !strings.Contains(l.Logger, part) })
	if len(list) == 0 {
		return fmt.Errorf("no logger has %q in its name; 'agentctl log list' has all%s", part, cmdutil.Meant(part, all))
	}
	slices.SortFunc(list, func(x, y client.LoggerLevel) int { return strings.Compare(x.Logger, y.Logger) })
	t := output.NewTable("LOGGER", "LEVEL")
	for _, l := range list {
		t.Row(l.Logger, l.Level)
	}
	return output.Show(o.Printer, list, func([]client.LoggerLevel) error { return t.Write(o.Printer) })
}

type setOptions struct {
	*cmdutil.Factory
}

func newSet(f *cmdutil.Factory) *cobra.Command {
	o := &setOptions{Factory: f}
	return &cobra.Command{
		Use: "set LOGGER LEVEL", Short: "Set the level of a logger, of a pattern (\"vpp-*\") or of \"default\"",
		Example: "  agentctl log set 'vpp-*' debug",
		Args:    cmdutil.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return cmdutil.StartingWith(prefix, "debug", "info", "warn", "error"), cobra.ShellCompDirectiveNoFileComp
			}
			return completeLoggers(f, cmd, args, prefix)
		},
		RunE: o.run,
	}
}

func (o *setOptions) run(cmd *cobra.Command, args []string) error {
	set, err := o.Client.Log.SetLevel(cmd.Context(), args[0], args[1])
	if cmdutil.NotServed(err) {
		list, _ := o.Client.Log.List(cmd.Context()) // the first error says more
		return fmt.Errorf("no logger %q; 'agentctl log list' has their names%s", args[0], cmdutil.Meant(args[0], namesOf(list)))
	}
	if err != nil {
		return err
	}
	return o.Printf("logger %s has been set to level %s\n", set.Logger, set.Level)
}

// completeLoggers completes the name of a logger.
func completeLoggers(f *cmdutil.Factory, cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || f.Connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := f.Client.Log.List(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return cmdutil.StartingWith(prefix, namesOf(list)...), cobra.ShellCompDirectiveNoFileComp
}

// namesOf returns the names of loggers, sorted.
func namesOf(list []client.LoggerLevel) []string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.Logger
	}
	slices.Sort(names)
	return names
}
