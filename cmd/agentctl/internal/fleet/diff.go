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
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

type diffOptions struct {
	engine
	from, to string
	limit    uint
}

func newDiff(f *cmdutil.Factory) *cobra.Command {
	o := &diffOptions{engine: engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "diff AGENT [AGENT]", Short: "Show how the configurations of two agents, or two revisions of an agent, differ",
		Args: cmdutil.Args(cobra.RangeArgs(1, 2)),
		Long: "Shows the items in which the configurations of two agents differ, with the fields, as 'agentctl plan' does: from the\n" +
			"first agent to the second one. With one agent it compares two revisions: the one that the agent had before and the one\n" +
			"that it should have, or what --from and --to name: the number of a revision or a rollout. With two agents, --from is for\n" +
			"the first one and --to for the second one.\n\n" +
			"It compares rendered configurations, and asks etcd only. The exit code is 2 if there are differences.",
		Example: "  agentctl fleet diff edge-1 edge-2\n  agentctl fleet diff edge-1\n  agentctl fleet diff edge-1 --from r-41 --to r-42", ValidArgsFunction: o.completeAgents(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error { return o.run(ctx, s, args) })
		},
	})
	o.flags(cmd)
	cmd.Flags().StringVar(&o.from, "from", "", "`revision`, or rollout, on the left")
	cmd.Flags().StringVar(&o.to, "to", "", "`revision`, or rollout, on the right")
	cmd.Flags().UintVar(&o.limit, "limit", 50, "show this `number` of items of each kind at most; 0 is all")
	for _, flag := range []string{"from", "to"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, o.names) // fails only for unknown flags
	}
	return cmd
}

// diffSide is a configuration in the output of -o.
type diffSide struct {
	Agent    string `json:"agent"`
	Revision int64  `json:"revision"`

	items []store.Item
}

// diffView is the output of -o.
type diffView struct {
	From diffSide `json:"from"`
	To   diffSide `json:"to"`
	// Items that differ: + is only in To, - only in From, ~ in both.
	Items  []api.PlanItem       `json:"items"`
	Counts map[api.StepKind]int `json:"counts"`
	Equal  int                  `json:"equal"` // number of items that are the same
}

func (o *diffOptions) run(ctx context.Context, s store.Store, args []string) error {
	n, err := o.readNetwork(ctx, s)
	if err != nil {
		return err
	}
	for _, label := range args {
		if _, err := n.agent(label); err != nil {
			return err
		}
	}
	v := diffView{From: diffSide{Agent: args[0]}, To: diffSide{Agent: args[len(args)-1]}, Items: []api.PlanItem{}}
	if v.To.Revision, err = n.numbered("--to", o.to, n.aim(v.To.Agent).Revision); err != nil {
		return err
	}
	before := n.aim(v.From.Agent).Revision
	if len(args) == 1 {
		before = n.before(v.From.Agent, v.To.Revision)
	}
	if v.From.Revision, err = n.numbered("--from", o.from, before); err != nil {
		return err
	}
	for _, side := range []*diffSide{&v.From, &v.To} {
		var r store.Revision
		if side.items, r, err = n.configOf(ctx, s, side.Agent, side.Revision); err != nil {
			return err
		}
		if side.Revision != 0 && r.Agents[side.Agent] == "" {
			return fmt.Errorf("revision %d has no configuration of %s", side.Revision, side.Agent)
		}
	}
	o.compare(&v)
	if err := output.Show(o.Printer, v, o.print); err != nil {
		return err
	}
	if len(v.Items) > 0 {
		return exit.Findingf("there are differences")
	}
	return nil
}

// numbered returns the number of a revision, which may be named by a rollout; byDefault if none is named.
func (n *network) numbered(flag, name string, byDefault int64) (int64, error) {
	if name == "" {
		return byDefault, nil
	}
	if number, err := strconv.ParseInt(name, 10, 64); err == nil && number >= 0 {
		return number, nil
	}
	if r, ok := n.rollouts[name]; ok {
		return r.Rollout.Spec.Revision, nil
	}
	return 0, fmt.Errorf("%s: %q: expected the number of a revision, or a rollout%s", flag, name, cmdutil.Meant(name, slices.Sorted(maps.Keys(n.rollouts))))
}

// before returns the revision that an agent had before another one.
func (n *network) before(label string, revision int64) int64 {
	a := n.agents[label]
	if a.Report.Confirmed != revision {
		return a.Report.Confirmed
	}
	return a.Report.Previous
}

