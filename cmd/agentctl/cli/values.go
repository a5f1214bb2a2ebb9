package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func (a *app) valuesCommand() *cobra.Command {
	var states []string
	var watch bool
	cmd := &cobra.Command{
		Use:   "values [MODEL|KEY...]",
		Short: "Show the states of the values of the scheduler",
		Long: "Shows the states of the values of the scheduler: those of the given models (names or\n" +
			"patterns), those with the given keys (whole, or as MODEL/NAME), or all. Values that are\n" +
			"derived from another one are indented below it. The exit code is 1 if there is no value\n" +
			"with a key.",
		Example: "  agentctl values 'vpp.l2.*'\n  agentctl values vpp.interfaces/loop1\n" +
			"  agentctl values --state PENDING,FAILED\n  agentctl values --watch",
		ValidArgsFunction: completeModels,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := checkStates("--state", states); err != nil {
				return err
			}
			if _, err := selectValues(nil, patterns, states); err != nil {
				return err // no request is needed for this
			}
			if watch {
				return a.watchValues(cmd.Context(), func(list []*api.BaseValueStatus) ([]*api.BaseValueStatus, error) {
					return selectValues(list, patterns, states)
				})
			}
			all, err := a.client.Values(cmd.Context())
			if err == nil {
				err = a.checkKeys(cmd.Context(), all, patterns)
			}
			list := all
			if err == nil {
				list, err = selectValues(all, patterns, states)
			}
			if err != nil {
				return err
			}
			return show(a, list, noting(cmd.Context(), a, a.printValues))
		},
	}
	a.formatFlag(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print the changes too, one line each, until interrupted")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only values in one of these `states`, with what is derived from them")
	return cmd
}

// selectValues picks the values of models and with keys (all, if there are no
// patterns) and in states.
func selectValues(list []*api.BaseValueStatus, patterns, states []string) ([]*api.BaseValueStatus, error) {
	wanted := map[string]bool{}
	of, keys := keysAmong(patterns)
	if len(of) > 0 {
		found, err := selectModels(of)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			wanted[m.Spec().ModelName()] = true
		}
	}
	selected := []*api.BaseValueStatus{}
	for _, v := range list {
		model, _ := nameOf(v.GetValue().GetKey())
		if len(patterns) > 0 && !wanted[model] && !hasKey(v, keys) || !inState(v, states) {
			continue
		}
		selected = append(selected, v)
	}
	return selected, nil
}

// checkStates says which state there is not.
func checkStates(flag string, states []string, more ...string) error {
	names := append(slices.Sorted(maps.Keys(kvscheduler.ValueState_value)), more...)
	for _, state := range states {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, state) }) {
			return usage("%s: %q: expected one of %s", flag, state, strings.Join(names, ", "))
		}
	}
	return nil
}

// inState reports whether a value, or one derived from it, is in one of the states.
func inState(v *api.BaseValueStatus, states []string) bool {
	if len(states) == 0 {
		return true
	}
	is := func(s *api.ValueStatus) bool {
		return slices.ContainsFunc(states, func(state string) bool { return strings.EqualFold(state, s.GetState().String()) })
	}
	return is(v.GetValue()) || slices.ContainsFunc(v.DerivedValues, is)
}

func (a *app) printValues(list []*api.BaseValueStatus) error {
	t := newTable("MODEL", "NAME", "STATE", "DETAILS", "LAST OP", "ERROR")
	row := func(model, name string, s *api.ValueStatus) {
		operation := ""
		if s.GetLastOperation() != kvscheduler.TxnOperation_UNDEFINED {
			operation = s.GetLastOperation().String()
		}
		t.row(model, name, a.paintState(stateName(s.GetState())), strings.Join(s.GetDetails(), ", "), operation, s.GetError())
	}
	for _, v := range list {
		model, name := nameOf(v.GetValue().GetKey())
		row(model, name, v.Value)
		for _, d := range v.DerivedValues {
			row("", "  "+d.Key, d)
		}
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.Out, "no values")
		return err
	}
	return t.write(a)
}

// noting adds to what print does a note, beside the output, if no real VPP or Linux is behind it.
// Agents without VPP do not report it, so errors are ignored.
func noting[T any](ctx context.Context, a *app, print func(T) error) func(T) error {
	return func(data T) error {
		if err := print(data); err != nil {
			return err
		}
		if simulated, err := a.client.Simulated(ctx); err == nil && len(simulated) > 0 {
			fmt.Fprintln(a.Err, simulationNote(simulated))
		}
		return nil
	}
}

// simulationNote says which southbounds are simulated, and which is real.
func simulationNote(simulated []string) string {
	if slices.Contains(simulated, "linux") {
		return "VPP and Linux are simulated: what is CONFIGURED exists only inside the agent"
	}
	return "VPP is simulated, Linux is real: what is CONFIGURED in VPP forwards no packets"
}

func (a *app) whyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why KEY",
		Short: "Show what a value waits for, down to what blocks it",
		Long: "Shows what a value waits for or stands on, down to what blocks it. The key may be\n" +
			"given whole, or as MODEL/NAME with the name of a model. The exit code is 1 if no model\n" +
			"has keys like it.",
		Example: "  agentctl why config/vpp/l2/v2/bridge-domain/bd1\n  agentctl why vpp.l2.bridge-domain/bd1",
		Args:    args(cobra.ExactArgs(1)), ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			key := fullKey(args[0])
			e, err := a.client.Why(cmd.Context(), key)
			if err == nil {
				err = notAKey(args[0], key, e)
			}
			if err != nil {
				return err
			}
			return show(a, e, func(api.Explanation) error { return a.printText(a.client.WhyText(cmd.Context(), key)) })
		},
	}
	a.formatFlag(cmd)
	return cmd
}

func (a *app) completeKeys(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := a.client.Values(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []string
	for _, v := range list {
		for _, s := range append([]*api.ValueStatus{v.Value}, v.DerivedValues...) {
			if strings.HasPrefix(s.Key, prefix) {
				keys = append(keys, s.Key)
			}
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}
