package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/fields"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
)

type watchOptions struct {
	*cmdutil.Factory
	filters []string
	full    bool
}

func newWatch(factory *cmdutil.Factory) *cobra.Command {
	o := &watchOptions{Factory: factory}
	cmd := output.Verbatim(factory.Formatted(&cobra.Command{
		Use: "watch", Aliases: []string{"notify", "subscribe"}, Args: cmdutil.Args(cobra.NoArgs),
		Short: "Show what becomes of interfaces, over gRPC, until it is interrupted",
		Long: "Shows how interfaces change, from the oldest notification that the agent has, until it is\n" +
			"interrupted: one line for each notification, with its time and the fields of the state that it changes,\n" +
			"at first all. Of several filters one has to match. --full and -o show whole notifications, as Ligato does.",
		Example: `  agentctl config watch
  agentctl config watch --filter '{"vppNotification": {"interface": {"state": {"name": "loop1"}}}}'`,
		RunE: o.run,
	}))
	cmd.Flags().BoolVar(&o.full, "full", false, "show whole notifications, in several lines each")
	cmd.Flags().StringArrayVar(&o.filters, "filter", nil, "show only notifications that have all that is in this `JSON`")
	return cmdutil.OnTargets(cmd, cmdutil.FollowTarget)
}

func (o *watchOptions) run(cmd *cobra.Command, _ []string) error {
	req := &configurator.NotifyRequest{}
	for _, f := range o.filters {
		n := &configurator.Notification{}
		if err := protojson.Unmarshal([]byte(f), n); err != nil {
			return exit.Usagef("--filter: %q: expected a Notification in JSON: %w", f, err)
		}
		req.Filters = append(req.Filters, n)
	}
	err := o.GRPC.WithAgent(cmd.Context(), false, func(ctx context.Context, c configurator.ConfiguratorServiceClient) error {
		return o.follow(ctx, c, req, o.full)
	})
	if errors.Is(cmd.Context().Err(), context.Canceled) {
		return nil // an interrupt is the normal end
	}
	return err
}

// follow prints notifications until the stream ends.
func (o *watchOptions) follow(ctx context.Context, c configurator.ConfiguratorServiceClient, req *configurator.NotifyRequest, full bool) error {
	stream, err := c.Notify(ctx, req)
	if err != nil {
		return err
	}
	known := interfaceStates{}
	for {
		resp, err := stream.Recv()
		if err != nil {
			return err
		}
		n, _ := shown(o.Factory, resp.GetNotification()).(*configurator.Notification)
		if full || o.Format != "" {
			err = o.writeNotification(resp.GetNextIdx(), n)
		} else {
			err = o.Print(known.change(o.Factory, n))
		}
		if err != nil {
			return err
		}
	}
}

// writeNotification prints a whole notification.
func (o *watchOptions) writeNotification(next uint32, n *configurator.Notification) error {
	text, err := protojson.Marshal(n)
	if err != nil {
		return err
	}
	data, err := output.ParseYAML[map[string]any](text) // JSON is YAML
	if err != nil {
		return err
	}
	if o.Format != "" {
		return o.Write(o.Format, map[string]any{"nextIdx": next, "notification": data})
	}
	source, value := "VPP", data["vppNotification"]
	if n.GetLinuxNotification() != nil {
		source, value = "LINUX", data["linuxNotification"]
	}
	body, err := output.Rendered(output.WriteYAML, value)
	if err != nil {
		return err
	}
	return o.Printf("NOTIFICATION #%d\n Time: %s\n Source: %s\n Value:\n   %s\n", next,
		o.Now().UTC().Format("2006-01-02 15:04:05.000 MST"), source, strings.ReplaceAll(body, "\n", "\n   "))
}

// interfaceStates are the fields of the last known states of interfaces, by model and name.
type interfaceStates map[string]map[string]string

// interfaceState is the state of an interface of VPP or Linux.
type interfaceState interface {
	proto.Message
	GetName() string
	GetInternalName() string
	GetLastChange() int64
}

// change returns a line about what a notification changes; empty if that is nothing.
func (known interfaceStates) change(f *cmdutil.Factory, n *configurator.Notification) string {
	model, state := "vpp.interfaces", interfaceState(n.GetVppNotification().GetInterface().GetState())
	if linux := n.GetLinuxNotification(); linux != nil {
		model, state = "linux.interfaces.interface", linux.GetInterface().GetState()
	}
	item := model + "/" + cmp.Or(state.GetName(), state.GetInternalName())
	was, is, at := known[item], fields.Of(state).Set(), f.Now()
	known[item] = is
	if when := state.GetLastChange(); when != 0 && was["last_change"] != is["last_change"] {
		at = time.Unix(when, 0)
	}
	var changes []string
	paths := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		before, after := strings.Trim(was[path], `"`), strings.Trim(is[path], `"`)
		switch {
		case before == after || path == "name" || path == "last_change" || before+after == "{}":
		case was == nil:
			changes = append(changes, path+": "+after)
		default:
			changes = append(changes, fmt.Sprintf("%s: %s -> %s", path, cmp.Or(before, output.Unset), cmp.Or(after, output.Unset)))
		}
	}
	if is["oper_status"] == "DELETED" {
		delete(known, item)
	}
	if len(changes) == 0 {
		return ""
	}
	var b strings.Builder
	f.WriteField(&b, at.UTC().Format("2006-01-02 15:04:05 MST")+"  "+item+"  ", strings.Join(changes, ", "))
	return b.String()
}
