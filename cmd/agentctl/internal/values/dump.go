package values

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// dumpedItem is a value of a dump, with the names of fields that scripts
// expect.
type dumpedItem struct {
	Key      string
	Value    json.RawMessage
	Metadata json.RawMessage
	Origin   api.ValueOrigin
	message  string
}

// DumpOptions are the flags of dump.
type DumpOptions struct{ View, origin string }

type dumpCommand struct {
	*cmdutil.Factory
	flags DumpOptions
}

// NewDump returns the command "dump".
func NewDump(f *cmdutil.Factory) *cobra.Command {
	o := &dumpCommand{Factory: f}
	cmd := output.AsInLigato(f.Formatted(&cobra.Command{
		Use:   "dump MODEL...",
		Short: "Show the values of models, with their metadata",
		Long: "Shows the values of models (names, patterns or \"all\"), with their metadata.\n" +
			"The view selects their source: SB is read from the southbound now, NB is the desired state,\n" +
			"cached is the actual state as the scheduler knows it. Models that cannot be read are named on\n" +
			"standard error; the exit code is 1 if none can. With -o json or yaml, Origin is the number\n" +
			"of Ligato: 0 is unknown, 1 NB, 2 SB.",
		Example: "  agentctl dump all\n  agentctl dump --view SB vpp.interfaces 'vpp.l2.*'",
		Args:    cmdutil.Args(cobra.MinimumNArgs(1)), ValidArgsFunction: f.CompleteModels,
		RunE: o.run,
	}, output.Proto))
	cmd.Flags().StringVar(&o.flags.View, "view", "cached", "`side` to look at: cached, NB or SB")
	cmd.Flags().StringVar(&o.flags.origin, "origin", "", "only values that come from `side`: NB, SB or unknown")
	return cmd
}

func (o *dumpCommand) run(cmd *cobra.Command, patterns []string) error {
	items, err := Dump(cmd.Context(), o.Factory, patterns, o.flags)
	if err != nil {
		return err
	}
	if o.AsProto() {
		list, err := o.protoDump(items)
		if err != nil {
			return err
		}
		return cmdutil.WriteProto(o.Printer, list)
	}
	return output.Show(o.Printer, items, cmdutil.Noting(cmd.Context(), o.Factory, o.printDump))
}

// Dump returns the values of the models that match a pattern.
func Dump(ctx context.Context, f *cmdutil.Factory, patterns []string, o DumpOptions) ([]dumpedItem, error) {
	origin, err := parseOrigin(o.origin)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc([]string{"cached", "NB", "SB"}, func(v string) bool { return strings.EqualFold(v, o.View) }) {
		return nil, exit.Usagef("--view: %q: expected cached, NB or SB", o.View)
	}
	wanted, err := f.Models.Select(patterns)
	if err != nil {
		return nil, err
	}
	prefixes, missing, err := dumpable(ctx, f, wanted)
	if err != nil {
		return nil, err
	}
	if len(prefixes) == 0 {
		return nil, fmt.Errorf("this agent has no plugin for %s", strings.Join(missing, ", "))
	}
	items := []dumpedItem{}
	var unread []error // by the order of the models
	for _, prefix := range prefixes {
		list, err := f.Client.Scheduler.Dump(ctx, prefix, o.View)
		if err != nil {
			if unread = append(unread, err); len(unread) == len(prefixes) || ctx.Err() != nil {
				return nil, unread[0]
			}
			continue
		}
		for _, v := range list {
			if origin >= 0 && v.Origin != origin {
				continue
			}
			item := dumpedItem{Key: v.Key, Metadata: v.Metadata, Origin: v.Origin}
			if v.Value != nil {
				item.Value, item.message = v.Value.ProtoMsgData, v.Value.ProtoMsgName
			}
			items = append(items, item)
		}
	}
	for _, err := range unread {
		fmt.Fprintf(f.Err, "not read: %v\n", err)
	}
	return items, nil
}

// dumpable splits the models into those with a descriptor in the agent, by key
// prefix, and the names of the others.
func dumpable(ctx context.Context, f *cmdutil.Factory, wanted []models.Known) (prefixes, missing []string, err error) {
	index, err := f.Client.Scheduler.DumpIndex(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range wanted {
		if slices.Contains(index.KeyPrefixes, m.KeyPrefix()) {
			prefixes = append(prefixes, m.KeyPrefix())
		} else {
			missing = append(missing, m.Spec().ModelName())
		}
	}
	return prefixes, missing, nil
}

// parseOrigin returns -1 for all.
func parseOrigin(name string) (api.ValueOrigin, error) {
	switch strings.ToUpper(name) {
	case "":
		return -1, nil
	case "NB":
		return api.FromNB, nil
	case "SB":
		return api.FromSB, nil
	case "UNKNOWN":
		return api.UnknownOrigin, nil
	}
	return 0, exit.Usagef("--origin: %q: expected NB, SB or unknown", name)
}

func originName(origin api.ValueOrigin) string {
	switch origin {
	case api.FromNB:
		return "from-NB"
	case api.FromSB:
		return "from-SB"
	}
	return "unknown"
}

func (o *dumpCommand) printDump(items []dumpedItem) error {
	if len(items) == 0 {
		return o.Printf("no values\n")
	}
	t := output.NewTable("MODEL", "ORIGIN", "VALUE", "METADATA", "KEY")
	t.Ruled = true
	for _, item := range items {
		model, name := o.Models.NameOf(item.Key)
		value := "# " + item.message + "\n" + o.Models.ValueText(item.message, item.Value)
		t.Row(model, originName(item.Origin), value, output.Indented(item.Metadata), name)
	}
	return t.Write(o.Printer)
}
