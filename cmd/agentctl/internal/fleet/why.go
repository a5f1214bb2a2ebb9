package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

type whyOptions struct{ engine }

func newWhy(f *cmdutil.Factory) *cobra.Command {
	o := &whyOptions{engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "why AGENT [MODEL/NAME]", Short: "Show why an agent does not have its revision, or where an item comes from",
		Args: cmdutil.Args(cobra.RangeArgs(1, 2)),
		Long: "Shows which revision an agent should have and which it has, and what is in the way: it is not connected, waits for a\n" +
			"wave of a rollout, refused the plan, reverted, is quarantined, or does not follow this etcd; and the items that are\n" +
			"not in effect or have drifted.\n\n" +
			"With an item, whose key may be given whole, it shows the NetworkConfig that gives it, with its file and priority, the\n" +
			"revision, and what the agent reports about the item. This asks etcd only: 'agentctl --target AGENT why\n" +
			"MODEL/NAME' asks the agent.\n\n" +
			"The exit code is 2 if the agent does not have its revision or something is wrong with it, with an item if that is not\n" +
			"in effect as the newest revision has it, and 1 if there is no such agent or item.",
		Example: "  agentctl fleet why edge-7\n  agentctl fleet why edge-7 vpp.interfaces/loop0", ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
				n, err := o.readNetwork(ctx, s)
				if err != nil {
					return err
				}
				if _, err := n.agent(args[0]); err != nil {
					return err
				}
				if len(args) > 1 {
					return o.item(ctx, s, n, args[0], o.Models.FullKey(args[1]))
				}
				return o.agent(n, args[0])
			})
		},
	})
	o.flags(cmd)
	return cmd
}

// complete completes the agent, and then the items of its revision.
func (o *whyOptions) complete(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return o.completeAgents(1)(cmd, args, prefix)
	}
	var keys []string
	if o.Connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
		n, err := o.readNetwork(ctx, s)
		if err != nil {
			return err
		}
		items, _, err := n.configOf(ctx, s, args[0], n.aim(args[0]).Revision)
		for _, it := range items {
			keys = append(keys, o.Models.ShortKey(it.Key))
		}
		return err
	})
	return cmdutil.StartingWith(prefix, keys...), cobra.ShellCompDirectiveNoFileComp
}

// whyView is the output of -o.
type whyView struct {
	Agent     string            `json:"agent"`
	Labels    map[string]string `json:"labels,omitempty"`
	Connected bool              `json:"connected"`
	Host      string            `json:"host,omitempty"`
	// Should is what the agent should have, and Revision what it has confirmed last.
	Should   *target   `json:"should,omitempty"`
	Revision int64     `json:"revision"`
	Since    time.Time `json:"since,omitzero"` // when Revision was confirmed
	State    string    `json:"state,omitempty"`
	Rollout  string    `json:"rollout,omitempty"` // that State is of
	Reason   string    `json:"reason,omitempty"`
	// Facts explain it, and Problems need attention.
	Facts    []string    `json:"facts,omitempty"`
	Problems []condition `json:"problems,omitempty"`
	Well     bool        `json:"well"`
}

func (o *whyOptions) agent(n *network, label string) error {
	v := n.why(label)
	if err := output.Show(o.Printer, v, o.print); err != nil {
		return err
	}
	if !v.Well {
		return exit.Findingf("%s needs attention", label)
	}
	return nil
}

// aim returns what an agent should have; the zero value if nothing was decided.
func (n *network) aim(label string) target { return n.targets[label] }

// why explains the state of an agent.
func (n *network) why(label string) whyView {
	a := n.agents[label]
	v := whyView{
		Agent: label, Labels: a.Labels(), Connected: a.Running != nil, Revision: a.Report.Confirmed,
		State: string(a.Report.State), Rollout: a.Report.Rollout, Reason: n.text(a.Report.Reason), Problems: n.conditions(label),
	}
	if a.Running != nil {
		v.Host = a.Running.Host
	}
	if h := a.Status.History; len(h) > 0 && h[len(h)-1].Revision == v.Revision {
		v.Since = h[len(h)-1].Time
	}
	if t, ok := n.targets[label]; ok {
		v.Should = &t
	}
	v.Facts = n.facts(label)
	for i := range v.Problems {
		v.Problems[i].Do = strings.ReplaceAll(v.Problems[i].Do, "%s", label)
		if v.Problems[i].Do == "agentctl fleet why "+label { // that is this command
			v.Problems[i].Do = n.remedy(a)
		}
	}
	v.Well = len(v.Problems) == 0
	return v
}

