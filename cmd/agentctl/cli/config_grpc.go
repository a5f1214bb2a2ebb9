package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client/container"
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

func (a *app) configDelete() *cobra.Command {
	var waitDone bool
	cmd := &cobra.Command{
		Use:   "delete FILE",
		Short: "Remove items from the configuration, over gRPC",
		Long: "Removes the items of a file in YAML or JSON (\"-\" is the standard input) that clients have\n" +
			"put; only the fields that make up their keys matter. A warning names items that clients have\n" +
			"not put. The exit code is 1 if an item failed.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readDocument(cmd, args[0])
			if err != nil {
				return err
			}
			items, keys, err := a.decode(args[0], text)
			if err != nil {
				return err
			}
			var missing []string
			err = a.withConn(cmd.Context(), true, func(ctx context.Context, conn *rpc.ClientConn) error {
				missing = a.missing(ctx, conn, keys)
				_, err := configurator.NewConfiguratorServiceClient(conn).Delete(ctx, &configurator.DeleteRequest{Delete: items, WaitDone: waitDone})
				return err
			})
			if err != nil {
				return err
			}
			if len(missing) > 0 {
				fmt.Fprintf(a.Err, "warning: clients have not put %d of %d items: %s\n", len(missing), len(keys), strings.Join(missing[:min(len(missing), maxPerReason)], ", "))
			}
			return a.printf("OK\n")
		},
	}
	cmd.Flags().BoolVar(&waitDone, "waitdone", false, "wait until the items are gone")
	return cmd
}

// missing returns the items that clients have not put; none if the agent is too old to tell.
func (a *app) missing(ctx context.Context, conn *rpc.ClientConn, keys []string) (list []string) {
	resp, err := tenutov1.NewAgentServiceClient(conn).ListItems(ctx, &tenutov1.ListItemsRequest{})
	if err != nil {
		return nil
	}
	put := map[string]bool{}
	for _, it := range resp.GetItems() {
		for _, s := range it.GetSources() {
			put[it.GetKey()] = put[it.GetKey()] || s.GetSource() == orchestrator.GRPC
		}
	}
	for _, key := range keys {
		if !put[key] {
			list = append(list, a.shortKey(key))
		}
	}
	return list
}

// decode parses a document and prints its errors.
func (a *app) decode(file string, text []byte) (cfg *configurator.Config, keys []string, err error) {
	doc := a.decodeHidden(file, text)
	if err := a.tellErrors(file, doc.Errs); err != nil {
		return nil, nil, err
	}
	var items []proto.Message
	for _, it := range doc.Items {
		items, keys = append(items, it.Value), append(keys, it.Key)
	}
	cfg = &configurator.Config{}
	return cfg, keys, container.Fill(a.set(), items, cfg)
}

// decodeHidden parses a document whose secrets may be hidden: the agent has them.
func (a *app) decodeHidden(file string, text []byte) *document.Document {
	hidden := func(_ string, value proto.Message) (proto.Message, bool) { return value, true }
	return document.New(a.set()).WithSecrets(hidden).Decode(file, text, "")
}

func (a *app) configRetrieve() *cobra.Command {
	return verbatim(a.formatted(&cobra.Command{
		Use: "retrieve", Aliases: []string{"ret", "read", "dump"}, Args: args(cobra.NoArgs),
		Short: "Show what is really there in VPP and Linux, over gRPC",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAgent(cmd.Context(), true, func(ctx context.Context, c configurator.ConfiguratorServiceClient) error {
				var trailer metadata.MD
				resp, err := c.Dump(ctx, &configurator.DumpRequest{}, rpc.Trailer(&trailer))
				if err != nil {
					return err
				}
				for _, reason := range trailer.Get(unreadTrailer) {
					fmt.Fprintf(a.Err, "not read: %s\n", reason)
				}
				return a.writeItems(a.configurable(resp.GetDump()))
			})
		},
	}, protoFormat))
}

// configurable returns the items of a configuration that was read which the agent takes as they
// are, and prints the others to the error output.
func (a *app) configurable(cfg *configurator.Config) (items []proto.Message) {
	for _, f := range container.Extract(a.set(), cfg, "") {
		if i, ok := f.Item.(*vpp_interfaces.Interface); ok && i.GetName() == "local0" {
			continue // every VPP has it, and it is no item
		}
		lacks := kvs.Unmodeled(f.Item)
		if len(lacks) == 0 {
			items = append(items, f.Item)
			continue
		}
		key, err := a.set().KeyOf(f.Item)
		if err != nil {
			key = string(f.Item.ProtoReflect().Descriptor().FullName())
		}
		fmt.Fprintf(a.Err, "left out: %s: differs in what the model lacks: %s\n", a.shortKey(key), strings.Join(lacks, ", "))
	}
	return items
}

// writeItems writes items in the format of files.
func (a *app) writeItems(items []proto.Message) error {
	all := make([]proto.Message, len(items))
	for n, item := range items {
		all[n] = a.shown(item)
	}
	text, err := document.New(a.set()).Encode(all...)
	if err != nil {
		return err
	}
	return a.writeDocument(text)
}

// shown returns a value for output, with its secrets hidden.
func (a *app) shown(m proto.Message) proto.Message {
	if !a.global.showSecrets {
		m, _ = logging.HideSecrets(m)
	}
	return m
}
