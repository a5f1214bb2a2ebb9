// Package rollout is the protocol by which the agents of a fleet move to a revision: who writes
// what into the engine (etcd, or the API server of Kubernetes), and what follows from it. It does
// no input or output itself. Step is the side of the controller, Next the side of an agent.
//
// A rollout plans the revision on every agent, and then applies it in waves. In a wave each agent
// applies the plan that it reported, without confirming it, and reports whether it is healthy. Then
// there is one decision, COMMIT or ABORT, which is created at most once and never changes. Agents
// read the decision themselves: they confirm or revert their change. Without a decision each agent
// reverts after its confirm timeout, also over a restart. So neither a controller that dies nor two
// controllers at once do any harm.
//
// Only durations on the clock of an agent or a controller count; clocks are never compared.
package rollout

import (
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/fleet"
)

// Rollout moves agents from their revision to another one. Operators write Spec, and controllers
// Status.
type Rollout struct {
	Metadata fleet.Metadata `json:"metadata"`
	Spec     Spec           `json:"spec"`
	Status   Status         `json:"status"`
}

// Spec is what a rollout does.
type Spec struct {
	// Revision is the revision that the agents get; 0 is the empty configuration.
	Revision int64 `json:"revision"`
	// Waves are the agents of each wave. An agent is in at most one.
	Waves [][]string `json:"waves"`
	// Later are agents in maintenance: they catch up when the rollout has succeeded and their maintenance
	// has ended.
	Later []string `json:"later,omitempty"`
	// PlanOnly ends the rollout when the agents have planned the revision.
	PlanOnly bool `json:"planOnly,omitempty"`
	// Approval: an operator has to approve the plans before the first wave.
	Approval bool `json:"approval,omitempty"`
	// Approved is the approval.
	Approved bool `json:"approved,omitempty"`
	// Atomic says which agents change together.
	Atomic Atomic `json:"atomic,omitempty"`
	// MaxFailures is how many agents of a wave may fail without ABORT. They keep the revision that
	// they had.
	MaxFailures int `json:"maxFailures,omitempty"`
	// MaxUnavailable is how many agents of the rollout may be unavailable when another one begins to apply the
	// revision: agents that do not run, that report trouble, or that are applying it; 0: any number. Agents
	// that go back are not limited.
	MaxUnavailable int `json:"maxUnavailable,omitempty"`
	// ConfirmTimeout is how long an agent waits for the decision, from the moment when it has applied
	// the revision, before it reverts. It includes Soak.
	ConfirmTimeout time.Duration `json:"confirmTimeout"`
	// Soak is how long an agent has to be healthy before it says so.
	Soak time.Duration `json:"soak,omitempty"`
	// Offline says what becomes of agents that do not run.
	Offline Offline `json:"offline,omitempty"`
	// Deadline is how long the plans of all agents may take.
	Deadline time.Duration `json:"deadline"`
	// RevertCommitted gives agents of earlier waves the revision that they had before if a wave is
	// aborted.
	RevertCommitted bool `json:"revertCommitted,omitempty"`
	// Paused begins no wave. A wave that has begun continues to its decision.
	Paused bool `json:"paused,omitempty"`
	// Abort ends the rollout: a wave without a decision is aborted, and no other begins.
	Abort bool `json:"abort,omitempty"`
}

// Atomic says which agents change together.
type Atomic string

// The values of Atomic.
const (
	AtomicWave  Atomic = ""      // all agents of a wave, except MaxFailures
	AtomicAgent Atomic = "agent" // each alone: an agent that is healthy confirms its change without a decision
)

// Offline says what becomes of agents that do not run while a rollout plans.
type Offline string

// The values of Offline.
const (
	OfflineSkip Offline = ""     // they are left out, and catch up when they run again
	OfflineFail Offline = "fail" // the rollout fails
)

// Phase is where a rollout is.
type Phase string

// The phases of a rollout.
const (
	PhaseNew       Phase = ""
	PhasePlanning  Phase = "Planning"         // the agents plan the revision
	PhaseApproval  Phase = "AwaitingApproval" // of the plans
	PhaseApplying  Phase = "Applying"         // a wave
	PhaseReverting Phase = "Reverting"        // agents of earlier waves go back
	PhasePlanned   Phase = "Planned"          // the end with PlanOnly
	PhaseSucceeded Phase = "Succeeded"
	PhaseFailed    Phase = "Failed"
)

// Ended reports whether the rollout has ended.
func (p Phase) Ended() bool { return p == PhasePlanned || p == PhaseSucceeded || p == PhaseFailed }

// Status is how far a rollout is.
type Status struct {
	Phase Phase `json:"phase,omitempty"`
	// Wave is the index of the running wave.
	Wave int `json:"wave"`
	// Since is when the phase or wave began, on the clock of a controller.
	Since time.Time `json:"since,omitzero"`
	// Skipped are the agents that the rollout continues without, with the reasons.
	Skipped map[string]string `json:"skipped,omitempty"`
	// Stalled says why no agent can begin at the moment.
	Stalled string `json:"stalled,omitempty"`
	// Reason says why the rollout failed.
	Reason string `json:"reason,omitempty"`
}

