// Package values has the commands that show the values of the scheduler and wait for them.
package values

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
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

type options struct {
	*cmdutil.Factory
	states []string
	watch  bool
	all    bool
}

// New returns the command "values".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := output.AsInLigato(f.Formatted(&cobra.Command{
		Use:   "values [MODEL|KEY...]",
		Short: "Show the states of the values of the scheduler",
		Long: "Shows the states of the values of the scheduler: values of the given models (names or\n" +
			"patterns), values with the given keys (whole, or as MODEL/NAME), or all. Derived values\n" +
			"are indented below the value that they are derived from. The exit code is 1 if there is no\n" +
			"value with a key.\n\n" +
			"Values that the agent has found and not made (OBTAINED) are only counted, unless --all, --state, or\n" +
			"models or keys are given.",
		Example: "  agentctl values 'vpp.l2.*'\n  agentctl values vpp.interfaces/loop1\n" +
			"  agentctl values --state PENDING,FAILED\n  agentctl values --watch",
		ValidArgsFunction: f.CompleteModels,
		RunE:              o.run,
	}, output.Proto))
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "print the changes too, one line each, until interrupted")
	cmd.Flags().BoolVar(&o.all, "all", false, "also values that the agent has found and not made (OBTAINED)")
	cmd.Flags().StringSliceVar(&o.states, "state", nil, "only values in one of these `states`, with their derived values")
	// It fails for an unknown flag only.
	_ = cmd.RegisterFlagCompletionFunc("state", func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		given := prefix[:strings.LastIndexByte(prefix, ',')+1]
		var names []string
		for name := range kvscheduler.ValueState_value {
			names = append(names, given+name)
		}
		slices.Sort(names)
		return cmdutil.StartingWith(prefix, names...), cobra.ShellCompDirectiveNoFileComp
	})
	cmdutil.FlagOnTargets(cmd, "watch", cmdutil.FollowTarget)
	return cmd
}

func (o *options) run(cmd *cobra.Command, patterns []string) error {
	if err := checkStates("--state", o.states); err != nil {
		return err
	}
	o.all = o.all || o.Wide || len(patterns)+len(o.states) > 0
	if _, err := o.selectValues(nil, patterns, o.states); err != nil { // it needs no request
		if len(patterns) == 1 {
			err = didYouMean(cmd.Context(), o.Factory, patterns[0], err)
		}
		return err
	}
	if o.watch {
		return o.watchValues(cmd.Context(), func(list []valueData) ([]valueData, error) { return o.selectValues(list, patterns, o.states) })
	}
	list, err := o.listValues(cmd.Context())
	if err == nil {
		err = o.checkKeys(cmd.Context(), list, patterns)
	}
	if err == nil {
		list, err = o.selectValues(list, patterns, o.states)
	}
	if err != nil {
		return err
	}
	if o.AsProto() {
		return cmdutil.WriteProto(o.Printer, protoValues(list))
	}
	return output.Show(o.Printer, list, cmdutil.Noting(cmd.Context(), o.Factory, o.printValues))
}

// valueData is what "values" knows about a value and those derived from it.
type valueData struct {
	response.TimedStatus
	Source   string   `json:"source,omitempty"`
	Shadowed []string `json:"shadowed,omitempty"` // other sources of the same key
}

