package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	sources "github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// itemData is what "get" knows about a value.
type itemData struct {
	Why      api.Explanation
	Timeline []client.Revision    // the last one is now, unless its Until is set
	Sources  *sources.SourcedItem `json:",omitempty"` // nil: no source has it
	// NeededBy has the values that depend on it, or groups of them.
	NeededBy []dependents `json:",omitempty"`
}

// dependents are values that depend on another one, as the agent groups them.
type dependents struct {
	Key        string `json:",omitempty"` // of a single value
	Descriptor string `json:",omitempty"`
	Values     int
}

func (a *app) getCommand() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use:   "get KEY",
		Short: "Show one value whole: its state, fields, metadata, relations and history",
		Long: "Shows one value whole: its state and what it waits for, its fields, its metadata, the\n" +
			"values that it depends on, that depend on it or that are derived from it, and how it changed.\n" +
			"The key may be given whole, or as MODEL/NAME.",
		Example: "  agentctl get vpp.interfaces/loop1\n  agentctl get vpp.l2.bridge-domain/bd1 -o yaml",
		Args:    args(cobra.ExactArgs(1)), ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			key := a.fullKey(args[0])
			data, err := a.item(cmd.Context(), args[0], key)
			if err != nil {
				return err
			}
			if last := data.Timeline[len(data.Timeline)-1]; a.asProto() && last.Value != nil {
				it, err := a.messageOf(key, last.Value.ProtoMsgName, last.Value.ProtoMsgData)
				if err != nil {
					return err
				}
				return a.writeProto([]protoItem{it})
			}
			return show(a, data, func(data itemData) error {
				why, err := a.client.WhyText(cmd.Context(), key)
				if err != nil {
					return err
				}
				return a.printItem(key, data, why)
			})
		},
	}, protoFormat)
}

func (a *app) item(ctx context.Context, given, key string) (data itemData, err error) {
	if data.Why, err = a.whyKey(ctx, given, key); err != nil {
		return data, err
	}
	data.Timeline, err = a.client.Timeline(ctx, key)
	if notServed(err) {
		return data, fmt.Errorf("there is no value %s: %s", key, cmp.Or(data.Why.Reason, "not configured"))
	}
	if items, serr := a.client.Items(ctx, key); serr == nil && len(items) == 1 { // an older agent does not know
		data.Sources = &items[0]
	}
	if d, derr := client.Neighbours(ctx, a.client, key); derr == nil { // an older agent does not know
		data.NeededBy = neededBy(&d, key)
	}
	return data, err
}

// neededBy returns the nodes of a drawing that depend on a value.
func neededBy(d *api.Drawing, key string) (list []dependents) {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		depends := func(e api.DrawnEdge) bool {
			return e.From == n.ID && e.To == key && e.Relation == api.RelationDependsOn
		}
		if slices.ContainsFunc(d.Edges, depends) {
			list = append(list, dependents{Key: n.Key, Descriptor: n.Descriptor, Values: n.Values})
		}
	}
	return list
}

// neededByLines lists dependents: single ones by name, groups with their number.
func (a *app) neededByLines(list []dependents) string {
	var lines []string
	for _, d := range list {
		if d.Key != "" {
			lines = append(lines, a.shortKey(d.Key))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s values of %s", thousands(uint64(d.Values)), cmp.Or(d.Descriptor, "no descriptor")))
	}
	return strings.Join(lines, "\n")
}

// sourceText describes the source of a value, and those that it overrides.
func sourceText(it *sources.SourcedItem) string {
	text := it.Source
	if len(it.Shadowed) > 0 {
		var names []string
		for _, s := range it.Shadowed {
			names = append(names, s.Source)
		}
		text += " (overrides " + strings.Join(names, ", ") + ")"
	}
	return strings.TrimSuffix(text+", "+it.Location, ", ")
}

func (a *app) printItem(key string, data itemData, why string) error {
	var b strings.Builder
	last := data.Timeline[len(data.Timeline)-1]
	fmt.Fprintf(&b, "%s\n", a.shortKey(key))
	line := func(name, value string) {
		if value != "" {
			a.writeField(&b, fmt.Sprintf("  %-13s", name+":"), value)
		}
	}
	state := a.paintState(data.Why.State.String())
	if !data.Why.Since.IsZero() {
		state += " for " + age(a.now(), data.Why.Since)
	}
	line("State", state)
	line("Key", key)
	line("Descriptor", last.Flags["descriptor"])
	line("Last change", changedBy(last))
	if data.Sources != nil {
		line("Source", sourceText(data.Sources))
	}
	if last.Value != nil {
		section(&b, "VALUE", indented(last.Value.ProtoMsgData))
		section(&b, "DIFFERS IN WHAT THE MODEL LACKS", strings.Join(last.Value.Unmodeled, "\n"))
	}
	if data.Sources != nil && len(data.Sources.Shadowed) > 0 {
		section(&b, "SOURCES", strings.ReplaceAll("\n"+itemSources(*data.Sources), "\n  ", "\n")[1:])
	}
	section(&b, "METADATA", metadataLines(last.MetadataFields))
	section(&b, "RELATIONS", relations(last.Targets))
	section(&b, "WAITS FOR AND DEPENDS ON", why)
	section(&b, "NEEDED BY", a.neededByLines(data.NeededBy))
	b.WriteString("\nHISTORY\n")
	for _, n := range data.Timeline {
		until := "until now"
		if !n.Until.IsZero() {
			until = "for " + age(n.Until, n.Since)
		}
		fmt.Fprintf(&b, "  %s  %s %s, %s\n", n.Since.UTC().Format("2006-01-02 15:04:05.000 MST"), a.paintState(n.Flags["value-state"]), until, changedBy(n))
	}
	return a.print(b.String())
}

// changedBy names the transaction of a revision.
func changedBy(r client.Revision) string {
	return strings.Replace(r.Flags["last-update"], "TXN-", "transaction ", 1)
}

// section writes text below a heading, unless it is empty.
func section(b *strings.Builder, heading, text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintf(b, "\n%s\n  %s\n", heading, strings.ReplaceAll(text, "\n", "\n  "))
	}
}

func metadataLines(fields map[string][]string) string {
	var list []string
	for name, values := range fields {
		if strings.Join(values, "") == "" {
			continue
		}
		list = append(list, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// relations lists what a value depends on and what is derived from it; "-" marks a
// dependency that nothing meets.
func relations(targets []response.Target) string {
	var list []string
	for _, t := range targets {
		met := strings.Join(t.MatchingKeys, ", ")
		if met == "" {
			met = "- (expected " + t.ExpectedKey + ")"
		}
		list = append(list, fmt.Sprintf("%s %s: %s", t.Relation, t.Label, met))
	}
	return strings.Join(list, "\n")
}
