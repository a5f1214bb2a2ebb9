package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
)

type statusOptions struct {
	engine
	selector string
}

func newStatus(f *cmdutil.Factory) *cobra.Command {
	o := &statusOptions{engine: engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "status", Short: "Show what is wrong in the fleet, and what to do about it", Args: cmdutil.Args(cobra.NoArgs),
		Long: "Shows what is wrong, since when, and what to do: agents that are not connected, are quarantined, do not have their\n" +
			"revision, or have items that are not in effect or have drifted, and rollouts that run, wait or have failed. Agents with\n" +
			"the same problem are shown together; agents without a problem are only counted, by revision and labels. An agent\n" +
			"in maintenance need not be connected. -o wide names all agents.\n\n" +
			"The exit code is 2 if an agent has a problem, a rollout waits for an operator, or the newest rollout has failed. A\n" +
			"rollout that makes progress is no problem.",
		Example: "  agentctl fleet status\n  agentctl fleet status -l site=paris -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), o.show)
		},
	})
	o.flags(cmd)
	o.selectorFlag(cmd, &o.selector)
	return cmd
}

// statusView is the output of -o.
type statusView struct {
	Fleet    string        `json:"fleet"`
	Agents   int           `json:"agents"`
	Problems []problem     `json:"problems"`
	Rollouts []rolloutNote `json:"rollouts"`
	// Well are the agents without problems, by revision.
	Well        []wellGroup `json:"well"`
	Maintenance []string    `json:"maintenance,omitempty"`
	// Waiting counts items that wait for others, on agents without problems.
	Waiting int `json:"itemsWaiting,omitempty"`
}

// problem is a condition that several agents have.
type problem struct {
	condition
	Agents []string `json:"agents"`
}

// rolloutNote is a rollout that an operator should know of.
type rolloutNote struct {
	Name     string        `json:"name"`
	Revision int64         `json:"revision"`
	Phase    rollout.Phase `json:"phase"`
	Wave     int           `json:"wave,omitempty"` // from 1
	Waves    int           `json:"waves"`
	Since    time.Time     `json:"since,omitzero"`
	Reason   string        `json:"reason,omitempty"`
	// Waits reports that it needs an operator: for Do.
	Waits bool   `json:"waits"`
	Do    string `json:"do,omitempty"`
}

// wellGroup are agents without problems that have the same revision.
type wellGroup struct {
	Revision int64                     `json:"revision"`
	Agents   int                       `json:"agents"`
	Labels   map[string]map[string]int `json:"labels,omitempty"` // number of agents by key and value
}

func (o *statusOptions) show(ctx context.Context, s store.Store) error {
	selector, err := fleet.ParseSelector(o.selector)
	if err != nil {
		return exit.Usagef("--selector: %w", err)
	}
	n, err := o.readNetwork(ctx, s)
	if err != nil {
		return err
	}
	v := n.overview(selector)
	v.Fleet = o.fleet
	if v.Agents == 0 && o.selector != "" && len(n.agents) > 0 {
		return fmt.Errorf("--selector: %s selects none of %s", selector, effects.Count(len(n.agents), "agent"))
	}
	if err := output.Show(o.Printer, v, o.print); err != nil {
		return err
	}
	return v.verdict()
}

// verdict is the error that says what is wrong; nil: nothing.
func (v *statusView) verdict() error {
	waits := slices.ContainsFunc(v.Rollouts, func(r rolloutNote) bool { return r.Waits })
	wrong := map[string]bool{}
	for _, p := range v.Problems {
		for _, label := range p.Agents {
			wrong[label] = true
		}
	}
	switch {
	case len(wrong) > 0:
		return exit.Findingf("%d of %s with problems", len(wrong), effects.Count(v.Agents, "agent"))
	case waits:
		return exit.Findingf("a rollout needs attention")
	}
	return nil
}

// overview sums up the selected agents.
func (n *network) overview(selector fleet.Selector) statusView {
	v := statusView{Problems: []problem{}, Rollouts: n.notes(), Well: []wellGroup{}}
	groups := map[condition]*problem{}
	well, few := map[int64]*wellGroup{}, n.fewValues()
	for _, label := range slices.Sorted(maps.Keys(n.agents)) {
		a := n.agents[label]
		labels := a.Labels()
		if !selector.Matches(labels) {
			continue
		}
		v.Agents++
		if a.Spec.Spec.Maintenance {
			v.Maintenance = append(v.Maintenance, label)
		}
		list := n.conditions(label)
		for _, c := range list {
			id := condition{Kind: c.Kind, Reason: strings.ReplaceAll(c.Reason, label, "%s"), Do: c.Do}
			if c.Kind == kindNotFollowed {
				id.Reason = "" // it has revisions of etcd
			}
			if groups[id] == nil {
				groups[id] = &problem{condition: c}
			}
			groups[id].add(label, c)
		}
		if len(list) == 0 {
			v.Waiting += a.Status.Waiting
			addWell(well, a, few)
		}
	}
	for _, g := range groups {
		g.Do = strings.ReplaceAll(g.Do, "%s", g.Agents[0])
		v.Problems = append(v.Problems, *g)
	}
	order := kinds()
	slices.SortFunc(v.Problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(len(b.Agents), len(a.Agents)), strings.Compare(a.Agents[0], b.Agents[0]))
	})
	for _, revision := range slices.Backward(slices.Sorted(maps.Keys(well))) {
		v.Well = append(v.Well, *well[revision])
	}
	return v
}

