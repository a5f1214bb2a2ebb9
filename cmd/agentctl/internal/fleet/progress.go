package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
)

// progress prints what happens in a rollout: the plans, and the decision of each wave.
type progress struct {
	*output.Printer
	planned bool
	asked   bool
	decided int // waves whose decision was printed
	stalled string
}

// see prints what is new in a view.
func (p *progress) see(v controller.View) {
	r := v.Rollout.Rollout
	if phase := r.Status.Phase; phase == rollout.PhaseNew || phase == rollout.PhasePlanning {
		return
	}
	if !p.planned {
		p.planned = true
		_ = p.Printf("revision %d for %s:\n%s", r.Spec.Revision, counted(len(members(r)), "agent"), describe(classes(v)))
	}
	if why := r.Status.Stalled; why != p.stalled {
		if p.stalled = why; why != "" {
			_ = p.Printf("wave %d of %d waits: %s\n", r.Status.Wave+1, len(r.Spec.Waves), why)
		}
	}
	for ; p.decided < len(r.Spec.Waves); p.decided++ {
		d, ok := v.Rollout.Decisions[p.decided]
		if !ok {
			return
		}
		_ = p.Printf("wave %d of %d, %s: %s\n", p.decided+1, len(r.Spec.Waves), counted(len(taking(r, p.decided)), "agent"),
			strings.TrimSpace(string(d.Decision)+" "+d.Reason))
	}
}

// taking returns the agents of a wave that take part.
func taking(r rollout.Rollout, wave int) []string {
	return slices.DeleteFunc(slices.Clone(r.Spec.Waves[wave]), func(label string) bool { return r.Status.Skipped[label] != "" })
}

// class is a group of agents with the same plan.
type class struct {
	Effects string   `json:"effects"`
	Reason  string   `json:"reason,omitempty"` // why these agents cannot have the revision
	Agents  []string `json:"agents"`
}

// classes groups the agents of a rollout by their plans, the largest group first; agents that cannot
// have the revision, or did not answer, come last.
func classes(v controller.View) (list []class) {
	r := v.Rollout.Rollout
	groups := map[classKey]*class{}
	for _, label := range members(r) {
		report := v.Agents[label].Report
		key := classKey{report.Plan.Effects, ""}
		switch {
		case r.Status.Skipped[label] != "":
			key = classKey{"", r.Status.Skipped[label]}
		case v.Agents[label].Running == nil:
			key = classKey{"", "does not run"}
		case report.Rollout != r.Metadata.Name:
			key = classKey{"", "has not answered"}
		case report.State == rollout.Refused:
			key = classKey{"", report.Reason}
		case report.Plan.Overridden > 0:
			key.effects += fmt.Sprintf(" (%s overridden by another source of the agent)", counted(report.Plan.Overridden, "item"))
		}
		if groups[key] == nil {
			groups[key] = &class{Effects: key.effects, Reason: key.reason}
		}
		groups[key].Agents = append(groups[key].Agents, label)
	}
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b classKey) int {
		return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(len(groups[b].Agents), len(groups[a].Agents)), cmp.Compare(a.effects, b.effects))
	}) {
		list = append(list, *groups[key])
	}
	return list
}

// classKey identifies a class.
type classKey struct{ effects, reason string }

// shownAgents is how many agents of a class are named.
const shownAgents = 5

// describe returns the classes as text.
func describe(list []class) string {
	var b strings.Builder
	for _, c := range list {
		names := strings.Join(c.Agents[:min(shownAgents, len(c.Agents))], " ")
		if more := len(c.Agents) - shownAgents; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		what := c.Effects
		if c.Reason != "" {
			what = "cannot: " + c.Reason
		}
		fmt.Fprintf(&b, "%5d %s: %s (%s)\n", len(c.Agents), plural(len(c.Agents), "agent"), what, names)
	}
	return b.String()
}

func counted(n int, noun string) string { return fmt.Sprintf("%d %s", n, plural(n, noun)) }

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
