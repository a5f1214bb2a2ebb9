package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

type forgetOptions struct {
	engine
	yes bool
}

func newForget(f *cmdutil.Factory) *cobra.Command {
	o := &forgetOptions{engine: engine{Factory: f}}
	cmd := &cobra.Command{
		Use: "forget AGENT", Short: "Remove an agent that is gone, and release the values that pools gave it", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Long: "Removes what etcd has of an agent: its labels and values, its report and status, and the values that pools gave it,\n" +
			"which another agent can get then. An agent that runs, or is in a rollout that has not ended, is refused. If files have an\n" +
			"Agent with the name, the next 'agentctl fleet apply' allocates values for it again.",
		Example: "  agentctl fleet forget edge-1", ValidArgsFunction: o.completeAgents(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error { return o.forget(ctx, cmd, s, args[0]) })
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *forgetOptions) forget(ctx context.Context, cmd *cobra.Command, s store.Store, label string) error {
	if !o.yes {
		yes, err := o.Ask(cmd.InOrStdin(), fmt.Sprintf("Remove agent %s, and release its values of pools?", label))
		if err != nil || !yes {
			return cmp.Or(err, errDeclined)
		}
	}
	released, err := s.Forget(ctx, label)
	if errors.Is(err, kv.ErrNotFound) {
		return o.known(ctx, s, label, true)
	}
	if err != nil {
		return err
	}
	var values []string
	for _, pool := range slices.Sorted(maps.Keys(released)) {
		values = append(values, released[pool]+" of pool "+pool)
	}
	return o.Printf("removed %s, released %s\n", label, cmp.Or(strings.Join(values, ", "), "no values"))
}