// add adds an agent with the condition.
func (p *problem) add(label string, c condition) {
	p.Agents = append(p.Agents, label)
	for _, t := range []struct {
		of  *time.Time
		new time.Time
	}{{&p.Since, c.Since}, {&p.Last, c.Last}} {
		if !t.new.IsZero() && (t.of.IsZero() || t.new.Before(*t.of)) {
			*t.of = t.new
		}
	}
}

// fewValues returns the keys of labels that have few values in the fleet: those that are worth counting.
func (n *network) fewValues() map[string]bool {
	values := map[string]map[string]bool{}
	for _, a := range n.agents {
		for key, value := range a.Labels() {
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
		}
	}
	few := map[string]bool{}
	for key := range values {
		few[key] = len(values[key]) <= shownValues
	}
	return few
}

func addWell(well map[int64]*wellGroup, a store.AgentStatus, few map[string]bool) {
	revision := a.Report.Confirmed
	g := well[revision]
	if g == nil {
		g = &wellGroup{Revision: revision, Labels: map[string]map[string]int{}}
		well[revision] = g
	}
	g.Agents++
	for key, value := range a.Labels() {
		if !few[key] {
			continue
		}
		if g.Labels[key] == nil {
			g.Labels[key] = map[string]int{}
		}
		g.Labels[key][value]++
	}
}

// notes returns the rollouts that have not ended, and the newest one if it failed.
func (n *network) notes() []rolloutNote {
	list := []rolloutNote{}
	newest := true
	for _, name := range n.newest {
		r := n.rollouts[name].Rollout
		if r.Spec.PlanOnly {
			continue
		}
		if !r.Status.Phase.Ended() || newest && r.Status.Phase == rollout.PhaseFailed {
			list = append(list, n.note(n.rollouts[name]))
		}
		newest = false
	}
	return list
}

func (n *network) note(status store.RolloutStatus) rolloutNote {
	r := status.Rollout
	name := r.Metadata.Name
	note := rolloutNote{
		Name: name, Revision: r.Spec.Revision, Phase: r.Status.Phase, Waves: len(r.Spec.Waves), Since: r.Status.Since,
	}
	leader, executed := n.leaders[name]
	if executed {
		note.Reason = "executed by " + leader.String()
	} else {
		note.Waits, note.Reason, note.Do = true, "no controller executes it", "agentctl fleet run "+name
	}
	switch r.Status.Phase {
	case rollout.PhaseFailed:
		note.Waits, note.Reason, note.Do = true, n.text(r.Status.Reason), "agentctl fleet show "+name
		if n.someHave(r) {
			note.Do += ", or to take it back everywhere: agentctl fleet undo " + name
		}
		return note
	case rollout.PhaseApplying:
		note.Wave = r.Status.Wave + 1
	}
	_, decided := status.Decisions[r.Status.Wave]
	switch {
	case r.Spec.Abort:
		note.Reason = "is being aborted; " + note.Reason
	case r.Spec.Paused && note.Wave == 0:
		note.Waits, note.Reason, note.Do = true, "paused: no wave begins", "agentctl fleet resume "+name+", or agentctl fleet abort "+name
	case r.Spec.Paused && decided:
		note.Waits, note.Reason, note.Do = true, fmt.Sprintf("paused after wave %d: no other begins", note.Wave), "agentctl fleet resume "+name+", or agentctl fleet abort "+name
	case r.Spec.Paused:
		note.Waits, note.Reason, note.Do = true, "no wave begins after this one: paused", "agentctl fleet resume "+name+", or agentctl fleet abort "+name
	case r.Status.Phase == rollout.PhaseApproval && r.Spec.Approval && !r.Spec.Approved:
		note.Waits, note.Reason, note.Do = true, "the plans wait for approval", "agentctl fleet show "+name+", then agentctl fleet approve "+name
	}
	return note
}

// someHave reports whether agents have the revision of a rollout.
func (n *network) someHave(r rollout.Rollout) bool {
	return slices.ContainsFunc(members(r), func(label string) bool { return n.agents[label].Report.Confirmed == r.Spec.Revision })
}

// shownGroups is how many problems of one kind are shown one by one.
const shownGroups = 3