// compare compares the items of both sides.
func (o *diffOptions) compare(v *diffView) {
	from, to := map[string]*store.Item{}, map[string]*store.Item{}
	for _, side := range []struct {
		list []store.Item
		into map[string]*store.Item
	}{{v.From.items, from}, {v.To.items, to}} {
		for i := range side.list {
			side.into[side.list[i].Key] = &side.list[i]
		}
	}
	keys := slices.Collect(maps.Keys(from))
	for key := range to {
		if from[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(o.Models.ShortKey(a), o.Models.ShortKey(b)) })
	var ops []api.RecordedTxnOp
	unknown := map[string]bool{}
	for _, key := range keys {
		op, err := o.operation(key, from[key], to[key])
		if op == nil {
			v.Equal++
			continue
		}
		unknown[key] = err != nil
		ops = append(ops, *op)
	}
	all := (&api.Plan{Operations: ops}).ByItem(0, nil)
	if !o.Flags.ShowSecrets {
		api.HideItemSecrets(all.List)
	}
	api.DescribeItems(all.List)
	for i := range all.List {
		if it := &all.List[i]; unknown[it.Key] {
			it.Reason = "its fields are not known to agentctl"
		}
	}
	v.Items, v.Counts = append(v.Items, all.List...), all.Counts
}

// operation returns what makes one item of the other one; nil if they are the same. The error says that the value
// cannot be decoded.
func (o *diffOptions) operation(key string, from, to *store.Item) (*api.RecordedTxnOp, error) {
	op := &api.RecordedTxnOp{Key: key, Operation: kvscheduler.TxnOperation_UPDATE}
	if from != nil && to != nil && string(from.Value) == string(to.Value) {
		return nil, nil
	}
	var err, other error
	if from != nil {
		op.PrevValue, err = o.decode(from)
		op.PrevState = kvscheduler.ValueState_CONFIGURED
	} else {
		op.Operation = kvscheduler.TxnOperation_CREATE
	}
	if to != nil {
		op.NewValue, other = o.decode(to)
		op.NewState = kvscheduler.ValueState_CONFIGURED
	} else {
		op.Operation = kvscheduler.TxnOperation_DELETE
	}
	if err = cmp.Or(err, other); err == nil && op.PrevValue != nil && op.NewValue != nil && proto.Equal(op.PrevValue, op.NewValue) {
		return nil, nil
	}
	return op, err
}

// decode decodes an item.
func (o *diffOptions) decode(it *store.Item) (proto.Message, error) {
	model, ok := o.Models.Set().ForKey(it.Key)
	if !ok {
		return nil, fmt.Errorf("%s: no model has such keys", it.Key)
	}
	value := model.NewInstance()
	return value, kv.Encoded(it.Value).Decode(value)
}

func (o *diffOptions) print(v diffView) error {
	head := fmt.Sprintf("- %s, revision %d\n+ %s, revision %d\n", v.From.Agent, v.From.Revision, v.To.Agent, v.To.Revision)
	if len(v.Items) == 0 {
		return o.Printf("%sno differences in %s\n", head, effects.Count(v.Equal, "item"))
	}
	w := effects.Writer{Factory: o.Factory, PerKind: o.limit, Rest: "--limit 0 shows them"}
	lines := w.Write(v.Items, 0)
	var parts []string
	for _, c := range []struct {
		kind api.StepKind
		text string
	}{{api.StepUpdate, "different"}, {api.StepDelete, "only in the first"}, {api.StepCreate, "only in the second"}} {
		if n := v.Counts[c.kind]; n > 0 {
			parts = append(parts, output.Thousands(uint64(n))+" "+c.text)
		}
	}
	return o.Printf("%s\n%s\n%s: %s; %s equal\n", head, lines, effects.Count(len(v.Items), "item"), strings.Join(parts, ", "), output.Thousands(uint64(v.Equal)))
}

// exampleItems is how many items an example of a plan names.
const exampleItems = 3

// first names the first items: "+ vpp.interfaces/loop0, ~ vpp.interfaces/uplink (mtu)".
func (o *diffOptions) first(v *diffView) (list []string) {
	for _, it := range v.Items[:min(exampleItems, len(v.Items))] {
		text := string(it.Kind) + " " + o.Models.ShortKey(it.Key)
		if it.Kind == api.StepUpdate {
			var fields []string
			for _, f := range it.Fields {
				fields = append(fields, f.Path)
			}
			text += " (" + strings.Join(fields, " ") + ")"
		}
		list = append(list, text)
	}
	if more := len(v.Items) - exampleItems; more > 0 {
		list = append(list, fmt.Sprintf("and %d more (agentctl fleet diff %s --to %d)", more, v.To.Agent, v.To.Revision))
	}
	return list
}
