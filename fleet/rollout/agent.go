package rollout

import "time"

// maxRetries is how often an agent applies a revision by itself, which was committed while it was
// away or cut off.
const maxRetries = 2

// Memory is what an agent remembers of its assignment, over restarts. It is stored before the agent
// acts.
type Memory struct {
	Assignment Assignment `json:"assignment"`
	State      State      `json:"state"`
	Plan       Plan       `json:"plan,omitzero"`
	Reason     string     `json:"reason,omitempty"`
	// Confirmed is the revision that was confirmed last, and Previous the one before.
	Confirmed int64 `json:"confirmed"`
	Previous  int64 `json:"previous"`
	// Retries counts how often the agent applied the revision by itself: one that was committed while it
	// was away or cut off, or the one before.
	Retries int `json:"retries,omitempty"`
	// Quarantined is the last revision with which the agent was Quarantined, until it confirms one.
	Quarantined int64 `json:"quarantined,omitempty"`
}

// Report returns what the agent reports.
func (m Memory) Report() Report {
	return Report{
		Rollout: m.Assignment.Rollout, Attempt: m.Assignment.Attempt, State: m.State,
		Plan: m.Plan, Reason: m.Reason, Confirmed: m.Confirmed, Previous: m.Previous, Quarantined: m.Quarantined,
	}
}

// View is what an agent knows.
type View struct {
	// Connected reports whether the engine has answered since the change was applied. The assignment
	// and the decision are those that were read last.
	Connected  bool
	Assignment Assignment
	// Maintenance: operators do not want that the agent catches up now.
	Maintenance bool
	// Decided is the decision that was read last.
	Decided Decided
	// Waiting reports whether the change of Memory.Assignment waits for its confirmation in the agent,
	// which reverts it by itself after the confirm timeout.
	Waiting bool
	// InEffect reports whether the agent has the revision of Memory.Assignment.
	InEffect bool
	// SinceApplied is how long ago the change was applied.
	SinceApplied time.Duration
	// Health is what the gates say.
	Health Health
}

// Decided is a decision with its wave.
type Decided struct {
	Rollout  string
	Wave     int
	Decision Decision
}

// decision returns the decision for an assignment; empty if it is not known.
func (v View) decision(a Assignment) Decision {
	if v.Decided.Rollout != a.Rollout || v.Decided.Wave != a.Wave {
		return ""
	}
	return v.Decided.Decision
}

// Health is the result of the gates of an agent.
type Health int

// The results of gates.
const (
	Inconclusive Health = iota
	Good                // for at least Soak
	Bad
)

// Action is what an agent does next.
type Action int

// The actions.
const (
	Wait            Action = iota
	MakePlan               // of the revision; see PlanMade
	ApplyPlan              // unconfirmed, with revert on failure; see PlanApplied
	ConfirmChange          // the change; see ChangeConfirmed
	RevertChange           // the change, as decided; see ChangeReverted
	RevertUnhealthy        // revert the change, because the agent is not healthy; see UnhealthyReverted
	RequestAbort           // create the decision ABORT, unless there is one
)

// Next returns what an agent does next, and what it has to remember first. The agent writes
// Memory.Report whenever that changes, unless the state is Assigned.
func Next(m Memory, v View) (Memory, Action) {
	if m.State.waits() {
		return whileWaiting(m, v)
	}
	if v.Assignment != m.Assignment {
		return Memory{
			Assignment: v.Assignment, Confirmed: m.Confirmed, Previous: m.Previous, Quarantined: m.Quarantined, Plan: m.planFor(v.Assignment),
		}, Wait
	}
	switch {
	case m.Assignment.Rollout == "":
		return m, Wait
	case m.State == Assigned && m.Assignment.Task == TaskPlan:
		return m, MakePlan
	case m.catchesUp(v):
		return catchUp(m, v)
	case m.State == Assigned && v.decision(m.Assignment) == Abort:
		return m.ChangeReverted(), Wait
	case m.State == Assigned:
		m.State = Applying
		return m, ApplyPlan
	}
	return m, Wait
}

// Fingerprint is the plan that the agent may apply; empty: any.
func (m Memory) Fingerprint() string {
	if m.Retries > 0 {
		return ""
	}
	return m.Assignment.Fingerprint
}

// Guarded reports whether the agent does not apply a plan that deletes most of its items; see PlanHeld.
func (m Memory) Guarded() bool { return m.Retries > 0 && m.Assignment.Task != TaskRollback }

// planFor returns the plan if it is the one of another assignment, too.
func (m Memory) planFor(a Assignment) Plan {
	if a.Rollout == m.Assignment.Rollout && a.Fingerprint == m.Plan.Fingerprint {
		return m.Plan
	}
	return Plan{}
}

// alone reports whether the agent confirms without a decision.
func (m Memory) alone() bool { return m.Assignment.Task != TaskApply || m.Retries > 0 }

