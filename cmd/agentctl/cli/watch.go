package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// watchValues prints the states of values and then each change, until the
// context ends.
func (a *app) watchValues(ctx context.Context, selected func([]valueData) ([]valueData, error)) error {
	shown := map[string]string{} // lines by key, without the time
	err := a.client.Watch(ctx, "", "", func(ev api.WatchEvent) error {
		list := make([]valueData, len(ev.Values))
		for i, v := range ev.Values {
			list[i].Value, list[i].DerivedValues = v.GetValue(), v.GetDerivedValues()
		}
		list, err := selected(list)
		if err != nil || len(list) == 0 {
			return err
		}
		if a.format != "" {
			ev.Values = ev.Values[:0:0]
			for _, v := range list {
				ev.Values = append(ev.Values, &api.BaseValueStatus{Value: v.Value, DerivedValues: v.DerivedValues})
			}
			return a.write(a.format, ev)
		}
		for _, v := range list {
			for _, s := range append([]*api.ValueStatus{v.Value}, v.DerivedValues...) {
				if line := a.change(s); shown[s.GetKey()] != line {
					shown[s.GetKey()] = line
					fmt.Fprintln(a.Out, a.now().UTC().Format("15:04:05.000")+"  "+line)
				}
			}
		}
		return nil
	})
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // the user has seen enough
	}
	return err
}

// change is a line about a value whose status changed.
func (a *app) change(s *api.ValueStatus) string {
	state := s.GetState().String()
	line := a.paintState(state) + strings.Repeat(" ", max(0, len("UNIMPLEMENTED")-len(state))) + "  " + a.shortKey(s.GetKey())
	if reason := api.Reason(s); reason != "" {
		line += "  (" + a.shortText(reason) + ")"
	}
	return line
}

func (a *app) waitCommand() *cobra.Command {
	var q client.WaitQuery
	var txn string
	var missing bool
	cmd := a.formatted(&cobra.Command{
		Use:   "wait [KEY...]",
		Short: "Wait until values are configured, or say why they cannot be",
		Long: "Waits until all of the values, with what is derived from them, are configured (or in\n" +
			"one of the states given with --for; ABSENT is one too). Keys may be given whole, or as\n" +
			"MODEL/NAME. It gives up at once when a value cannot get there without a change, and after\n" +
			"--timeout; the exit code is 1 then, and what is missing is printed with the reason. A key\n" +
			"that is not configured fails at once, too, unless --missing or --for is given. Without KEY,\n" +
			"--prefix and --txn it waits for all values, at least one.",
		Example: "  agentctl wait vpp.interfaces/loop1 vpp.l2.bridge-domain/bd1 --timeout 30s\n" +
			"  agentctl wait --timeout 1m\n  agentctl wait --txn 7\n  agentctl wait --for ABSENT vpp.interfaces/loop1",
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, keys []string) error {
			q.Keys = a.fullKeys(keys)
			if txn != "" {
				seq, err := seqNum(txn)
				if err != nil {
					return err
				}
				q.Txn = &seq
			}
			if err := checkStates("--for", q.States, "ABSENT"); err != nil {
				return err
			}
			if !missing && len(q.States) == 0 {
				if err := a.checkConfigured(cmd.Context(), q.Keys); err != nil {
					return err
				}
			}
			return a.wait(cmd.Context(), q)
		},
	})
	cmd.Flags().BoolVar(&missing, "missing", false, "wait for keys that are not configured yet, too")
	cmd.Flags().StringSliceVar(&q.States, "for", nil, "wait for one of these `states` (default CONFIGURED)")
	cmd.Flags().StringArrayVar(&q.Prefixes, "prefix", nil, "wait for all values whose keys have this `prefix`, at least one")
	cmd.Flags().StringVar(&txn, "txn", "", "wait for the values of the transaction with this sequence `number`")
	a.completeTxnFlag(cmd, "txn")
	return cmd
}

// checkConfigured returns an error if no source of the agent asks for a key.
func (a *app) checkConfigured(ctx context.Context, keys []string) error {
	for _, key := range keys {
		e, err := a.whyKey(ctx, key, key)
		if err != nil {
			return err
		}
		if e.NotConfigured {
			return fmt.Errorf("%s: %s; with --missing the command waits until it is configured", key, e.Reason)
		}
	}
	return nil
}

func (a *app) wait(ctx context.Context, q client.WaitQuery) error {
	for _, key := range q.Keys {
		if err := a.checkKey(ctx, key); err != nil {
			return err
		}
	}
	q.Timeout = a.global.timeout
	result, err := a.client.Wait(ctx, q)
	if err != nil {
		return err
	}
	if a.format != "" {
		if err := a.write(a.format, result); err != nil {
			return err
		}
	}
	if result.Error != "" {
		return errors.New(result.Error)
	}
	return nil
}
