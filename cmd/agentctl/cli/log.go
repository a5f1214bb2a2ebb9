package cli

import (
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) logCommand() *cobra.Command {
	return parent("log", "Show and set the levels of loggers", a.logList(), a.logSet())
}

func (a *app) logList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [LOGGER]", Aliases: []string{"ls", "l"},
		Short: "List loggers whose names contain LOGGER, or all", Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := a.client.Loggers(cmd.Context())
			if err != nil {
				return err
			}
			selected := []client.LoggerLevel{}
			for _, l := range list {
				if len(args) == 0 || strings.Contains(l.Logger, args[0]) {
					selected = append(selected, l)
				}
			}
			if len(selected) == 0 {
				return fmt.Errorf("no logger has %q in its name; 'agentctl log list' has all", strings.Join(args, " "))
			}
			sort.Slice(selected, func(i, j int) bool { return selected[i].Logger < selected[j].Logger })
			return show(a, selected, func(list []client.LoggerLevel) error {
				t := newTable("LOGGER", "LEVEL")
				for _, l := range list {
					t.row(l.Logger, l.Level)
				}
				return t.write(a)
			})
		},
	}
	a.formatFlag(cmd)
	return cmd
}

func (a *app) logSet() *cobra.Command {
	return &cobra.Command{
		Use: "set LOGGER LEVEL", Short: "Set the level of a logger, of a pattern (\"vpp-*\") or of \"default\"",
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := a.client.SetLogLevel(cmd.Context(), args[0], args[1])
			if e := (*client.Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound {
				return fmt.Errorf("no logger %q; 'agentctl log list' has their names", args[0])
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "logger %s has been set to level %s\n", set.Logger, set.Level)
			return err
		},
	}
}
