package fleet

import (
	"cmp"
	"context"
	"fmt"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
)

// network is what the store has of a fleet.
type network struct {
	agents   map[string]store.AgentStatus
	rollouts store.Rollouts
	newest   []string                    // rollouts, the newest first
	targets  map[string]target           // the revision that each agent should have
	open     map[string]*target          // the rollout that has not ended and that each agent is in
	leaders  map[string]store.Controller // of the rollouts that have not ended
	text     func(string) string
}

// target is the revision that an agent should have, or is going to have.
type target struct {
	Revision int64  `json:"revision"`
	Rollout  string `json:"rollout,omitempty"`
	Wave     int    `json:"wave,omitempty"` // from 0
	skipped  string // why the rollout left the agent out
}

// readNetwork reads a fleet. Texts of agents have short keys.
func (e *engine) readNetwork(ctx context.Context, s store.Store) (*network, error) {
	rollouts, err := s.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	agents, err := s.Agents(ctx)
	if err != nil {
		return nil, err
	}
	n := &network{agents: agents, rollouts: rollouts, targets: map[string]target{}, open: map[string]*target{}, text: e.Models.ShortText}
	n.newest = newestFirst(rollouts)
	for label, a := range agents {
		if task := a.Assignment.Task; task == rollout.TaskCatchUp || task == rollout.TaskRollback {
			n.targets[label] = target{Revision: a.Assignment.Revision, Rollout: a.Assignment.Rollout, Wave: a.Assignment.Wave}
		}
	}
	for _, name := range n.newest {
		n.addTargets(rollouts[name])
	}
	return n, n.readLeaders(ctx, s)
}

// readLeaders reads which controllers execute rollouts.
func (n *network) readLeaders(ctx context.Context, s store.Store) error {
	n.leaders = map[string]store.Controller{}
	for name, r := range n.rollouts {
		if r.Rollout.Status.Phase.Ended() {
			continue
		}
		c, ok, err := s.Leader(ctx, name)
		if err != nil {
			return err
		}
		if ok {
			n.leaders[name] = c
		}
	}
	return nil
}

// begun returns when a rollout was created, or for one that does not say so, when its phase began.
func begun(r store.RolloutStatus) time.Time {
	if r.Rollout.Metadata.Created.IsZero() {
		return r.Rollout.Status.Since
	}
	return r.Rollout.Metadata.Created
}

// newestFirst sorts the names of rollouts.
func newestFirst(all store.Rollouts) []string {
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(begun(all[b]).Compare(begun(all[a])), cmp.Compare(all[b].Rollout.Spec.Revision, all[a].Rollout.Spec.Revision), strings.Compare(b, a))
	})
}

// addTargets adds what a rollout means for its agents, unless a newer one does.
func (n *network) addTargets(r store.RolloutStatus) {
	spec, status := r.Rollout.Spec, r.Rollout.Status
	if spec.PlanOnly {
		return
	}
	for wave, labels := range spec.Waves {
		for _, label := range labels {
			t := target{Revision: spec.Revision, Rollout: r.Rollout.Metadata.Name, Wave: wave, skipped: status.Skipped[label]}
			if !status.Phase.Ended() && n.open[label] == nil {
				n.open[label] = &t
			}
			if _, known := n.targets[label]; !known && decidedFor(r, wave) {
				n.targets[label] = t
			}
		}
	}
}

// decidedFor reports whether the agents of a wave should have the revision of the rollout.
func decidedFor(r store.RolloutStatus, wave int) bool {
	switch spec, status := r.Rollout.Spec, r.Rollout.Status; {
	case status.Phase == rollout.PhaseSucceeded:
		return true
	case status.Phase == rollout.PhaseReverting, status.Phase == rollout.PhaseFailed && spec.RevertCommitted:
		return false
	case spec.Atomic == rollout.AtomicAgent:
		return status.Phase != rollout.PhaseNew && wave < status.Wave
	default:
		return r.Decisions[wave].Decision == rollout.Commit
	}
}

// kind is a kind of condition.
type kind string

// The kinds of conditions, the most urgent first.
const (
	kindNotConnected kind = "notConnected"
	kindNotFollowed  kind = "notFollowed"
	kindTwice        kind = "labelTwice"
	kindQuarantined  kind = "quarantined"
	kindHeld         kind = "held"
	kindBehind       kind = "behind"
	kindTrouble      kind = "itemsNotInEffect"
	kindDrift        kind = "drift"
)

// kinds are all kinds in the order in which they are shown.
func kinds() []kind {
	return []kind{kindNotConnected, kindNotFollowed, kindTwice, kindQuarantined, kindHeld, kindBehind, kindTrouble, kindDrift}
}

// words says what is wrong with an agent, and with several.
func (k kind) words() (one, several string) {
	switch k {
	case kindNotConnected:
		return "is not connected", "are not connected"
	case kindNotFollowed:
		return "does not follow this etcd", "do not follow this etcd"
	case kindTwice:
		return "exists twice", "exist twice"
	case kindQuarantined:
		return "is quarantined", "are quarantined"
	case kindHeld:
		return "holds its change back", "hold their changes back"
	case kindBehind:
		return "does not have its revision", "do not have their revisions"
	case kindTrouble:
		return "has items that are not in effect", "have items that are not in effect"
	default:
		return "has drifted", "have drifted"
	}
}