// remedy says how an agent gets a revision that it did not keep.
func (n *network) remedy(a store.AgentStatus) string {
	if a.Report.State == rollout.Held {
		return "agentctl fleet apply again, which shows the plan for approval"
	}
	if a.Report.State == rollout.Quarantined || a.Report.State == rollout.Failed || a.Report.State == rollout.Refused {
		return "find the cause with agentctl --target " + a.Label + " status and report, then agentctl fleet apply again"
	}
	return "agentctl fleet apply again, with the same files"
}

// facts are what an operator should know of an agent, without being a problem.
func (n *network) facts(label string) (facts []string) {
	a := n.agents[label]
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	if n.later(label) {
		when := "when it runs again"
		if a.Spec.Spec.Maintenance {
			when = "when its maintenance ends"
		}
		add("it catches up with revision %d of rollout %s by itself %s", a.Assignment.Revision, a.Assignment.Rollout, when)
	}
	if a.Spec.Spec.Maintenance {
		add("it is in maintenance, so that rollouts leave it out: agentctl fleet maintenance %s off", label)
	}
	if _, ok := n.targets[label]; !ok {
		add("no rollout has given it a revision")
	}
	if t := n.open[label]; t != nil {
		add("%s", n.waitsIn(a, *t))
	}
	if newest := n.failedFor(label); newest != nil {
		add("%s", *newest)
	}
	if a.Report.Plan.Overridden > 0 {
		add("%s of its revision have no effect, because another source of the agent has them: agentctl --target %s sources", effects.Count(a.Report.Plan.Overridden, "item"), label)
	}
	if a.Status.Waiting > 0 {
		add("%s for other items: agentctl --target %s values --state PENDING", waiting(a.Status.Waiting), label)
	}
	return facts
}

// waiting is "1 item waits" or "2 items wait".
func waiting(n int) string {
	if n == 1 {
		return "1 item waits"
	}
	return fmt.Sprintf("%d items wait", n)
}

// waitsIn says where an agent is in a rollout that has not ended.
func (n *network) waitsIn(a store.AgentStatus, t target) string {
	status := n.rollouts[t.Rollout]
	r := status.Rollout
	text := fmt.Sprintf("rollout %s of revision %d", t.Rollout, t.Revision)
	switch {
	case t.skipped != "":
		return fmt.Sprintf("%s leaves it out: it %s", text, t.skipped)
	case r.Status.Phase == rollout.PhaseNew || r.Status.Phase == rollout.PhasePlanning:
		return text + " waits for the plans of the agents"
	case r.Status.Phase == rollout.PhaseApproval && (!r.Spec.Approval || r.Spec.Approved):
		return text + " has not begun its first wave" + n.unled(t.Rollout)
	case r.Status.Phase == rollout.PhaseApproval:
		return text + " waits for approval: agentctl fleet approve " + t.Rollout
	case r.Status.Phase == rollout.PhaseReverting:
		return text + " is being taken back"
	case t.Wave > r.Status.Wave:
		text = fmt.Sprintf("it waits for wave %d of rollout %s, which is in wave %d of %d", t.Wave+1, t.Rollout, r.Status.Wave+1, len(r.Spec.Waves))
		if r.Spec.Paused {
			text += " and paused: agentctl fleet resume " + t.Rollout
		}
		return text
	}
	text = fmt.Sprintf("it is in wave %d of rollout %s, which runs", t.Wave+1, t.Rollout)
	if d, ok := status.Decisions[t.Wave]; ok {
		return text + fmt.Sprintf("; the decision is %s", d.Decision)
	}
	return text + "; the wave has no decision yet"
}

