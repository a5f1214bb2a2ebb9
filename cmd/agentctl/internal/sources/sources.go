// Package sources has the commands that show where the configuration comes from.
package sources

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

type options struct {
	*cmdutil.Factory
}

// New returns the command "sources".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use:   "sources [KEY...]",
		Short: "Show where the configuration comes from, and who wins",
		Long: "Shows the sources of the configuration, the one with the highest priority first, or for\n" +
			"keys (whole, or as MODEL/NAME) the value in effect and those that it overrides.",
		Example:           "  agentctl sources\n  agentctl sources vpp.interfaces/loop1",
		ValidArgsFunction: f.CompleteKeys,
		RunE:              o.run,
	})
	cmd.AddCommand(newAccept(f))
	return cmd
}

func (o *options) run(cmd *cobra.Command, keys []string) error {
	if len(keys) > 0 {
		return o.sourcesOf(cmd.Context(), o.Models.FullKeys(keys))
	}
	list, err := o.Client.Configuration.Sources(cmd.Context())
	if err != nil {
		return err
	}
	return output.Show(o.Printer, list, o.printSources)
}

func newAccept(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "accept NAME",
		Short: "Follow a store that the agent does not follow, because its content may be an accident",
		Long: "Makes the content of a store take effect that is held back (guard-deletes in\n" +
			"orchestrator.conf), because it belongs to another store, went back, or would delete\n" +
			"everything or too much. \"agentctl sources\" names such stores.",
		Example: "  agentctl sources accept etcd",
		Args:    cmdutil.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			changes, err := f.Client.Configuration.AcceptSource(cmd.Context(), names[0])
			if cmdutil.NotFound(err) {
				list, _ := f.Client.Configuration.Sources(cmd.Context()) // the first error says more
				var known []string
				for _, s := range list {
					known = append(known, s.Name)
				}
				return fmt.Errorf("%w%s", err, cmdutil.Meant(names[0], known))
			}
			if err != nil {
				return err
			}
			return f.Printf("%s is followed: %d items changed\n", names[0], changes)
		},
	}
}

func (o *options) printSources(list []orchestrator.SourceStatus) error {
	t := output.NewTable("SOURCE", "ITEMS", "SHADOWED", "CHANGED", "PROBLEM")
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
		t.Row(s.Name, s.Items, s.Shadowed, o.AgeOf(s.LastChange), o.Models.ShortText(strings.Trim(strings.Join(problems, "\n"), "\n")))
	}
	return t.Write(o.Printer)
}

func (o *options) sourcesOf(ctx context.Context, keys []string) error {
	items, err := o.Client.Configuration.Items(ctx, keys...)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, it := range items {
		found[it.Key] = true
	}
	if err := output.Show(o.Printer, items, o.printItemSources); err != nil {
		return err
	}
	for _, key := range keys {
		if !found[key] {
			return o.NoSource(ctx, key)
		}
	}
	return nil
}

func (o *options) printItemSources(items []response.SourcedItem) error {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s\n%s", o.Models.ShortKey(it.Key), Describe(it))
	}
	return o.Print(b.String())
}

// Describe lists the sources of an item with their values.
func Describe(it response.SourcedItem) string {
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
