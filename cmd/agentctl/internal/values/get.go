package values

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/sources"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	orchestrator "github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// itemData is what "get" knows about a value.
type itemData struct {
	Why      api.Explanation
	Timeline []client.Revision         // the last one is now, unless its Until is set
	Sources  *orchestrator.SourcedItem `json:",omitempty"` // nil: no source has it
	// NeededBy has the values that depend on it, or groups of them.
	NeededBy []dependents `json:",omitempty"`
}

// dependents are values that depend on another one, as the agent groups them.
type dependents struct {
	Key        string `json:",omitempty"` // of a single value
	Descriptor string `json:",omitempty"`
	Values     int
}

type getOptions struct {
	*cmdutil.Factory
}

// NewGet returns the command "get".
func NewGet(f *cmdutil.Factory) *cobra.Command {
	o := &getOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use:   "get KEY",
		Short: "Show one value whole: its state, fields, metadata, relations and history",
		Long: "Shows one value whole: its state and what it waits for, its fields, its metadata, the\n" +
			"values that it depends on, that depend on it or that are derived from it, and how it changed.\n" +
			"The key may be given whole, or as MODEL/NAME.",
		Example: "  agentctl get vpp.interfaces/loop1\n  agentctl get vpp.l2.bridge-domain/bd1 -o yaml",
		Args:    cmdutil.Args(cobra.ExactArgs(1)), ValidArgsFunction: f.CompleteKeys,
		RunE: o.run,
	}, output.Proto)
}

func (o *getOptions) run(cmd *cobra.Command, args []string) error {
	key := o.Models.FullKey(args[0])
	data, err := o.item(cmd.Context(), args[0], key)
	if err != nil {
		return err
	}
	if last := data.Timeline[len(data.Timeline)-1]; o.AsProto() && last.Value != nil {
		it, err := o.Models.MessageOf(key, last.Value.ProtoMsgName, last.Value.ProtoMsgData)
		if err != nil {
			return err
		}
		return cmdutil.WriteProto(o.Printer, []cmdutil.ProtoItem{it})
	}
	return output.Show(o.Printer, data, func(data itemData) error {
		why, err := o.Client.Scheduler.WhyText(cmd.Context(), key)
		if err != nil {
			return err
		}
		return o.printItem(key, data, why)
	})
}

func (o *getOptions) item(ctx context.Context, given, key string) (data itemData, err error) {
	if data.Why, err = whyKey(ctx, o.Factory, given, key); err != nil {
		return data, err
	}
	data.Timeline, err = o.Client.Scheduler.Timeline(ctx, key)
	if cmdutil.NotServed(err) {
		return data, noValue(ctx, o.Factory, key, cmp.Or(data.Why.Reason, "not configured"))
	}
	if err != nil {
		return data, err
	}
	items, err := o.Client.Configuration.Items(ctx, key)
	if err != nil && !cmdutil.NotServed(err) { // an agent without sources
		return data, err
	}
	if len(items) == 1 {
		data.Sources = &items[0]
	}
	d, err := o.Client.Scheduler.Neighbours(ctx, key)
	data.NeededBy = neededBy(&d, key)
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
func (o *getOptions) neededByLines(list []dependents) string {
	var lines []string
	for _, d := range list {
		if d.Key != "" {
			lines = append(lines, o.Models.ShortKey(d.Key))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s values of %s", output.Thousands(uint64(d.Values)), cmp.Or(d.Descriptor, "no descriptor")))
	}
	return strings.Join(lines, "\n")
}

// sourceText describes the source of a value, and those that it overrides.
func sourceText(it *orchestrator.SourcedItem) string {
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

func (o *getOptions) printItem(key string, data itemData, why string) error {
	var b strings.Builder
	last := data.Timeline[len(data.Timeline)-1]
	fmt.Fprintf(&b, "%s\n", o.Models.ShortKey(key))
	line := func(name, value string) {
		if value != "" {
			o.WriteField(&b, fmt.Sprintf("  %-13s", name+":"), value)
		}
	}
	state := o.PaintState(data.Why.State.String())
	if !data.Why.Since.IsZero() {
		state += " for " + output.Age(o.Now(), data.Why.Since)
	}
	line("State", state)
	line("Key", key)
	line("Descriptor", last.Flags["descriptor"])
	line("Last change", changedBy(last))
	if data.Sources != nil {
		line("Source", sourceText(data.Sources))
	}
	if last.Value != nil {
		section(&b, "VALUE", o.Models.ValueText(last.Value.ProtoMsgName, last.Value.ProtoMsgData))
		section(&b, "DIFFERS IN WHAT THE MODEL LACKS", strings.Join(last.Value.Unmodeled, "\n"))
	}
	if data.Sources != nil && len(data.Sources.Shadowed) > 0 {
		section(&b, "SOURCES", strings.ReplaceAll("\n"+sources.Describe(*data.Sources), "\n  ", "\n")[1:])
	}
	section(&b, "METADATA", metadataLines(last.MetadataFields))
	section(&b, "RELATIONS", o.Models.ShortText(relations(last.Targets)))
	section(&b, "WAITS FOR AND DEPENDS ON", o.Models.ShortText(why))
	section(&b, "NEEDED BY", o.neededByLines(data.NeededBy))
	b.WriteString("\nHISTORY\n")
	for _, n := range data.Timeline {
		until := "until now"
		if !n.Until.IsZero() {
			until = "for " + output.Age(n.Until, n.Since)
		}
		fmt.Fprintf(&b, "  %s  %s %s, %s\n", n.Since.UTC().Format("2006-01-02 15:04:05.000 MST"), o.PaintState(n.Flags["value-state"]), until, changedBy(n))
	}
	return o.Print(b.String())
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

// relations lists the dependencies and the derived values of a value; "-" marks
// a dependency that nothing meets.
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
