// Package targets has the command that lists agents in the store, and runs other commands on them.
package targets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// allTargets stands for all agents, as "*" does.
const allTargets = "all"

type options struct {
	*cmdutil.Factory
}

// New returns the command "targets".
func New(factory *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: factory}
	return cmdutil.OnTargets(factory.Formatted(&cobra.Command{
		Use: "targets [LABEL...]", Args: cmdutil.Args(cobra.ArbitraryArgs),
		Short: "List the agents that publish their addresses in the store, by label",
		Long: "Lists the agents that publish their addresses in the store (etcd at --etcd-endpoints, or --store), by label.\n" +
			"An agent publishes them as long as it runs, unless its announce.conf disables that. LABEL may be a\n" +
			"pattern, such as 'edge-*'. --target runs a command on these agents.",
		Example:           "  agentctl targets\n  agentctl --store redis://10.0.0.7:6379 targets\n  agentctl --target '*' status\n  agentctl --target edge-1,edge-2 apply -y net.yaml",
		ValidArgsFunction: Complete(factory),
		RunE:              o.run,
	}), cmdutil.NoTarget)
}

func (o *options) run(cmd *cobra.Command, labels []string) error {
	if len(labels) == 0 {
		labels = []string{allTargets}
	}
	found, err := find(cmd.Context(), o.Factory, labels)
	if err != nil {
		return err
	}
	list := []json.RawMessage{}
	t := output.NewTable("LABEL", "HTTP", "GRPC", "HOST", "VERSION", "INSTANCE")
	for _, f := range found {
		if errors.Is(f.err, errUnpublished) && len(found) > 1 {
			fmt.Fprintf(o.Err, "WARNING: %v\n", f.err)
			continue
		}
		if f.err != nil {
			return f.err
		}
		text, err := protojson.Marshal(f.agent)
		if err != nil {
			return err
		}
		list = append(list, text)
		t.Row(f.label, serverText(f.agent.Http), serverText(f.agent.Grpc), f.agent.Host, f.agent.Version, f.agent.Instance)
	}
	return output.Show(o.Printer, list, func([]json.RawMessage) error { return t.Write(o.Printer) })
}

func serverText(s *announced.Server) string {
	if s.GetTls() {
		return s.GetAddress() + " (TLS)"
	}
	return s.GetAddress()
}

// errUnpublished marks the error for an agent that publishes nothing.
var errUnpublished = errors.New("")

// foundTarget is an agent in the store, or the reason why there is none.
type foundTarget struct {
	label string
	agent *announced.Agent
	err   error
}

// find returns the agents with the labels, which may be patterns, in this order and
// without duplicates. A pattern also stands for labels that have keys in the store but no
// agent: an agent that should answer is named, not left out.
func find(ctx context.Context, factory *cmdutil.Factory, wanted []string) (found []foundTarget, err error) {
	err = factory.Store.With(ctx, func(ctx context.Context, db kv.DB) error {
		for _, label := range wanted {
			labels := []string{label}
			if isPattern(label) {
				known, err := labelsIn(ctx, db)
				if err == nil {
					labels, err = matching(known, label)
				}
				if err != nil {
					return err
				}
			}
			for _, l := range labels {
				if slices.ContainsFunc(found, func(f foundTarget) bool { return f.label == l }) {
					continue
				}
				agent, err := read(ctx, factory, db, l)
				found = append(found, foundTarget{l, agent, err})
			}
		}
		return nil
	})
	published := slices.ContainsFunc(found, func(f foundTarget) bool { return f.err == nil })
	if err == nil && !published && slices.ContainsFunc(wanted, isPattern) && !slices.ContainsFunc(found, failedOtherwise) {
		err = fmt.Errorf("no agent%s publishes its address in the store at %s; do agents run, and is it the store of their etcd.conf, consul.conf or redis.conf?",
			withLabel(wanted), factory.Store.Name())
	}
	return found, err
}

// failedOtherwise reports that the address of an agent could not be read.
func failedOtherwise(f foundTarget) bool { return !errors.Is(f.err, errUnpublished) }

