package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// engine is how the commands reach the objects of a fleet.
type engine struct {
	*cmdutil.Factory
	fleet string
}

// flags adds the flag --fleet.
func (e *engine) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.fleet, "fleet", "default", "name of the fleet, as in fleet.conf of its agents")
}

// user is who runs the command, as USER@HOST; for people.
func (e *engine) user() string {
	name := ""
	for _, variable := range []string{"SUDO_USER", "USER", "LOGNAME"} {
		value, _ := e.Environ(variable)
		name = cmp.Or(name, value)
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return cmp.Or(name, "unknown") + "@" + host
}

// with calls f with the store of the fleet. A rollout may take longer than --timeout.
func (e *engine) with(ctx context.Context, f func(ctx context.Context, s store.Store) error) error {
	var failed error // Store.With would say that it is the store's
	err := e.Store.With(ctx, func(_ context.Context, db kv.DB) error {
		if !db.Features().Revisions {
			failed = fmt.Errorf("a fleet needs etcd, not %s", e.Store.Name())
		} else {
			failed = f(ctx, store.New(db, e.fleet))
		}
		return nil
	})
	return cmp.Or(failed, err)
}

// find returns a rollout; with an empty name the newest one that has not ended.
func find(ctx context.Context, s store.Store, name string) (store.RolloutStatus, error) {
	all, err := s.Rollouts(ctx)
	if err != nil {
		return store.RolloutStatus{}, err
	}
	if name == "" {
		var open []store.RolloutStatus
		for _, r := range all {
			if !r.Rollout.Status.Phase.Ended() {
				open = append(open, r)
			}
		}
		switch len(open) {
		case 0:
			return store.RolloutStatus{}, errors.New("no rollout is running")
		case 1:
			return open[0], nil
		}
		return store.RolloutStatus{}, fmt.Errorf("%d rollouts are running: name one of them", len(open))
	}
	if r, ok := all[name]; ok {
		return r, nil
	}
	return store.RolloutStatus{}, fmt.Errorf("no rollout has the name %q%s", name, cmdutil.Meant(name, slices.Sorted(maps.Keys(all))))
}

// names completes the names of rollouts.
func (e *engine) names(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if e.Connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = e.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
		all, err := s.Rollouts(ctx)
		names = cmdutil.StartingWith(prefix, slices.Sorted(maps.Keys(all))...)
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// members returns the agents of a rollout.
func members(r rollout.Rollout) (labels []string) {
	for _, wave := range r.Spec.Waves {
		labels = append(labels, wave...)
	}
	return labels
}

// known checks the label of an agent that a command is about, and returns its agents. It prints a note if the fleet does
// not have it yet; with must it is an error.
func (e *engine) known(ctx context.Context, s store.Store, label string, must bool) error {
	all, err := s.Agents(ctx)
	if err != nil {
		return err
	}
	if _, ok := all[label]; ok {
		return nil
	}
	meant := cmdutil.Meant(label, slices.Sorted(maps.Keys(all)))
	if must {
		return fmt.Errorf("the fleet has no agent %q%s", label, meant)
	}
	fmt.Fprintf(e.Err, "NOTE: %s is new in the fleet%s\n", label, meant)
	return nil
}

// agent returns an agent of the fleet.
func (n *network) agent(label string) (store.AgentStatus, error) {
	if a, ok := n.agents[label]; ok {
		return a, nil
	}
	return store.AgentStatus{}, fmt.Errorf("the fleet has no agent %q%s", label, cmdutil.Meant(label, slices.Sorted(maps.Keys(n.agents))))
}

// completeAgents completes the labels of agents, for the first arguments.
func (e *engine) completeAgents(first int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= first {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return cmdutil.StartingWith(prefix, e.knownAgents(cmd)...), cobra.ShellCompDirectiveNoFileComp
	}
}

// knownAgents returns the labels of the agents; none if the store cannot be read.
func (e *engine) knownAgents(cmd *cobra.Command) (labels []string) {
	if e.Connect(cmd, nil) != nil {
		return nil
	}
	_ = e.with(cmd.Context(), func(ctx context.Context, s store.Store) (err error) {
		labels, err = s.Labels(ctx)
		return err
	})
	return labels
}

// selectorFlag adds -l, which completes labels that agents have in the store.
func (e *engine) selectorFlag(cmd *cobra.Command, selector *string) {
	selectorFlag(cmd, selector, "only agents with these `labels`, such as site=paris,role!=core")
	_ = cmd.RegisterFlagCompletionFunc("selector", e.completeSelector) // fails only for unknown flags
}

// completeSelector completes the last condition of a selector: KEY=VALUE of the labels of agents.
func (e *engine) completeSelector(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if e.Connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := prefix[:strings.LastIndexByte(prefix, ',')+1]
	found := map[string]bool{}
	_ = e.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
		agents, err := s.Agents(ctx)
		for _, a := range agents {
			for key, value := range a.Labels() {
				found[before+key+"="+value] = true
			}
		}
		return err
	})
	return cmdutil.StartingWith(prefix, slices.Sorted(maps.Keys(found))...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
