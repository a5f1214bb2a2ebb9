package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client/container"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/logging"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	vpp_interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
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
	resp, err := tenutov1.NewAgentServiceClient(conn).ListItems(ctx, &tenutov1.ListItemsRequest{})
	if err != nil {
		return nil, err
	}
	put := map[string]bool{}
	for _, it := range resp.GetItems() {
		for _, s := range it.GetSources() {
			put[it.GetKey()] = put[it.GetKey()] || s.GetSource() == orchestrator.GRPC
		}
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
	hidden := func(_ string, value proto.Message) (proto.Message, bool) { return value, true }
	return document.New(f.Models.Set()).WithSecrets(hidden).Decode(file, text, "")
}

type retrieveOptions struct {
	*cmdutil.Factory
}

func newRetrieve(f *cmdutil.Factory) *cobra.Command {
	o := &retrieveOptions{Factory: f}
	return output.Verbatim(f.Formatted(&cobra.Command{
		Use: "retrieve", Aliases: []string{"ret", "read", "dump"}, Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl config retrieve -o yaml",
		Short:   "Show what is really there in VPP and Linux, over gRPC",
		RunE:    o.run,
	}, output.Proto))
}

func (o *retrieveOptions) run(cmd *cobra.Command, _ []string) error {
	return o.GRPC.WithAgent(cmd.Context(), true, func(ctx context.Context, c configurator.ConfiguratorServiceClient) error {
		var trailer metadata.MD
		resp, err := c.Dump(ctx, &configurator.DumpRequest{}, rpc.Trailer(&trailer))
		if err != nil {
			return err
		}
		for _, reason := range trailer.Get(unreadTrailer) {
			fmt.Fprintf(o.Err, "not read: %s\n", reason)
		}
		return o.writeItems(o.configurable(resp.GetDump()))
	})
}

// configurable returns the items of a configuration that was read which the agent takes as they
// are, and prints the others to the error output.
func (o *retrieveOptions) configurable(cfg *configurator.Config) (items []proto.Message) {
	for _, f := range container.Extract(o.Models.Set(), cfg, "") {
		if i, ok := f.Item.(*vpp_interfaces.Interface); ok && i.GetName() == "local0" {
			continue // every VPP has it, and it is no item
		}
		lacks := kvs.Unmodeled(f.Item)
		if len(lacks) == 0 {
			items = append(items, f.Item)
			continue
		}
		key, err := o.Models.Set().KeyOf(f.Item)
		if err != nil {
			key = string(f.Item.ProtoReflect().Descriptor().FullName())
		}
		fmt.Fprintf(o.Err, "left out: %s: differs in what the model lacks: %s\n", o.Models.ShortKey(key), strings.Join(lacks, ", "))
	}
	return items
}

// writeItems writes items in the format of files.
func (o *retrieveOptions) writeItems(items []proto.Message) error {
	all := make([]proto.Message, len(items))
	for n, item := range items {
		all[n] = shown(o.Factory, item)
	}
	text, err := document.New(o.Models.Set()).Encode(all...)
	if err != nil {
		return err
	}
	return writeDocument(o.Factory, text)
}

// shown returns a value for output, with its secrets hidden.
func shown(f *cmdutil.Factory, m proto.Message) proto.Message {
	if !f.Flags.ShowSecrets {
		m, _ = logging.HideSecrets(m)
	}
	return m
}
