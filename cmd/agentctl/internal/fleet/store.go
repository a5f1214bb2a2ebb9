package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
