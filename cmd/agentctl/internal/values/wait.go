package values

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/history"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// watchValues prints the states of values and then each change, until the
// context ends.
func (o *options) watchValues(ctx context.Context, selected func([]valueData) ([]valueData, error)) error {
	shown := map[string]string{} // lines by key, without the time
	err := o.Client.Scheduler.Watch(ctx, "", "", func(ev api.WatchEvent) error {
		list := make([]valueData, len(ev.Values))
		for i, v := range ev.Values {
			list[i].Value, list[i].DerivedValues = v.GetValue(), v.GetDerivedValues()
		}
		list, err := selected(list)
		if err != nil || len(list) == 0 {
			return err
		}
		if o.Format != "" {
			ev.Values = ev.Values[:0:0]
			for _, v := range list {
				ev.Values = append(ev.Values, &api.BaseValueStatus{Value: v.Value, DerivedValues: v.DerivedValues})
			}
			return o.Write(o.Format, ev)
		}
		for _, v := range list {
			for _, s := range append([]*api.ValueStatus{v.Value}, v.DerivedValues...) {
				if line := o.change(s); shown[s.GetKey()] != line {
					shown[s.GetKey()] = line
					fmt.Fprintln(o.Out, o.Now().UTC().Format("15:04:05.000")+"  "+line)
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
func (o *options) change(s *api.ValueStatus) string {
	state := s.GetState().String()
	line := o.PaintState(state) + strings.Repeat(" ", max(0, len("UNIMPLEMENTED")-len(state))) + "  " + o.Models.ShortKey(s.GetKey())
	if reason := api.Reason(s); reason != "" {
		line += "  (" + o.Models.ShortText(reason) + ")"
	}
	return line
}

type waitOptions struct {
	*cmdutil.Factory
	condition client.WaitQuery
	txn       string
	missing   bool
}

// NewWait returns the command "wait".
func NewWait(f *cmdutil.Factory) *cobra.Command {
	o := &waitOptions{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use:   "wait [KEY...]",
		Short: "Wait until values are configured, or say why they cannot be",
		Long: "Waits until all of the values, with their derived values, are configured (or in\n" +
			"one of the states given with --for; ABSENT is one too). Keys may be given whole, or as\n" +
			"MODEL/NAME. It gives up at once when a value cannot get there without a change, and after\n" +
			"--timeout; the exit code is 1 then, and what is missing is printed with the reason. A key\n" +
			"that is not configured fails at once, too, unless --missing or --for is given. Without KEY,\n" +
			"--prefix and --txn it waits for all values, at least one.",
		Example: "  agentctl wait vpp.interfaces/loop1 vpp.l2.bridge-domain/bd1 --timeout 30s\n" +
			"  agentctl wait --timeout 1m\n  agentctl wait --txn 7\n  agentctl wait --for ABSENT vpp.interfaces/loop1",
		ValidArgsFunction: f.CompleteKeys,
		RunE:              o.run,
	})
	cmd.Flags().BoolVar(&o.missing, "missing", false, "wait for keys that are not configured yet, too")
	cmd.Flags().StringSliceVar(&o.condition.States, "for", nil, "wait for one of these `states` (default CONFIGURED)")
	cmd.Flags().StringArrayVar(&o.condition.Prefixes, "prefix", nil, "wait for all values whose keys have this `prefix`, at least one")
	cmd.Flags().StringVar(&o.txn, "txn", "", "wait for the values of the transaction with this sequence `number`")
	history.CompleteFlag(f, cmd, "txn")
	return cmd
}

func (o *waitOptions) run(cmd *cobra.Command, keys []string) error {
	o.condition.Keys = o.Models.FullKeys(keys)
	if o.txn != "" {
		seq, err := cmdutil.SeqNum(o.txn)
		if err != nil {
			return err
		}
		o.condition.Txn = &seq
	}
	if err := checkStates("--for", o.condition.States, "ABSENT"); err != nil {
		return err
	}
	if !o.missing && len(o.condition.States) == 0 {
		if err := o.checkConfigured(cmd.Context(), o.condition.Keys); err != nil {
			return err
		}
	}
	return o.wait(cmd.Context(), o.condition)
}

// checkConfigured returns an error if no source of the agent asks for a key.
func (o *waitOptions) checkConfigured(ctx context.Context, keys []string) error {
	for _, key := range keys {
		e, err := whyKey(ctx, o.Factory, key, key)
		if err != nil {
			return err
		}
		if e.NotConfigured {
			short := o.Models.ShortKey(key)
			return fmt.Errorf("%s: %s%s; with --missing the command waits until it is configured", short, o.Models.ShortText(e.Reason), o.DidYouMean(ctx, short))
		}
	}
	return nil
}

func (o *waitOptions) wait(ctx context.Context, q client.WaitQuery) error {
	for _, key := range q.Keys {
		if err := o.checkKey(ctx, key); err != nil {
			return err
		}
	}
	q.Timeout = o.Flags.Timeout
	result, err := o.Client.Scheduler.Wait(ctx, q)
	if err != nil {
		return err
	}
	if o.Format != "" {
		if err := o.Write(o.Format, result); err != nil {
			return err
		}
	}
	if result.Error != "" {
		return errors.New(result.Error)
	}
	return nil
}