// condition is something wrong with an agent.
type condition struct {
	Kind   kind      `json:"kind"`
	Since  time.Time `json:"since,omitzero"`
	Last   time.Time `json:"lastReport,omitzero"` // of an agent that is not connected, if it is not known since when
	Reason string    `json:"reason,omitempty"`
	Do     string    `json:"do,omitempty"` // what to do about it; %s is the agent
}

// conditions returns what is wrong with an agent, the most urgent first. An agent in maintenance need not run.
func (n *network) conditions(label string) (list []condition) {
	a := n.agents[label]
	add := func(k kind, since time.Time, reason, do string) {
		list = append(list, condition{Kind: k, Since: since, Reason: n.text(reason), Do: do})
	}
	switch {
	case a.Running == nil && !a.Spec.Spec.Maintenance:
		add(kindNotConnected, a.Status.Stopped, absence(a), "start it, or if it is to be left out: agentctl fleet maintenance %s on")
		if a.Status.Stopped.IsZero() {
			list[0].Last = a.Status.Reported
		}
	case a.Status.NotFollowed != "":
		add(kindNotFollowed, a.Status.Reported, a.Status.NotFollowed, "agentctl fleet trust")
	}
	if a.Rival != nil {
		add(kindTwice, time.Time{}, "a second agent with this label, on host "+a.Rival.Host+", does nothing", "stop it, or start it with another --microservice-label")
	}
	switch {
	case a.Report.State == rollout.Quarantined:
		add(kindQuarantined, a.Status.Since, fmt.Sprintf("it did not keep revision %d of rollout %s, repeatedly: %s",
			a.Assignment.Revision, a.Report.Rollout, a.Report.Reason), "agentctl fleet why %s")
	case a.Report.State == rollout.Held:
		add(kindHeld, a.Status.Since, fmt.Sprintf("revision %d of rollout %s %s", a.Assignment.Revision, a.Report.Rollout, a.Report.Reason), "agentctl fleet why %s")
	case n.behind(label):
		add(kindBehind, a.Status.Since, lag(a, n.targets[label]), "agentctl fleet why %s")
	}
	if a.Status.Trouble.Count > 0 {
		add(kindTrouble, a.Status.Trouble.Since, findings(a.Status.Trouble), "agentctl --target %s values --state FAILED,RETRYING,INVALID,MISSING")
	}
	if d := a.Status.Drift; d != nil && d.Count > 0 {
		add(kindDrift, d.Since, findings(*d), "agentctl --target %s drift --repair")
	}
	return list
}

// behind reports whether an agent does not have the revision that it should have, and is not about to get it.
func (n *network) behind(label string) bool {
	t, has := n.targets[label]
	confirmed, open := n.agents[label].Report.Confirmed, n.open[label]
	if !has || t.Revision == confirmed || n.later(label) {
		return false
	}
	return open == nil || open.Rollout != t.Rollout && open.Revision != confirmed
}

// later reports whether an agent gets its revision by itself when it runs again, or when its maintenance ends.
func (n *network) later(label string) bool {
	a := n.agents[label]
	answered := a.Report.Rollout == a.Assignment.Rollout && a.Report.Attempt == a.Assignment.Attempt
	return a.Assignment.Task == rollout.TaskCatchUp && (a.Running == nil || a.Spec.Spec.Maintenance) && !(answered && a.Report.State.Unsuccessful())
}

// absence says what is known of an agent that is not connected.
func absence(a store.AgentStatus) string {
	switch {
	case !a.Status.Stopped.IsZero():
		return "it was stopped"
	case a.Report.Rollout != "" || !a.Status.Started.IsZero():
		return "it crashed, or is cut off from etcd"
	}
	return "it has never been connected"
}

// lag says why an agent does not have the revision that it should have.
func lag(a store.AgentStatus, t target) string {
	text := fmt.Sprintf("it has revision %d instead of %d", a.Report.Confirmed, t.Revision)
	switch {
	case a.Assignment.Task == rollout.TaskCatchUp && !a.Report.State.Unsuccessful():
		return text + ", and catches up"
	case t.skipped != "":
		return fmt.Sprintf("%s: rollout %s left it out: it %s", text, t.Rollout, t.skipped)
	case a.Report.Rollout != t.Rollout && a.Assignment.Rollout == t.Rollout:
		return fmt.Sprintf("%s: it has not answered rollout %s", text, t.Rollout)
	case a.Report.Rollout == t.Rollout:
		return fmt.Sprintf("%s: %s in rollout %s%s", text, a.Report.State, t.Rollout, after(": ", a.Report.Reason))
	}
	return text
}

// after returns text after a separator; empty without a text.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// findings describes items: the first ones, and how many there are.
func findings(f store.Findings) string {
	const shown = 2
	var parts []string
	for _, it := range f.First[:min(shown, len(f.First))] {
		parts = append(parts, strings.TrimSpace(it.Key+" "+describeState(it.State)+after(": ", it.Reason)))
	}
	if more := f.Count - len(parts); more > 0 {
		parts = append(parts, effects.Count(more, "more item"))
	}
	return strings.Join(parts, "; ")
}

// describeState returns the state of a value, or the kind of drift, as a predicate.
func describeState(state string) string {
	switch state {
	case "differs":
		return "differs"
	case "unexpected":
		return "is not configured and exists"
	}
	return "is " + state
}
