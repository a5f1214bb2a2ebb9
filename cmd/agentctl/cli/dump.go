package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

// dumpOptions are the flags of dump.
type dumpOptions struct{ view, origin string }

func (a *app) dumpCommand() *cobra.Command {
	var o dumpOptions
	cmd := asInLigato(a.formatted(&cobra.Command{
		Use:   "dump MODEL...",
		Short: "Show the values of models, with their metadata",
		Long: "Shows the values of models (names, patterns or \"all\"), with their metadata.\n" +
			"The view says whose: SB is read from the southbound now, NB is what is asked for,\n" +
			"cached is what the scheduler believes to exist. What cannot be read is named on standard error;\n" +
			"the exit code is 1 if nothing can. With -o json or yaml, Origin is the number of Ligato:\n" +
			"0 is unknown, 1 NB, 2 SB.",
		Example: "  agentctl dump all\n  agentctl dump --view SB vpp.interfaces 'vpp.l2.*'",
		Args:    args(cobra.MinimumNArgs(1)), ValidArgsFunction: a.completeModels,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			items, err := a.dump(cmd.Context(), patterns, o)
			if err != nil {
				return err
			}
			if a.asProto() {
				list, err := a.protoDump(items)
				if err != nil {
					return err
				}
				return a.writeProto(list)
			}
			return show(a, items, noting(cmd.Context(), a, a.printDump))
		},
	}, protoFormat))
	cmd.Flags().StringVar(&o.view, "view", "cached", "`side` to look at: cached, NB or SB")
	cmd.Flags().StringVar(&o.origin, "origin", "", "only values that come from `side`: NB, SB or unknown")
	return cmd
}

func (a *app) dump(ctx context.Context, patterns []string, o dumpOptions) ([]dumpedItem, error) {
	origin, err := parseOrigin(o.origin)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc([]string{"cached", "NB", "SB"}, func(v string) bool { return strings.EqualFold(v, o.view) }) {
		return nil, usage("--view: %q: expected cached, NB or SB", o.view)
	}
	wanted, err := a.selectModels(patterns)
	if err != nil {
		return nil, err
	}
	prefixes, missing, err := a.dumpable(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if len(prefixes) == 0 {
		return nil, fmt.Errorf("this agent has no plugin for %s", strings.Join(missing, ", "))
	}
	items := []dumpedItem{}
	var unread []error // by the order of the models
	for _, prefix := range prefixes {
		list, err := a.client.Dump(ctx, prefix, o.view)
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
		fmt.Fprintf(a.Err, "not read: %v\n", err)
	}
	return items, nil
}

// dumpable splits the models into those with a descriptor in the agent, by key
// prefix, and the names of the others.
func (a *app) dumpable(ctx context.Context, wanted []models.Known) (prefixes, missing []string, err error) {
	index, err := a.client.DumpIndex(ctx)
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
	return 0, usage("--origin: %q: expected NB, SB or unknown", name)
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

func (a *app) printDump(items []dumpedItem) error {
	if len(items) == 0 {
		return a.printf("no values\n")
	}
	t := newTable("MODEL", "ORIGIN", "VALUE", "METADATA", "KEY")
	t.ruled = true
	for _, item := range items {
		model, name := a.nameOf(item.Key)
		value := "# " + item.message + "\n" + indented(item.Value)
		t.row(model, originName(item.Origin), value, indented(item.Metadata), name)
	}
	return t.write(a)
}