// withLabel names labels in the error about agents that are not found; empty for all.
func withLabel(wanted []string) string {
	if len(wanted) == 1 && (wanted[0] == allTargets || wanted[0] == "*") {
		return ""
	}
	return " with the label " + strings.Join(wanted, ", ")
}

func isPattern(label string) bool { return label == allTargets || strings.ContainsAny(label, "*?[") }

// matching returns the labels that match a pattern.
func matching(labels []string, pattern string) (list []string, err error) {
	for _, l := range labels {
		ok, err := path.Match(pattern, l)
		if err != nil {
			return nil, exit.Usagef("%q: malformed pattern of labels", pattern)
		}
		if ok || pattern == allTargets {
			list = append(list, l)
		}
	}
	return list, nil
}

// labelsIn returns the labels that have keys in the store.
func labelsIn(ctx context.Context, db kv.DB) ([]string, error) {
	prefix := servicelabel.NewPlugin().GetAllAgentsPrefix()
	if dir, ok := db.(kv.Directory); ok {
		return dir.Children(ctx, prefix)
	}
	listing, err := db.List(ctx, prefix, kv.KeysOnly())
	var labels []string
	for _, it := range listing.Items {
		label, _, below := strings.Cut(it.Key[len(prefix):], "/")
		if below && label != "" {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels), err
}

// read returns what the agent with a label publishes about itself. The error wraps
// errUnpublished if there is nothing.
func read(ctx context.Context, f *cmdutil.Factory, db kv.DB, label string) (*announced.Agent, error) {
	item, err := db.Get(ctx, servicelabel.NewPlugin().GetDifferentAgentPrefix(label)+announced.AgentKey)
	if errors.Is(err, kv.ErrNotFound) {
		hint := "does it run, and is the store configured (etcd.conf, consul.conf or redis.conf)?"
		labels, lerr := labelsIn(ctx, db)
		switch {
		case lerr != nil:
		case slices.Contains(labels, label):
			hint = "the store has keys of this label, so it should run: start it, or remove the keys"
		default:
			if near := suggest.Nearest(label, labels); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
		}
		return nil, fmt.Errorf("no agent with the label %q publishes its address in the store; %s%w", label, hint, errUnpublished)
	}
	if err != nil {
		return nil, err
	}
	agent := &announced.Agent{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(item.Value, agent); err != nil {
		return nil, fmt.Errorf("%s: %w", item.Key, err)
	}
	for name, s := range map[string]*announced.Server{"http": agent.Http, "grpc": agent.Grpc} {
		if _, _, err := net.SplitHostPort(s.GetAddress()); s != nil && err != nil {
			return nil, fmt.Errorf("%s: %s.address: %q: expected host:port", item.Key, name, s.GetAddress())
		}
	}
	if agent.Http == nil {
		return nil, fmt.Errorf("agent %q serves no HTTP on TCP (endpoint in http.conf)", label)
	}
	return agent, nil
}

// verifyTarget returns an error if the agent at the published address is another one, for
// example if the address belongs to a loopback interface on another host.
func verifyTarget(ctx context.Context, f *cmdutil.Factory) error {
	at := f.Target.Http.Address
	id, err := f.Client.Agent.Identity(ctx)
	switch {
	case err != nil:
		return err
	case id.Label != f.Target.Label:
		return fmt.Errorf("the agent at %s has the label %q, not %q; set http-endpoint in the announce.conf of %s", at, id.Label, f.Target.Label, f.Target.Label)
	case id.Instance != f.Target.Instance:
		return fmt.Errorf("the agent at %s is instance %s, not %s; it was restarted now, or another agent has its address", at, id.Instance, f.Target.Instance)
	}
	return nil
}

// Complete completes the labels of --target.
func Complete(f *cmdutil.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) (labels []string, _ cobra.ShellCompDirective) {
		if f.Connect(cmd, nil) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		before, last := "", prefix
		if i := strings.LastIndex(prefix, ","); i >= 0 {
			before, last = prefix[:i+1], prefix[i+1:]
		}
		found, err := find(cmd.Context(), f, []string{allTargets})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, t := range found {
			if t.err == nil && strings.HasPrefix(t.label, last) {
				labels = append(labels, before+t.label)
			}
		}
		return labels, cobra.ShellCompDirectiveNoFileComp
	}
}