// listValues returns all values; an agent without sources has no Source.
func (o *options) listValues(ctx context.Context) ([]valueData, error) {
	list, err := o.Client.Scheduler.Values(ctx)
	if err != nil {
		return nil, err
	}
	all, at := make([]valueData, len(list)), make(map[string]*valueData, len(list))
	for i := range list {
		all[i].TimedStatus = list[i]
		at[list[i].Value.GetKey()] = &all[i]
	}
	items, err := o.Client.Configuration.Items(ctx)
	if cmdutil.NotServed(err) {
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
func (o *options) selectValues(list []valueData, patterns, states []string) ([]valueData, error) {
	wanted := map[string]bool{}
	of, keys := o.Models.KeysAmong(patterns)
	if len(of) > 0 {
		found, err := o.Models.Select(of)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			wanted[m.Spec().ModelName()] = true
		}
	}
	selected := []valueData{}
	for _, v := range list {
		model, _ := o.Models.NameOf(v.Value.GetKey())
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
			return exit.Usagef("%s: %q: expected one of %s", flag, state, strings.Join(names, ", "))
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

func (o *options) printValues(list []valueData) error {
	headings := []string{"ITEM", "STATE", "AGE", "SOURCE", "REASON"}
	if o.Wide {
		headings = []string{"ITEM", "STATE", "AGE", "SOURCE", "SHADOWED", "LAST OP", "KEY", "REASON"}
	}
	t := output.NewTable(headings...)
	row := func(item string, s *api.ValueStatus, v valueData, reason string) {
		cells := []any{item, o.PaintState(cmdutil.StateName(s.GetState())), o.AgeOf(v.Since), v.Source}
		if o.Wide {
			cells = append(cells, strings.Join(v.Shadowed, ", "), lastOperation(s), s.GetKey())
		}
		t.Row(append(cells, o.Models.ShortText(cmp.Or(api.Reason(s), reason)))...)
	}
	found := 0
	counts := map[kvscheduler.ValueState]int{}
	for _, v := range o.byName(list) {
		if !o.all && isFound(v) {
			found++
			continue
		}
		state := api.StateOfItem(&api.BaseValueStatus{Value: v.Value, DerivedValues: v.DerivedValues})
		counts[state]++
		row(o.Models.ShortKey(v.Value.GetKey()), v.Value, v, derivedIn(v, state))
		for _, d := range v.DerivedValues {
			row("  "+d.GetKey(), d, valueData{}, "")
		}
	}
	switch {
	case len(list) == 0:
		return o.Printf("no values\n")
	case found == len(list):
		return o.Printf("no values but %d OBTAINED (--all)\n", found)
	case found > 0:
		return errors.Join(t.Write(o.Printer), o.Printf("%s; %d OBTAINED (--all)\n", itemCounts(counts), found))
	}
	return errors.Join(t.Write(o.Printer), o.Printf("%s\n", itemCounts(counts)))
}

// derivedIn says how many derived values are in the state of an item, if the value itself is not.
func derivedIn(v valueData, state kvscheduler.ValueState) string {
	if v.Value.GetState() == state {
		return ""
	}
	n := 0
	for _, d := range v.DerivedValues {
		if d.GetState() == state {
			n++
		}
	}
	return fmt.Sprintf("%d of %s %s", n, effects.Count(len(v.DerivedValues), "derived value"), cmdutil.StateName(state))
}

// itemCounts returns "3 items: 2 CONFIGURED, 1 PENDING"; the worst state is last.
func itemCounts(counts map[kvscheduler.ValueState]int) string {
	order := api.TroubleStates()
	states := slices.SortedFunc(maps.Keys(counts), func(a, b kvscheduler.ValueState) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a), slices.Index(order, b)), cmp.Compare(a, b))
	})
	all := 0
	for _, n := range counts {
		all += n
	}
	var parts []string
	for _, state := range states {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], cmdutil.StateName(state)))
	}
	return effects.Count(all, "item") + ": " + strings.Join(parts, ", ")
}

// byName returns the values in the order of the names that are printed.
func (o *options) byName(list []valueData) []valueData {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b valueData) int {
		return strings.Compare(o.Models.ShortKey(a.Value.GetKey()), o.Models.ShortKey(b.Value.GetKey()))
	})
	return list
}

// isFound reports whether a value and all values derived from it are OBTAINED.
func isFound(v valueData) bool {
	obtained := func(s *api.ValueStatus) bool { return s.GetState() == kvscheduler.ValueState_OBTAINED }
	return obtained(v.Value) && !slices.ContainsFunc(v.DerivedValues, func(d *api.ValueStatus) bool { return !obtained(d) })
}

func lastOperation(s *api.ValueStatus) string {
	if s.GetLastOperation() == kvscheduler.TxnOperation_UNDEFINED {
		return ""
	}
	return s.GetLastOperation().String()
}
