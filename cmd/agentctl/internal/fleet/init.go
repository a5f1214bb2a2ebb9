package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

type initOptions struct {
	engine
	roles, dryRun bool
	operators     []string
}

func newInit(f *cmdutil.Factory) *cobra.Command {
	o := &initOptions{engine: engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "init --etcd-roles [LABEL...]", Short: "Write roles into etcd, so that an agent may write only its own report and status",
		Args: cmdutil.Args(cobra.ArbitraryArgs),
		Long: "Writes a role and a user for each agent into etcd: for the agents that are named, or else for all that the fleet has.\n" +
			"An agent may read its own assignment, the configurations, and the decisions, and write only its own report and\n" +
			"status, and its own keys below /vnf-agent/. Users of --operator may read and write all of the fleet.\n\n" +
			"Users have no passwords: a user is the common name (CN) of a client certificate, which is the label of the agent.\n" +
			"Existing roles and users stay, and get what they lack. etcd checks the roles when its authentication is switched on, which\n" +
			"this command does not do: 'etcdctl user add root', 'etcdctl user grant-role root root', 'etcdctl auth enable'. Afterwards\n" +
			"the command needs the certificate of root.\n\n" +
			"--dry-run prints the commands of etcdctl instead of executing them.",
		Example:           "  agentctl fleet init --etcd-roles edge-1 edge-2 --operator ops\n  agentctl fleet init --etcd-roles --operator ops --dry-run",
		ValidArgsFunction: o.completeAgents(1 << 30),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.roles {
				return exit.Usagef("expected --etcd-roles")
			}
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error { return o.run(ctx, s, args) })
		},
	})
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.roles, "etcd-roles", false, "write the roles and users")
	cmd.Flags().StringArrayVar(&o.operators, "operator", nil, "`user` that may read and write all of the fleet; may be repeated")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the commands of etcdctl that write the roles")
	return cmd
}

func (o *initOptions) run(ctx context.Context, s store.Store, labels []string) error {
	var err error
	if len(labels) == 0 {
		if labels, err = s.Labels(ctx); err != nil {
			return err
		}
	}
	if len(labels) == 0 && len(o.operators) == 0 {
		return errors.New("the fleet has no agents yet: name them")
	}
	for _, name := range append(slices.Clone(labels), o.operators...) {
		if name == "" || strings.ContainsAny(name, "/ \t\n'\"") {
			return fmt.Errorf("%q: expected a label without slashes, spaces and quotes", name)
		}
	}
	roles := store.Roles(o.fleet, labels, o.operators)
	if o.dryRun {
		return output.Show(o.Printer, roles, o.print)
	}
	enabled, err := s.Authorize(ctx, roles)
	if err != nil {
		return err
	}
	return output.Show(o.Printer, roles, func(roles []kv.Role) error {
		text := fmt.Sprintf("%s for %s and %s\n", effects.Count(len(roles), "role"), effects.Count(len(labels), "agent"), effects.Count(len(o.operators), "operator"))
		if !enabled {
			text += "the authentication of etcd is off: etcdctl user add root && etcdctl user grant-role root root && etcdctl auth enable\n"
		}
		return o.Print(text)
	})
}

// print prints the commands of etcdctl.
func (o *initOptions) print(roles []kv.Role) error {
	var b strings.Builder
	users := map[string]bool{}
	for _, r := range roles {
		fmt.Fprintf(&b, "etcdctl role add %s\n", r.Name)
		for _, p := range r.Permissions {
			kind, prefix := "read", ""
			if p.Write {
				kind = "readwrite"
			}
			if p.Prefix {
				prefix = "--prefix=true "
			}
			fmt.Fprintf(&b, "etcdctl role grant-permission %s%s %s %s\n", prefix, r.Name, kind, p.Key)
		}
		for _, user := range r.Users {
			if !users[user] {
				fmt.Fprintf(&b, "etcdctl user add --no-password %s\n", user)
			}
			users[user] = true
			fmt.Fprintf(&b, "etcdctl user grant-role %s %s\n", user, r.Name)
		}
	}
	return o.Print(b.String())
}
