package config

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client/container"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/logging"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	tenutov1 "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// unreadTrailer is the trailer of a dump that lists what could not be read.
const unreadTrailer = "unread-bin"

type deleteOptions struct {
	*cmdutil.Factory
	waitDone bool
}

func newDelete(f *cmdutil.Factory) *cobra.Command {
	o := &deleteOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "delete FILE",
		Example: "  agentctl config delete net.yaml --waitdone",
		Short:   "Remove items from the configuration, over gRPC",
		Long: "Removes the items of a file in YAML or JSON (\"-\" is the standard input) that clients have\n" +
			"put; only the fields that make up their keys matter. A warning names items that clients have\n" +
			"not put. The exit code is 1 if an item failed.",
		Args: cmdutil.Args(cobra.ExactArgs(1)),
		RunE: o.run,
	}
	cmd.Flags().BoolVar(&o.waitDone, "waitdone", false, "wait until the items are gone")
	return cmd
}

func (o *deleteOptions) run(cmd *cobra.Command, args []string) error {
	text, err := cmdutil.ReadDocument(cmd, args[0])
	if err != nil {
		return err
	}
	items, keys, err := o.decode(args[0], text)
	if err != nil {
		return err
	}
	var missing []string
	err = o.GRPC.WithConn(cmd.Context(), true, func(ctx context.Context, conn *rpc.ClientConn) error {
		var err error
		if missing, err = o.missing(ctx, conn, keys); err != nil {
			return err
		}
		_, err = configurator.NewConfiguratorServiceClient(conn).Delete(ctx, &configurator.DeleteRequest{Delete: items, WaitDone: o.waitDone})
		return err
	})
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		fmt.Fprintf(o.Err, "warning: clients have not put %d of %d items: %s\n", len(missing), len(keys), strings.Join(missing[:min(len(missing), outcome.MaxPerReason)], ", "))
	}
	return o.Printf("OK\n")
}

