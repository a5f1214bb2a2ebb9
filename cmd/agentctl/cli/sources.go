package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

func (a *app) sourcesCommand() *cobra.Command {
	cmd := a.formatted(&cobra.Command{
		Use:   "sources [KEY...]",
		Short: "Show where the configuration comes from, and who wins",
		Long: "Shows the sources of the configuration, the one with the highest priority first, or for\n" +
			"keys (whole, or as MODEL/NAME) the value in effect and those that it overrides.",
		Example:           "  agentctl sources\n  agentctl sources vpp.interfaces/loop1",
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, keys []string) error {
			if len(keys) > 0 {
				return a.sourcesOf(cmd.Context(), a.fullKeys(keys))
			}
			list, err := a.client.Sources(cmd.Context())
			if err != nil {
				return err
			}
			return show(a, list, a.printSources)
		},
	})
	cmd.AddCommand(a.acceptSourceCommand())
	return cmd
}

func (a *app) acceptSourceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "accept NAME",
		Short: "Follow a store that the agent does not follow, because its content may be an accident",
		Long: "Makes the content of a store take effect that is held back (guard-deletes in\n" +
			"orchestrator.conf), because it belongs to another store, went back, or would delete\n" +
			"everything or too much. \"agentctl sources\" names such stores.",
		Example: "  agentctl sources accept etcd",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			changes, err := client.AcceptSource(cmd.Context(), a.client, names[0])
			if err != nil {
				return err
			}
			return a.printf("%s is followed: %d items changed\n", names[0], changes)
		},
	}
}

func (a *app) printSources(list []orchestrator.SourceStatus) error {
	t := newTable("SOURCE", "ITEMS", "SHADOWED", "CHANGED", "PROBLEM")
	for i := range list {
		s := list[len(list)-1-i]
		var problems []string
		if s.Guard != nil {
			problems = append(problems, fmt.Sprintf("not followed since %s: %s", s.Guard.Since.UTC().Format(time.RFC3339), s.Guard.Reason))
		}
		problems = append(append(problems, s.LastError), s.Rejected...)
		for _, u := range s.Unhandled {
			problems = append(problems, u.Prefix+": no model has such keys")
		}
		t.row(s.Name, s.Items, s.Shadowed, a.ageOf(s.LastChange), a.shortText(strings.Trim(strings.Join(problems, "\n"), "\n")))
	}
	return t.write(a)
}

func (a *app) sourcesOf(ctx context.Context, keys []string) error {
	items, err := a.client.Items(ctx, keys...)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, it := range items {
		found[it.Key] = true
	}
	if err := show(a, items, a.printItemSources); err != nil {
		return err
	}
	for _, key := range keys {
		if !found[key] {
			return fmt.Errorf("no source has %s", a.shortKey(key))
		}
	}
	return nil
}

func (a *app) printItemSources(items []response.SourcedItem) error {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s\n%s", a.shortKey(it.Key), itemSources(it))
	}
	return a.print(b.String())
}

// itemSources lists the sources of an item with their values.
func itemSources(it response.SourcedItem) string {
	var b strings.Builder
	for i, s := range append([]response.ItemSource{it.ItemSource}, it.Shadowed...) {
		what := "in effect"
		if i > 0 {
			what = "overridden"
		}
		if s.Location != "" {
			what += ", " + s.Location
		}
		fmt.Fprintf(&b, "  %s (%s)\n    %s\n", s.Source, what, strings.ReplaceAll(strings.TrimSpace(s.Value), "\n", "\n    "))
	}
	return b.String()
}