func (o *statusOptions) print(v statusView) error {
	var b strings.Builder
	for _, k := range kinds() {
		o.writeKind(&b, k, v.Problems)
	}
	for _, r := range v.Rollouts {
		o.writeRollout(&b, r)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	if err := o.Print(b.String()); err != nil {
		return err
	}
	return o.printWell(v)
}

// writeKind writes the problems of a kind.
func (o *statusOptions) writeKind(b *strings.Builder, k kind, all []problem) {
	list := slices.Clone(all)
	list = slices.DeleteFunc(list, func(p problem) bool { return p.Kind != k })
	shown := list
	if !o.Wide && len(list) > shownGroups+1 {
		shown = list[:shownGroups]
	}
	for _, p := range shown {
		fmt.Fprintf(b, "%s%s: %s\n", o.Paint(output.Red, headline(k, len(p.Agents))), o.times(p.condition), o.labels(p.Agents))
		fmt.Fprintf(b, "    %s\n    -> %s\n", p.Reason, p.Do)
	}
	var rest []string
	for _, p := range list[len(shown):] {
		rest = append(rest, p.Agents...)
	}
	if len(rest) > 0 {
		slices.Sort(rest)
		fmt.Fprintf(b, "%s, for other reasons: %s\n    -> -o wide names them all\n", o.Paint(output.Red, "and "+headline(k, len(rest))), o.labels(rest))
	}
}

// headline is "1 agent is not connected".
func headline(k kind, n int) string {
	one, several := k.words()
	if n == 1 {
		return "1 agent " + one
	}
	return output.Thousands(uint64(n)) + " agents " + several
}

// since is ", since 5m3s"; empty if that is unknown.
func (o *engine) since(t time.Time) string { return after(", since ", o.AgeOf(t)) }

// times says since when a condition holds.
func (o *engine) times(c condition) string {
	if c.Last.IsZero() {
		return o.since(c.Since)
	}
	return ", last report " + o.AgeOf(c.Last) + " ago"
}

// labels names agents: the first ones, or with -o wide all.
func (o *engine) labels(list []string) string {
	if more := len(list) - shownAgents; more > 0 && !o.Wide {
		return strings.Join(list[:shownAgents], " ") + " and " + output.Thousands(uint64(more)) + " more"
	}
	return strings.Join(list, " ")
}

func (o *statusOptions) writeRollout(b *strings.Builder, r rolloutNote) {
	text := fmt.Sprintf("rollout %s of revision %d: %s", r.Name, r.Revision, cmp.Or(string(r.Phase), "New"))
	if r.Wave > 0 {
		text += fmt.Sprintf(" wave %d of %d", r.Wave, r.Waves)
	}
	colour := output.Cyan
	if r.Waits {
		colour = output.Yellow
	}
	fmt.Fprintf(b, "%s%s\n", o.Paint(colour, text), o.since(r.Since))
	if r.Reason != "" {
		fmt.Fprintf(b, "    %s\n", r.Reason)
	}
	if r.Do != "" {
		fmt.Fprintf(b, "    -> %s\n", r.Do)
	}
}

// printWell counts the agents without problems.
func (o *statusOptions) printWell(v statusView) error {
	well := 0
	for _, g := range v.Well {
		well += g.Agents
	}
	text := fmt.Sprintf("fleet %s: %s, %s without problems", v.Fleet, effects.Count(v.Agents, "agent"), output.Thousands(uint64(well)))
	if len(v.Maintenance) > 0 {
		text += fmt.Sprintf("; in maintenance: %s", o.labels(v.Maintenance))
	}
	if v.Waiting > 0 {
		text += "; " + effects.Count(v.Waiting, "item") + " of these wait for others"
	}
	if err := o.Print(text + "\n"); err != nil || well == 0 {
		return err
	}
	t := output.NewTable("REVISION", "AGENTS", "LABELS")
	for _, g := range v.Well {
		revision := fmt.Sprint(g.Revision)
		if g.Revision == 0 {
			revision = "none"
		}
		t.Row(revision, output.Thousands(uint64(g.Agents)), labelCounts(g.Labels, g.Agents))
	}
	return t.Write(o.Printer)
}

// shownValues is how many values a label may have in the fleet to be counted; a serial number has more.
const shownValues = 8

// labelCounts counts the values of labels: "role=core 40, role=edge 920; site=paris". A number is missing if
// all agents have the value.
func labelCounts(labels map[string]map[string]int, agents int) string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		values := labels[key]
		var parts []string
		for _, value := range slices.Sorted(maps.Keys(values)) {
			part := key + "=" + value
			if n := values[value]; n < agents {
				part += " " + output.Thousands(uint64(n))
			}
			parts = append(parts, part)
		}
		keys = append(keys, strings.Join(parts, ", "))
	}
	return strings.Join(keys, "; ")
}