// Assignment is what an agent is to do. Controllers write it; each agent has one.
type Assignment struct {
	Rollout  string `json:"rollout"`
	Wave     int    `json:"wave"`
	Revision int64  `json:"revision"`
	// Attempt counts the assignments of a rollout to the agent. Invariant: it only grows, so that a
	// report says which assignment it answers.
	Attempt int `json:"attempt"`
	// Task is what is to be done.
	Task Task `json:"task"`
	// Fingerprint is the plan that may be applied; empty: any.
	Fingerprint    string        `json:"fingerprint,omitempty"`
	ConfirmTimeout time.Duration `json:"confirmTimeout,omitempty"`
	Soak           time.Duration `json:"soak,omitempty"`
}

// Task is what an agent is to do with a revision.
type Task string

// The tasks.
const (
	// TaskPlan: report the plan.
	TaskPlan Task = "Plan"
	// TaskApply: apply the plan, report, and follow the decision of the wave.
	TaskApply Task = "Apply"
	// TaskApplyAlone: apply the plan, and confirm it when healthy.
	TaskApplyAlone Task = "ApplyAlone"
	// TaskCatchUp: apply the revision, which was committed while the agent was away, by any plan, and
	// confirm it when healthy; after repeated failures the agent is Quarantined.
	TaskCatchUp Task = "CatchUp"
	// TaskRollback is TaskCatchUp with the revision before.
	TaskRollback Task = "Rollback"
)

// byItself reports whether the agent does the task without a controller, and tries it again.
func (t Task) byItself() bool { return t == TaskCatchUp || t == TaskRollback }

// CommitID identifies the change that an assignment makes in the agent.
func (a Assignment) CommitID() string {
	return fmt.Sprintf("%s/%d/%d", a.Rollout, a.Wave, a.Attempt)
}

// Decision is the end of a wave.
type Decision string

// The decisions; empty: there is none yet.
const (
	Commit Decision = "COMMIT"
	Abort  Decision = "ABORT"
)

// WaveDecision is the decision of a wave, as it is stored.
type WaveDecision struct {
	Decision Decision `json:"decision"`
	// By is the label of the agent, or the name of the controller, that created the decision.
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// Report is what an agent answers to its assignment. Only the agent writes it.
type Report struct {
	Rollout string `json:"rollout"`
	Attempt int    `json:"attempt"`
	State   State  `json:"state"`
	// Plan is the plan of the agent.
	Plan   Plan   `json:"plan,omitzero"`
	Reason string `json:"reason,omitempty"`
	// Confirmed is the revision that the agent has confirmed last; 0: none. Previous is the one before.
	Confirmed int64 `json:"confirmed"`
	Previous  int64 `json:"previous"`
	// Quarantined is the last revision with which the agent was Quarantined, until it confirms one.
	Quarantined int64 `json:"quarantined,omitempty"`
}

// Plan is what an agent would do to have a revision.
type Plan struct {
	// Fingerprint identifies the plan.
	Fingerprint string `json:"fingerprint"`
	// Effects counts the items: "5 to create, 1 waiting".
	Effects string `json:"effects"`
	// Overridden counts the items that have no effect, because another source of the agent has them.
	Overridden int `json:"overridden,omitempty"`
}

// State is how far an agent is with its assignment.
type State string

// The states of an agent. Those from Confirmed on are final for an assignment.
const (
	Assigned    State = ""
	Planned     State = "Planned"
	Stale       State = "Stale"       // the plan changed meanwhile; nothing was applied
	Applying    State = "Applying"    // may have been applied
	Applied     State = "Applied"     // not known to be healthy yet
	Healthy     State = "Healthy"     // waits for the decision
	Confirmed   State = "Confirmed"   // the revision stays
	Refused     State = "Refused"     // the revision cannot be planned
	Failed      State = "Failed"      // was reverted, because a value failed or the agent was not healthy
	Reverted    State = "Reverted"    // was reverted, by the decision or the confirm timeout
	Quarantined State = "Quarantined" // failed or cut the agent off repeatedly; it keeps the revision before
	Held        State = "Held"        // would delete most of its items, by a plan that was not approved
)

// Unsuccessful reports whether the agent does not have the revision and will not get it by this assignment.
func (s State) Unsuccessful() bool {
	return s == Failed || s == Reverted || s.givenUp()
}

// final reports whether the agent has the revision, or failed; one that was Reverted may apply it again.
func (s State) final() bool { return s == Confirmed || s == Failed || s.givenUp() }

// givenUp reports whether the agent does not try the task again.
func (s State) givenUp() bool { return s == Refused || s == Quarantined || s == Held }

// waits reports whether the change of the assignment waits for its confirmation.
func (s State) waits() bool { return s == Applying || s == Applied || s == Healthy }
