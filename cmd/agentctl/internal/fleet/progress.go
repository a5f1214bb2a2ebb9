package fleet

import (
	"cmp"
	"fmt"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
)

// progress prints what happens in a rollout: the plans, and the decision of each wave.
type progress struct {
	*output.Printer
	// items returns the first items that a revision changes for an agent, and text shortens the keys in a text.
	items func(a store.AgentStatus, revision int64) []string
	text  func(string) string

	classes []class
	planned bool
	asked   bool
	decided int // waves whose decision was printed
	stalled string
}

// printf prints a part of the progress, unless the output is data.
func (p *progress) printf(format string, args ...any) {
	if p.Format == "" {
		_ = p.Printf(format, args...) // the rollout does not depend on it
	}
}

// see prints what is new in a view.
func (p *progress) see(v controller.View) {
	r := v.Rollout.Rollout
	if phase := r.Status.Phase; phase == rollout.PhaseNew || phase == rollout.PhasePlanning {
		return
	}
	if !p.planned {
		p.planned = true
		p.classes = classes(v)
		for i := range p.classes[:min(shownClasses, len(p.classes))] {
			if c := &p.classes[i]; c.changes() {
				c.Items = p.items(v.Agents[c.Agents[0]], r.Spec.Revision)
			}
		}
		p.printf("revision %d for %s:\n%s", r.Spec.Revision, effects.Count(len(members(r)), "agent"), p.describe(p.classes))
	}
	if why := r.Status.Stalled; why != p.stalled {
		if p.stalled = why; why != "" {
			p.printf("wave %d of %d waits: %s\n", r.Status.Wave+1, len(r.Spec.Waves), why)
		}
	}
	for ; p.decided < len(r.Spec.Waves); p.decided++ {
		d, ok := v.Rollout.Decisions[p.decided]
		if !ok {
			return
		}
		p.printf("wave %d of %d, %s: %s\n", p.decided+1, len(r.Spec.Waves), effects.Count(len(taking(r, p.decided)), "agent"),
			strings.TrimSpace(string(d.Decision)+" "+d.Reason))
	}
}

// taking returns the agents of a wave that take part.
func taking(r rollout.Rollout, wave int) []string {
	return slices.DeleteFunc(slices.Clone(r.Spec.Waves[wave]), func(label string) bool { return r.Status.Skipped[label] != "" })
}

// class is a group of agents with the same plan.
type class struct {
	Effects string   `json:"effects,omitempty"`
	Reason  string   `json:"reason,omitempty"` // why these agents cannot have the revision
	Agents  []string `json:"agents"`
	// Waits says what the first agent waits for, and Items are the first items that the revision changes for it.
	Waits string   `json:"waits,omitempty"`
	Items []string `json:"items,omitempty"`
}

// changes reports whether the agents would change something.
func (c *class) changes() bool { return c.Reason == "" && !strings.HasPrefix(c.Effects, noChanges) }

// noChanges is the begin of the effects of a plan that changes nothing.
const noChanges = "no changes"

// classes groups the agents of a rollout by their plans, the largest group first; agents that cannot
// have the revision, or did not answer, come last.
func classes(v controller.View) (list []class) {
	groups := map[classKey]*class{}
	for _, label := range members(v.Rollout.Rollout) {
		key := classOf(v, label)
		if groups[key] == nil {
			_, waits, _ := strings.Cut(v.Agents[label].Report.Plan.Effects, ": ")
			groups[key] = &class{Effects: key.effects, Reason: key.reason, Waits: waits}
		}
		groups[key].Agents = append(groups[key].Agents, label)
	}
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b classKey) int {
		return cmp.Or(cmp.Compare(min(1, len(a.reason)), min(1, len(b.reason))), cmp.Compare(len(groups[b].Agents), len(groups[a].Agents)),
			cmp.Compare(a.reason, b.reason), cmp.Compare(a.effects, b.effects))
	}) {
		list = append(list, *groups[key])
	}
	return list
}

// classOf returns what identifies the class of an agent.
func classOf(v controller.View, label string) classKey {
	r, report := v.Rollout.Rollout, v.Agents[label].Report
	what, _, _ := strings.Cut(report.Plan.Effects, ": ")
	switch {
	case r.Status.Skipped[label] != "":
		return classKey{"", r.Status.Skipped[label]}
	case v.Agents[label].Running == nil:
		return classKey{"", "does not run"}
	case report.Rollout != r.Metadata.Name:
		return classKey{"", "has not answered"}
	case report.State == rollout.Refused:
		return classKey{"", report.Reason}
	case report.Plan.Overridden > 0:
		what += fmt.Sprintf(" (%s overridden by another source of the agent)", effects.Count(report.Plan.Overridden, "item"))
	}
	return classKey{what, ""}
}

// classKey identifies a class.
type classKey struct{ effects, reason string }

// shownAgents is how many agents of a class are named.
const shownAgents = 5

// shownClasses is how many classes are described: those that can have the revision, and as many that cannot.
const shownClasses = 8

// describe returns the classes as text, with short keys.
func (p *progress) describe(list []class) string {
	var b strings.Builder
	shown := map[bool]int{}
	more, agents := 0, 0
	for i := range list {
		c := &list[i]
		if shown[c.Reason != ""]++; shown[c.Reason != ""] > shownClasses {
			more, agents = more+1, agents+len(c.Agents)
			continue
		}
		names := strings.Join(c.Agents[:min(shownAgents, len(c.Agents))], " ")
		if rest := len(c.Agents) - shownAgents; rest > 0 {
			names += fmt.Sprintf(" and %d more", rest)
		}
		what := c.Effects
		if c.Reason != "" {
			what = "cannot: " + c.Reason
		}
		fmt.Fprintf(&b, "%5d %s: %s (%s)\n", len(c.Agents), plural(len(c.Agents), "agent"), p.text(what), names)
		if len(c.Items) > 0 {
			fmt.Fprintf(&b, "        %s: %s\n", c.Agents[0], strings.Join(c.Items, ", "))
		}
		if c.Waits != "" && c.Reason == "" {
			fmt.Fprintf(&b, "        %s: %s\n", c.Agents[0], p.text(c.Waits))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "%5d %s: %d other plans; 'agentctl fleet show' has all\n", agents, plural(agents, "agent"), more)
	}
	return b.String()
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
