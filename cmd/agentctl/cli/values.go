package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func (a *app) valuesCommand() *cobra.Command {
	var states []string
	var watch bool
	cmd := asInLigato(a.formatted(&cobra.Command{
		Use:   "values [MODEL|KEY...]",
		Short: "Show the states of the values of the scheduler",
		Long: "Shows the states of the values of the scheduler: those of the given models (names or\n" +
			"patterns), those with the given keys (whole, or as MODEL/NAME), or all. Values that are\n" +
			"derived from another one are indented below it. The exit code is 1 if there is no value\n" +
			"with a key.",
		Example: "  agentctl values 'vpp.l2.*'\n  agentctl values vpp.interfaces/loop1\n" +
			"  agentctl values --state PENDING,FAILED\n  agentctl values --watch",
		ValidArgsFunction: a.completeModels,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := checkStates("--state", states); err != nil {
				return err
			}
			if _, err := a.selectValues(nil, patterns, states); err != nil {
				return err // no request is needed for this
			}
			if watch {
				return a.watchValues(cmd.Context(), func(list []valueData) ([]valueData, error) { return a.selectValues(list, patterns, states) })
			}
			list, err := a.listValues(cmd.Context())
			if err == nil {
				err = a.checkKeys(cmd.Context(), list, patterns)
			}
			if err == nil {
				list, err = a.selectValues(list, patterns, states)
			}
			if err != nil {
				return err
			}
			if a.asProto() {
				return a.writeProto(protoValues(list))
			}
			return show(a, list, noting(cmd.Context(), a, a.printValues))
		},
	}, protoFormat))
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print the changes too, one line each, until interrupted")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only values in one of these `states`, with what is derived from them")
	// The error is that of an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("state", func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		given := prefix[:strings.LastIndexByte(prefix, ',')+1]
		var names []string
		for name := range kvscheduler.ValueState_value {
			names = append(names, given+name)
		}
		slices.Sort(names)
		return startingWith(prefix, names...), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// valueData is what "values" knows about a value and those derived from it.
type valueData struct {
	response.TimedStatus
	Source   string   `json:"source,omitempty"`
	Shadowed []string `json:"shadowed,omitempty"` // other sources of the same key
}

// listValues returns all values; an agent without sources has no Source.
func (a *app) listValues(ctx context.Context) ([]valueData, error) {
	list, err := a.client.Values(ctx)
	if err != nil {
		return nil, err
	}
	all, at := make([]valueData, len(list)), make(map[string]*valueData, len(list))
	for i := range list {
		all[i].TimedStatus = list[i]
		at[list[i].Value.GetKey()] = &all[i]
	}
	items, err := a.client.Items(ctx)
	if notServed(err) {
		return all, nil
	}
	for _, item := range items {
		if v := at[item.Key]; v != nil {
			v.Source = item.Source
			for _, s := range item.Shadowed {
				v.Shadowed = append(v.Shadowed, s.Source)
			}
		}
	}
	return all, err
}

// selectValues picks the values of models and with keys (all, if there are no
// patterns) and in states.
func (a *app) selectValues(list []valueData, patterns, states []string) ([]valueData, error) {
	wanted := map[string]bool{}
	of, keys := a.keysAmong(patterns)
	if len(of) > 0 {
		found, err := a.selectModels(of)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			wanted[m.Spec().ModelName()] = true
		}
	}
	selected := []valueData{}
	for _, v := range list {
		model, _ := a.nameOf(v.Value.GetKey())
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
func inState(v valueData, states []string) bool {
	if len(states) == 0 {
		return true
	}
	is := func(s *api.ValueStatus) bool {
		return slices.ContainsFunc(states, func(state string) bool { return strings.EqualFold(state, s.GetState().String()) })
	}
	return is(v.Value) || slices.ContainsFunc(v.DerivedValues, is)
}

func (a *app) printValues(list []valueData) error {
	headings := []string{"ITEM", "STATE", "AGE", "SOURCE", "REASON"}
	if a.wide {
		headings = []string{"ITEM", "STATE", "AGE", "SOURCE", "SHADOWED", "LAST OP", "KEY", "REASON"}
	}
	t := newTable(headings...)
	row := func(item string, s *api.ValueStatus, v valueData) {
		cells := []any{item, a.paintState(stateName(s.GetState())), a.ageOf(v.Since), v.Source}
		if a.wide {
			cells = append(cells, strings.Join(v.Shadowed, ", "), lastOperation(s), s.GetKey())
		}
		t.row(append(cells, a.shortText(api.Reason(s)))...)
	}
	for _, v := range list {
		row(a.shortKey(v.Value.GetKey()), v.Value, v)
		for _, d := range v.DerivedValues {
			row("  "+d.GetKey(), d, valueData{})
		}
	}
	if len(list) == 0 {
		return a.printf("no values\n")
	}
	return t.write(a)
}

func lastOperation(s *api.ValueStatus) string {
	if s.GetLastOperation() == kvscheduler.TxnOperation_UNDEFINED {
		return ""
	}
	return s.GetLastOperation().String()
}

// ageOf is how long ago t was; empty if that is unknown.
func (a *app) ageOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return age(a.now(), t)
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
	return a.formatted(&cobra.Command{
		Use:   "why KEY",
		Short: "Show what a value waits for, down to what blocks it",
		Long: "Shows what a value waits for or stands on, down to what blocks it. The key may be\n" +
			"given whole, or as MODEL/NAME with the name of a model. The exit code is 1 if no model\n" +
			"has keys like it.",
		Example: "  agentctl why config/vpp/l2/v2/bridge-domain/bd1\n  agentctl why vpp.l2.bridge-domain/bd1",
		Args:    args(cobra.ExactArgs(1)), ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			key := a.fullKey(args[0])
			e, err := a.whyKey(cmd.Context(), args[0], key)
			if err != nil {
				return err
			}
			return show(a, e, func(api.Explanation) error { return a.printText(a.client.WhyText(cmd.Context(), key)) })
		},
	})
}

// completeKeys completes keys, whole or as MODEL/NAME.
func (a *app) completeKeys(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if a.connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := a.client.Values(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []string
	for _, v := range list {
		for _, s := range append([]*api.ValueStatus{v.Value}, v.DerivedValues...) {
			for _, key := range slices.Compact([]string{a.shortKey(s.Key), s.Key}) {
				if strings.HasPrefix(key, prefix) && !slices.Contains(args, key) {
					keys = append(keys, key)
					break
				}
			}
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}