// unled says how a rollout continues that no controller executes; empty if one does.
func (n *network) unled(name string) string {
	r := n.rollouts[name].Rollout
	if _, executed := n.leaders[name]; executed {
		return ""
	}
	if r.Spec.Paused {
		return ", and is paused: agentctl fleet resume " + name
	}
	return ", and no controller executes it: agentctl fleet run " + name
}

// failedFor says why the newest rollout that has the agent failed; nil: it did not.
func (n *network) failedFor(label string) *string {
	for _, name := range n.newest {
		status := n.rollouts[name]
		r := status.Rollout
		if r.Spec.PlanOnly || !slices.Contains(members(r), label) && !slices.Contains(r.Spec.Later, label) {
			continue
		}
		if r.Status.Phase != rollout.PhaseFailed || n.targets[label].Rollout == name {
			return nil
		}
		text := fmt.Sprintf("rollout %s of revision %d failed, so it keeps its revision: ", name, r.Spec.Revision)
		if report := n.agents[label].Report; report.Rollout == name && report.State.Unsuccessful() && report.Reason != "" {
			return new(fmt.Sprintf("%s%s: %s", text, report.State, n.text(report.Reason)))
		}
		return new(text + n.text(r.Status.Reason))
	}
	return nil
}

func (o *whyOptions) print(v whyView) error {
	var b strings.Builder
	head := v.Agent
	if v.Connected {
		head += " is connected, on host " + v.Host
	} else {
		head += " is not connected"
	}
	fmt.Fprintln(&b, head)
	switch {
	case v.Should == nil && v.Revision == 0:
	case v.Should != nil && v.Should.Revision != v.Revision:
		fmt.Fprintf(&b, "it should have revision %d of rollout %s, and has revision %d%s\n", v.Should.Revision, v.Should.Rollout, v.Revision, o.since(v.Since))
	case v.Should != nil:
		fmt.Fprintf(&b, "it has revision %d of rollout %s%s, as it should\n", v.Revision, v.Should.Rollout, o.since(v.Since))
	default:
		fmt.Fprintf(&b, "it has revision %d%s\n", v.Revision, o.since(v.Since))
	}
	for _, p := range v.Problems {
		one, _ := p.Kind.words()
		fmt.Fprintf(&b, "%s%s: %s\n    -> %s\n", o.Paint(output.Red, "it "+one), o.times(p), p.Reason, p.Do)
	}
	for _, f := range v.Facts {
		fmt.Fprintln(&b, f)
	}
	if v.Well {
		fmt.Fprintln(&b, "nothing is wrong with it")
	}
	return o.Print(b.String())
}

// itemView is an item of an agent in the output of -o.
type itemView struct {
	Agent    string `json:"agent"`
	Item     string `json:"item"`
	Revision int64  `json:"revision"` // that the agent should have
	// Given reports whether this revision has the item, and Has whether that is so for the one that the agent has.
	Given    bool           `json:"given"`
	Has      int64          `json:"has"`
	HasIt    bool           `json:"hasItem"`
	Same     bool           `json:"same"` // in both revisions
	Config   string         `json:"networkConfig,omitempty"`
	Position string         `json:"position,omitempty"`
	Priority int            `json:"priority"`
	Trouble  *store.Finding `json:"trouble,omitempty"`
	Drift    *store.Finding `json:"drift,omitempty"`
	State    string         `json:"state"` // in words
}

