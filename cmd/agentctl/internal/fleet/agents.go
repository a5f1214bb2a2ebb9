package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

type agentsOptions struct {
	engine
	selector string
}

func newAgents(f *cmdutil.Factory) *cobra.Command {
	o := &agentsOptions{engine: engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "agents", Short: "List the agents of the fleet with their revisions", Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl fleet agents -l site=paris",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), o.list)
		},
	})
	o.flags(cmd)
	o.selectorFlag(cmd, &o.selector)
	return cmd
}

// memberLine is an agent in the output of -o.
type memberLine struct {
	Label       string            `json:"label"`
	Labels      map[string]string `json:"labels,omitempty"`
	Running     bool              `json:"running"`
	Host        string            `json:"host,omitempty"`
	Maintenance bool              `json:"maintenance,omitempty"`
	Revision    int64             `json:"revision"` // that is confirmed
	Rollout     string            `json:"rollout,omitempty"`
	State       rollout.State     `json:"state,omitempty"`
	Reason      string            `json:"reason,omitempty"`
}

func (o *agentsOptions) list(ctx context.Context, s store.Store) error {
	selector, err := fleet.ParseSelector(o.selector)
	if err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	all, err := s.Agents(ctx)
	if err != nil {
		return err
	}
	lines := []memberLine{}
	for _, label := range slices.Sorted(maps.Keys(all)) {
		a := all[label]
		if !selector.Matches(a.Labels()) {
			continue
		}
		line := memberLine{
			Label: label, Labels: a.Labels(), Running: a.Running != nil, Maintenance: a.Spec.Spec.Maintenance,
			Revision: a.Report.Confirmed, Rollout: a.Report.Rollout, State: a.Report.State, Reason: a.Report.Reason,
		}
		if a.Running != nil {
			line.Host = a.Running.Host
		}
		lines = append(lines, line)
	}
	return output.Show(o.Printer, lines, o.print)
}

func (o *agentsOptions) print(lines []memberLine) error {
	t := output.NewTable("AGENT", "RUNS", "REVISION", "ROLLOUT", "STATE", "LABELS", "REASON")
	for _, l := range lines {
		runs := "no"
		switch {
		case l.Running && l.Maintenance:
			runs = "maintenance"
		case l.Running:
			runs = cmp.Or(l.Host, "yes")
		}
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(l.Labels)) {
			labels = append(labels, key+"="+l.Labels[key])
		}
		t.Row(l.Label, runs, l.Revision, l.Rollout, string(l.State), strings.Join(labels, ","), l.Reason)
	}
	return t.Write(o.Printer)
}

// newAssign returns a command that gives an agent named values, as KEY=VALUE; KEY- removes one.
func newAssign(f *cmdutil.Factory, name, short, long, example string, put func(a *fleet.Agent, key, value string) error, remove func(a *fleet.Agent, key string) []string) *cobra.Command {
	o := &engine{Factory: f}
	cmd := &cobra.Command{
		Use: name + " AGENT KEY=VALUE... | KEY-...", Short: short, Long: long, Example: example,
		Args: cmdutil.Args(cobra.MinimumNArgs(2)), ValidArgsFunction: o.completeAgents(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
				onlyRemoves := !slices.ContainsFunc(args[1:], func(arg string) bool { return strings.Contains(arg, "=") })
				if err := o.known(ctx, s, args[0], onlyRemoves); err != nil {
					return err
				}
				var missing []string
				err := s.EditAgent(ctx, args[0], func(a *fleet.Agent) (err error) {
					missing, err = assign(a, args[1:], put, remove)
					return err
				})
				for _, m := range missing {
					fmt.Fprintf(o.Err, "NOTE: %s has no %s\n", args[0], m)
				}
				return err
			})
		},
	}
	o.flags(cmd)
	return cmd
}

func newLabel(f *cmdutil.Factory) *cobra.Command {
	return newAssign(f, "label", "Set labels of an agent, which selectors match",
		"Sets labels of an agent; KEY- removes one. The agent need not run yet.", "  agentctl fleet label edge-1 site=paris role=edge old-",
		func(a *fleet.Agent, key, value string) error {
			if a.Metadata.Labels == nil {
				a.Metadata.Labels = map[string]string{}
			}
			a.Metadata.Labels[key] = value
			return nil
		},
		func(a *fleet.Agent, key string) []string { return removeFrom(a.Metadata.Labels, key) })
}

// assign puts and removes the named values of an agent. missing are those to remove that it does not have, with
// similar names.
func assign(a *fleet.Agent, args []string, put func(a *fleet.Agent, key, value string) error, remove func(a *fleet.Agent, key string) []string) (missing []string, err error) {
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		switch bare, minus := strings.CutSuffix(arg, "-"); {
		case ok && key != "":
			if err := put(a, key, value); err != nil {
				return nil, err
			}
		case minus && bare != "":
			missing = append(missing, remove(a, bare)...)
		default:
			return nil, fmt.Errorf("%q: expected KEY=VALUE, or KEY- to remove it", arg)
		}
	}
	return missing, nil
}

// removeFrom removes a key from the labels or values of an agent. If there is none, it returns the key with a similar one.
func removeFrom[V any](from map[string]V, key string) []string {
	if _, ok := from[key]; !ok {
		return []string{strconv.Quote(key) + cmdutil.Meant(key, slices.Sorted(maps.Keys(from)))}
	}
	delete(from, key)
	return nil
}

func newSet(f *cmdutil.Factory) *cobra.Command {
	return newAssign(f, "set", "Set values of an agent, which templates refer to",
		"Sets values of an agent; KEY- removes one. A VALUE is read as YAML: 5 is a number, \"5\" a string.",
		"  agentctl fleet set edge-1 loopback=10.0.0.1/32 'dns=[10.0.0.2, 10.0.0.3]'",
		func(a *fleet.Agent, key, value string) error {
			roots, errs := document.ParseTrees(key, []byte(value))
			switch {
			case len(errs) > 0:
				return errs[0]
			case len(roots) != 1:
				return fmt.Errorf("%s: %q, expected one value", key, value)
			}
			if a.Spec.Values == nil {
				a.Spec.Values = map[string]any{}
			}
			a.Spec.Values[key] = roots[0].Value()
			return nil
		},
		func(a *fleet.Agent, key string) []string { return removeFrom(a.Spec.Values, key) })
}

func newMaintenance(f *cmdutil.Factory) *cobra.Command {
	o := &engine{Factory: f}
	cmd := &cobra.Command{
		Use: "maintenance AGENT on|off", Short: "Leave an agent out of rollouts", Args: cmdutil.Args(cobra.ExactArgs(2)),
		Long: "Leaves an agent out of the rollouts that begin from now on, until it is switched off. Then it catches up.", Example: "  agentctl fleet maintenance edge-1 on",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return cmdutil.StartingWith(prefix, "on", "off"), cobra.ShellCompDirectiveNoFileComp
			}
			return o.completeAgents(1)(cmd, args, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "on" && args[1] != "off" {
				return fmt.Errorf("%q: expected on or off", args[1])
			}
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
				if err := o.known(ctx, s, args[0], true); err != nil {
					return err
				}
				return s.EditAgent(ctx, args[0], func(a *fleet.Agent) error {
					a.Spec.Maintenance = args[1] == "on"
					return nil
				})
			})
		},
	}
	o.flags(cmd)
	return cmd
}
