package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

func (a *app) sourcesCommand() *cobra.Command {
	return a.formatted(&cobra.Command{
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
}

func (a *app) printSources(list []orchestrator.SourceStatus) error {
	t := newTable("SOURCE", "ITEMS", "SHADOWED", "CHANGED", "PROBLEM")
	for i := range list {
		s := list[len(list)-1-i]
		problems := append([]string{s.LastError}, s.Rejected...)
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