func (o *whyOptions) item(ctx context.Context, s store.Store, n *network, label, key string) error {
	a := n.agents[label]
	v := itemView{Agent: label, Item: o.Models.ShortKey(key), Revision: n.aim(label).Revision, Has: a.Report.Confirmed}
	should, revision, err := n.configOf(ctx, s, label, v.Revision)
	if err != nil {
		return err
	}
	has := should
	if v.Has != v.Revision {
		if has, _, err = n.configOf(ctx, s, label, v.Has); err != nil {
			return err
		}
	}
	given, present := itemOf(should, key), itemOf(has, key)
	if given == nil && present == nil {
		return fmt.Errorf("revision %d of %s has no item %s%s", v.Revision, label, v.Item, o.MeantItem(v.Item, keysOf(should)))
	}
	v.Given, v.HasIt = given != nil, present != nil
	v.Same = v.Given && v.HasIt && string(given.Value) == string(present.Value)
	if given != nil {
		v.Config = given.Config
		v.Position, v.Priority = revision.Configs[v.Config].Position, revision.Configs[v.Config].Priority
	}
	v.Trouble, v.Drift = a.Status.Trouble.Of(key), a.Status.Drift.Of(key)
	v.State = o.stateOf(a, &v)
	err = output.Show(o.Printer, v, func(v itemView) error { return o.printItem(v) })
	if err == nil && (!v.Same || v.Trouble != nil || v.Drift != nil || a.Running == nil) {
		err = exit.Findingf("%s of %s needs attention", v.Item, label)
	}
	return err
}

// configOf returns the items of an agent in a revision; none for revision 0, and for revisions without the agent.
func (n *network) configOf(ctx context.Context, s store.Store, label string, number int64) ([]store.Item, store.Revision, error) {
	if number == 0 {
		return nil, store.Revision{}, nil
	}
	r, err := s.Revision(ctx, number)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, r, fmt.Errorf("the store has no revision %d", number)
	}
	if err != nil || r.Agents[label] == "" {
		return nil, r, err
	}
	items, err := s.Config(ctx, r.Agents[label])
	return items, r, err
}

// keysOf returns the keys of items.
func keysOf(items []store.Item) (keys []string) {
	for i := range items {
		keys = append(keys, items[i].Key)
	}
	return keys
}

// itemOf returns the item with the key; nil if there is none.
func itemOf(items []store.Item, key string) *store.Item {
	i := slices.IndexFunc(items, func(it store.Item) bool { return it.Key == key })
	if i < 0 {
		return nil
	}
	return &items[i]
}

// stateOf says in words what the agent reports about an item.
func (o *whyOptions) stateOf(a store.AgentStatus, v *itemView) string {
	ask := "agentctl --target " + a.Label + " why " + v.Item
	switch {
	case v.Trouble != nil:
		return strings.TrimSpace(describeState(v.Trouble.State) + after(": ", o.Models.ShortText(v.Trouble.Reason)))
	case v.Drift != nil:
		return strings.TrimSpace("has drifted: " + describeState(v.Drift.State) + after(": ", o.Models.ShortText(v.Drift.Reason)))
	case !v.HasIt:
		return "the agent does not have it"
	case a.Running == nil:
		return "the agent is not connected"
	case a.Status.Trouble.Complete() && a.Status.Waiting == 0:
		return "is in effect"
	case a.Status.Trouble.Complete():
		return "is in effect, or waits for another item; it is not known here: " + ask
	}
	return "is not known here, since the agent reports only the first items that are not in effect: " + ask
}

func (o *whyOptions) printItem(v itemView) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s\n", v.Item, v.Agent)
	switch {
	case v.Given && v.Config != "":
		where := fmt.Sprintf("priority %d", v.Priority)
		if v.Position != "" {
			where = v.Position + ", " + where
		}
		fmt.Fprintf(&b, "is given by NetworkConfig %s (%s) in revision %d\n", v.Config, where, v.Revision)
	case v.Given:
		fmt.Fprintf(&b, "is in revision %d\n", v.Revision)
	default:
		fmt.Fprintf(&b, "is not in revision %d, which the agent should have\n", v.Revision)
	}
	switch {
	case v.Has == v.Revision:
	case v.HasIt && v.Given && v.Same:
		fmt.Fprintf(&b, "is the same in revision %d, which the agent has\n", v.Has)
	case v.HasIt:
		fmt.Fprintf(&b, "is another one in revision %d, which the agent has: agentctl fleet why %s\n", v.Has, v.Agent)
	default:
		fmt.Fprintf(&b, "is not in revision %d, which the agent has: agentctl fleet why %s\n", v.Has, v.Agent)
	}
	fmt.Fprintln(&b, v.State)
	return o.Print(b.String())
}