// missing returns the items that clients have not put.
func (o *deleteOptions) missing(ctx context.Context, conn *rpc.ClientConn, keys []string) (list []string, err error) {
	put := map[string]bool{}
	err = eachItem(ctx, tenutov1.NewAgentServiceClient(conn), false, func(it *tenutov1.SourcedItem) error {
		for _, s := range it.GetSources() {
			put[it.GetKey()] = put[it.GetKey()] || s.GetSource() == orchestrator.GRPC
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if !put[key] {
			list = append(list, o.Models.ShortKey(key))
		}
	}
	return list, nil
}

// decode parses a document and prints its errors.
func (o *deleteOptions) decode(file string, text []byte) (cfg *configurator.Config, keys []string, err error) {
	doc := decodeHidden(o.Factory, file, text)
	if err := outcome.PrintErrors(o.Factory, file, doc.Errs); err != nil {
		return nil, nil, err
	}
	var items []proto.Message
	for _, it := range doc.Items {
		items, keys = append(items, it.Value), append(keys, it.Key)
	}
	cfg = &configurator.Config{}
	return cfg, keys, container.Fill(o.Models.Set(), items, cfg)
}

// decodeHidden parses a document whose secrets may be hidden: the agent has them.
func decodeHidden(f *cmdutil.Factory, file string, text []byte) *document.Document {
	return document.New(f.Models.Set()).WithSecrets(cmdutil.KeepHidden).Decode(file, text, "")
}

type retrieveOptions struct {
	*cmdutil.Factory
	all bool
}

func newRetrieve(f *cmdutil.Factory) *cobra.Command {
	o := &retrieveOptions{Factory: f}
	cmd := output.Verbatim(f.Formatted(&cobra.Command{
		Use: "retrieve", Aliases: []string{"ret", "read", "dump"}, Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl config retrieve > net.yaml && agentctl plan net.yaml\n  agentctl config retrieve --all",
		Short:   "Show what is really there in VPP and Linux, over gRPC",
		Long: "Reads VPP and Linux, and writes a file that can be applied. It has the items of the configuration:\n" +
			"as they were given, or as they are now if another program has changed them. Items that another program\n" +
			"has removed are left out. Items that are not in effect, such as those that wait, are written as they were given.\n\n" +
			"--all adds, as comments, what is not in the configuration: objects that other programs have made, and\n" +
			"those that VPP always has.",
		RunE: o.run,
	}, output.Proto))
	cmd.Flags().BoolVar(&o.all, "all", false, "add what is not in the configuration, as comments with the reason")
	return cmd
}

func (o *retrieveOptions) run(cmd *cobra.Command, _ []string) error {
	return o.GRPC.WithConn(cmd.Context(), true, func(ctx context.Context, conn *rpc.ClientConn) error {
		var trailer metadata.MD
		resp, err := configurator.NewConfiguratorServiceClient(conn).Dump(ctx, &configurator.DumpRequest{}, rpc.Trailer(&trailer))
		if err != nil {
			return err
		}
		given, err := o.given(ctx, tenutov1.NewAgentServiceClient(conn))
		if err != nil {
			return err
		}
		for _, reason := range trailer.Get(unreadTrailer) {
			fmt.Fprintf(o.Err, "not read: %s\n", reason)
		}
		return o.write(o.sort(resp.GetDump(), given))
	})
}

// given returns the values of the configuration in effect that VPP and Linux have, by key, and nil
// for those that another program has changed.
func (o *retrieveOptions) given(ctx context.Context, c tenutov1.AgentServiceClient) (map[string]proto.Message, error) {
	given := map[string]proto.Message{}
	err := eachItem(ctx, c, true, func(it *tenutov1.SourcedItem) error {
		m, ok := o.Models.Set().ForKey(it.GetKey())
		if !ok || len(it.GetSources()) == 0 || it.GetSources()[0].GetValue() == nil {
			return nil
		}
		value := m.NewInstance()
		if err := it.GetSources()[0].GetValue().UnmarshalTo(value); err != nil {
			return fmt.Errorf("item %s: %w", it.GetKey(), err)
		}
		given[it.GetKey()] = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	drift, err := c.GetDrift(ctx, &tenutov1.GetDriftRequest{Detect: true})
	if err != nil {
		return nil, err
	}
	for _, d := range drift.GetDrifts() {
		for _, key := range []string{d.GetKey(), d.GetBase()} {
			if given[key] != nil {
				given[key] = nil
			}
		}
	}
	return given, nil
}

// itemsPerPage limits the memory of a response.
const itemsPerPage = 5000

// eachItem calls f for the items of all sources, with or without their values.
func eachItem(ctx context.Context, c tenutov1.AgentServiceClient, values bool, f func(*tenutov1.SourcedItem) error) error {
	for req := (&tenutov1.ListItemsRequest{Values: values, PageSize: itemsPerPage}); ; {
		resp, err := c.ListItems(ctx, req)
		if err != nil {
			return err
		}
		for _, it := range resp.GetItems() {
			if err := f(it); err != nil {
				return err
			}
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return nil
		}
	}
}

// retrieved is what was read.
type retrieved struct {
	items  []proto.Message // of the configuration
	others []proto.Message // that are not in the configuration
	why    []string        // why each of the others is not
}

// sort separates the items of the configuration from others. An item that the agent would not take
// as it is goes to the error output.
func (o *retrieveOptions) sort(cfg *configurator.Config, given map[string]proto.Message) (r retrieved) {
	for _, f := range container.Extract(o.Models.Set(), cfg, "") {
		key, err := o.Models.Set().KeyOf(f.Item)
		if err != nil {
			key = string(f.Item.ProtoReflect().Descriptor().FullName())
		}
		value, ours := given[key]
		lacks := kvs.Unmodeled(f.Item)
		switch {
		case ours && value != nil:
			r.items = append(r.items, value)
		case ours && len(lacks) == 0:
			r.items = append(r.items, f.Item)
		case ours:
			fmt.Fprintf(o.Err, "left out: %s: differs in what the model lacks: %s\n", o.Models.ShortKey(key), strings.Join(lacks, ", "))
		default:
			why := "not in the configuration"
			if len(lacks) > 0 {
				why += ", and has what the model lacks: " + strings.Join(lacks, ", ")
			}
			r.others, r.why = append(r.others, f.Item), append(r.why, o.Models.ShortKey(key)+": "+why)
		}
		delete(given, key)
	}
	var waiting []string
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if value := given[key]; value != nil {
			r.items, waiting = append(r.items, value), append(waiting, o.Models.ShortKey(key))
		}
	}
	if len(waiting) > 0 {
		fmt.Fprintf(o.Err, "written as given: %d that are not in effect: %s\n", len(waiting), strings.Join(waiting[:min(len(waiting), outcome.MaxPerReason)], ", "))
	}
	return r
}

// write writes the items in the format of files, and the others as comments.
func (o *retrieveOptions) write(r retrieved) error {
	text, err := o.encode(r.items)
	if err != nil {
		return err
	}
	switch inYAML := o.Format == "" || strings.EqualFold(o.Format, "yaml"); {
	case len(r.others) == 0:
	case !o.all:
		fmt.Fprintf(o.Err, "not shown: %d that are not in the configuration (--all)\n", len(r.others))
	case !inYAML:
		return exit.Usagef("--all: adds comments, expected -o yaml")
	default:
		for _, why := range r.why {
			text = append(text, "# "+why+"\n"...)
		}
		others, err := o.encode(r.others)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(others)) {
			text = append(text, "# "+line...)
		}
	}
	return writeDocument(o.Factory, text)
}

// encode writes items in the format of files, without groups that have no items.
func (o *retrieveOptions) encode(items []proto.Message) (text []byte, err error) {
	all := make([]proto.Message, len(items))
	for n, item := range items {
		all[n] = shown(o.Factory, item)
	}
	encoded, err := document.New(o.Models.Set()).Encode(all...)
	for line := range strings.Lines(string(encoded)) {
		if len(items) == 0 || !strings.HasSuffix(line, "Config: {}\n") {
			text = append(text, line...)
		}
	}
	return text, err
}

// shown returns a value for output, with its secrets hidden.
func shown(f *cmdutil.Factory, m proto.Message) proto.Message {
	if !f.Flags.ShowSecrets {
		m, _ = logging.HideSecrets(m)
	}
	return m
}