// whileWaiting is Next while a change may wait for its confirmation.
func whileWaiting(m Memory, v View) (Memory, Action) {
	switch {
	case !v.Waiting && v.InEffect:
		return withoutChange(m, v)
	case !v.Waiting:
		m.State, m.Reason = Reverted, "the change was not confirmed in time, or the agent was restarted while it applied it"
		return m, Wait
	case m.State == Applying: // the agent was restarted meanwhile
		m.State = Applied
	}
	decision := v.decision(m.Assignment)
	switch {
	case v.Health == Bad && decision != Commit:
		return m, RevertUnhealthy
	case m.alone():
		return whileAlone(m, v)
	case decision == Commit && v.Connected: // it may have been read before the change was applied, which may cut the agent off
		return m, ConfirmChange
	case decision == Abort:
		return m, RevertChange
	}
	if v.Health == Good {
		m.State = Healthy
	}
	return m, v.actionWithoutDecision(m.Assignment)
}

// actionWithoutDecision returns what an agent does while there is no decision.
func (v View) actionWithoutDecision(a Assignment) Action {
	if v.Connected && v.SinceApplied >= patience(a.ConfirmTimeout) {
		return RequestAbort
	}
	return Wait
}

// withoutChange is Next while the agent has the revision and no change waits: the plan had no changes, or the agent was
// restarted after it confirmed. It follows the decision like the others of its wave.
func withoutChange(m Memory, v View) (Memory, Action) {
	decision := v.decision(m.Assignment)
	switch {
	case m.alone() || decision == Commit:
		return m.ChangeConfirmed(), Wait
	case decision == Abort:
		return m.ChangeReverted(), Wait
	}
	m.State = Healthy
	return m, v.actionWithoutDecision(m.Assignment)
}

// whileAlone confirms a change without a decision: when the agent is healthy and reaches the engine.
func whileAlone(m Memory, v View) (Memory, Action) {
	if v.Health == Good && v.Connected {
		return m, ConfirmChange
	}
	return m, Wait
}

// catchesUp reports whether the agent applies the revision by itself: because it is assigned to, or
// because the revision was committed before the agent applied it or after the agent, cut off from the
// engine, had reverted it.
func (m Memory) catchesUp(v View) bool {
	committed := m.Assignment.Task == TaskApply && v.decision(m.Assignment) == Commit
	switch m.State {
	case Assigned, Stale, Reverted:
		return committed || m.Assignment.Task.byItself()
	case Failed:
		return m.Retries > 0
	}
	return false
}

// catchUp applies a revision by itself, with a confirm timeout of its own, and not for ever.
func catchUp(m Memory, v View) (Memory, Action) {
	switch {
	case m.Retries == maxRetries:
		m.State, m.Quarantined = Quarantined, m.Assignment.Revision // for the reason of the last time
		return m, Wait
	case !v.Connected: // it could not confirm
		return m, Wait
	case v.Maintenance && m.Assignment.Task == TaskCatchUp:
		return m, Wait
	}
	m.Retries++
	m.State, m.Reason = Applying, ""
	return m, ApplyPlan
}

// PlanMade records the result of MakePlan. reason says why the revision cannot be planned.
func (m Memory) PlanMade(p Plan, reason string) Memory {
	m.State, m.Plan, m.Reason = Planned, p, reason
	if reason != "" {
		m.State = Refused
	}
	return m
}

// PlanHeld records that ApplyPlan applied nothing, because the agent is Guarded and the plan deletes
// most of its items. The next rollout plans again, and asks for an approval.
func (m Memory) PlanHeld(reason string) Memory {
	m.State, m.Reason = Held, reason
	return m
}

// PlanApplied records the result of ApplyPlan. stale: the plan has become another one, or cannot be made
// now; reason says why the change was reverted at once. An agent that catches up is Assigned again if
// the plan is stale, and tries again later.
func (m Memory) PlanApplied(stale bool, reason string) Memory {
	m.State, m.Reason = Applied, reason
	switch {
	case stale && m.Retries > 0:
		m.State = Assigned // no controller asks for another plan
		m.Retries--
	case stale:
		m.State = Stale
	case reason != "":
		m.State = Failed
	}
	return m
}

// ChangeConfirmed records that the change was confirmed. It is not called if the confirm timeout was
// faster: Next finds that no change waits.
func (m Memory) ChangeConfirmed() Memory {
	if m.Confirmed != m.Assignment.Revision {
		m.Confirmed, m.Previous = m.Assignment.Revision, m.Confirmed
	}
	m.State, m.Reason, m.Quarantined = Confirmed, "", 0
	return m
}

// ChangeReverted records the result of RevertChange.
func (m Memory) ChangeReverted() Memory {
	m.State, m.Reason = Reverted, "the wave was aborted"
	return m
}

// UnhealthyReverted records the result of RevertUnhealthy; reason says which gate failed.
func (m Memory) UnhealthyReverted(reason string) Memory {
	m.State, m.Reason = Failed, reason
	return m
}

// decisionTime is the part of the confirm timeout in which a controller decides; it counts from the
// begin of the wave.
func decisionTime(confirmTimeout time.Duration) time.Duration { return confirmTimeout * 3 / 4 }

// patience is how long an agent waits for a decision before it requests ABORT: longer than a
// controller, and short enough that there is a decision before the agent reverts alone.
func patience(confirmTimeout time.Duration) time.Duration { return confirmTimeout * 7 / 8 }
