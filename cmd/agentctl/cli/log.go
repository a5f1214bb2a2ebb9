package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) logCommand() *cobra.Command {
	return parent("log", "Show and set the levels of loggers", a.logList(), a.logSet())
}

func (a *app) logList() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "list [LOGGER]", Aliases: []string{"ls", "l"},
		Short: "List loggers whose names contain LOGGER, or all", Args: args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeLoggers,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := a.client.Loggers(cmd.Context())
			if err != nil {
				return err
			}
			part := strings.Join(args, "")
			list = slices.DeleteFunc(list, func(l client.LoggerLevel) bool { return !strings.Contains(l.Logger, part) })
			if len(list) == 0 {
				return fmt.Errorf("no logger has %q in its name; 'agentctl log list' has all", part)
			}
			slices.SortFunc(list, func(x, y client.LoggerLevel) int { return strings.Compare(x.Logger, y.Logger) })
			t := newTable("LOGGER", "LEVEL")
			for _, l := range list {
				t.row(l.Logger, l.Level)
			}
			return show(a, list, func([]client.LoggerLevel) error { return t.write(a) })
		},
	})
}

func (a *app) logSet() *cobra.Command {
	return &cobra.Command{
		Use: "set LOGGER LEVEL", Short: "Set the level of a logger, of a pattern (\"vpp-*\") or of \"default\"",
		Args: args(cobra.ExactArgs(2)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return startingWith(prefix, "debug", "info", "warn", "error"), cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeLoggers(cmd, args, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := a.client.SetLogLevel(cmd.Context(), args[0], args[1])
			if notServed(err) {
				return fmt.Errorf("no logger %q; 'agentctl log list' has their names", args[0])
			}
			if err != nil {
				return err
			}
			return a.printf("logger %s has been set to level %s\n", set.Logger, set.Level)
		},
	}
}

// completeLoggers completes the name of a logger.
func (a *app) completeLoggers(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := a.client.Loggers(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.Logger
	}
	slices.Sort(names)
	return startingWith(prefix, names...), cobra.ShellCompDirectiveNoFileComp
}

// startingWith returns the words that start with a prefix.
func startingWith(prefix string, words ...string) (list []string) {
	for _, word := range words {
		if strings.HasPrefix(word, prefix) {
			list = append(list, word)
		}
	}
	return list
}
