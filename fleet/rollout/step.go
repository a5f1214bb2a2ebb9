package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// maxReplans is how often an agent plans again because its plan became stale. Each time takes two
// assignments.
const maxReplans = 3

// World is what a controller has read of a rollout.
type World struct {
	Rollout Rollout
	// Agents are the agents of the waves, and those that are to catch up later.
	Agents map[string]Agent
	// Decisions are the decisions of waves, by index.
	Decisions map[int]WaveDecision
}

// Agent is an agent as a controller sees it.
type Agent struct {
	Running     bool // holds its label
	Trouble     bool // reports items in trouble
	Maintenance bool // does not catch up at the moment
	Assignment  Assignment
	Report      Report
	// Busy is the name of another rollout that has not ended and that the agent is assigned to;
	// empty: none.
	Busy string
}

// answer returns the state that the agent reports for its assignment to a rollout; Assigned if it
// has not answered the latest one yet.
func (a Agent) answer(rollout string) State {
	if a.Assignment.Rollout != rollout || a.Report.Rollout != rollout || a.Report.Attempt != a.Assignment.Attempt {
		return Assigned
	}
	return a.Report.State
}

// staleTooOften reports whether the plan of the agent has become stale too often.
func (a Agent) staleTooOften(answer State) bool {
	return answer == Stale && a.Assignment.Attempt >= 2+2*maxReplans
}

// pending reports whether the agent still has to do by itself what it is assigned to.
func (a Agent) pending() bool {
	answer := a.answer(a.Assignment.Rollout)
	return a.Assignment.Task.byItself() && answer != Confirmed && !answer.givenUp()
}

// Write is a change of the engine. It is done only if what it replaces is still as it was read. A
// decision is created only if there is none.
type Write struct {
	Status     *Status     // of the rollout
	Agent      string      // that gets Assignment
	Assignment *Assignment // of the agent
	Decision   Decision    // of the wave Wave, for Reason
	Wave       int
	Reason     string
}

// Step returns what a controller writes next; nothing if it has to wait. It can be called at any
// time, by any number of controllers: whatever part of the writes is done, the next Step continues.
// now is the time of the controller.
func Step(w World, now time.Time) []Write {
	s := &step{World: w, now: now, status: w.Rollout.Status}
	switch s.status.Phase {
	case PhaseNew:
		s.enter(PhasePlanning)
	case PhasePlanning:
		s.plan()
	case PhaseApproval:
		s.awaitApproval()
	case PhaseApplying:
		s.wave()
	case PhaseReverting:
		s.revert()
	}
	return s.writes
}

// step collects the writes of one Step.
type step struct {
	World

	now    time.Time
	status Status
	writes []Write
	full   bool // MaxUnavailable has prevented a write
}

func (s *step) spec() Spec { return s.Rollout.Spec }

func (s *step) name() string { return s.Rollout.Metadata.Name }

// members returns the agents of a wave, without those that were skipped.
func (s *step) members(wave int) (labels []string) {
	for _, label := range s.spec().Waves[wave] {
		if _, skipped := s.status.Skipped[label]; !skipped {
			labels = append(labels, label)
		}
	}
	return labels
}

// all returns the members of all waves.
func (s *step) all() (labels []string) {
	for i := range s.spec().Waves {
		labels = append(labels, s.members(i)...)
	}
	return labels
}

// enter begins a phase.
func (s *step) enter(p Phase) {
	s.status.Phase, s.status.Since, s.status.Stalled = p, s.now, ""
	s.writes = append(s.writes, Write{Status: &s.status})
}

// fail ends the rollout after some waves.
func (s *step) fail(reason string, waves int) {
	s.status.Reason = reason
	s.finish(PhaseFailed, waves)
}

// finish ends the rollout after some waves. Agents of committed waves that were away are assigned to
// catch up first.
func (s *step) finish(p Phase, waves int) {
	s.full = false // of a wave that does not continue
	for wave, labels := range s.spec().Waves[:waves] {
		if s.spec().Atomic == AtomicAgent || s.Decisions[wave].Decision == Commit {
			s.catchUp(wave, labels)
		}
	}
	if p == PhaseSucceeded {
		s.catchUp(len(s.spec().Waves)-1, s.spec().Later)
	}
	switch {
	case len(s.writes) > 0:
	case s.full:
		s.stall()
	default:
		s.enter(p)
	}
}

// notCaughtUp is why an agent does not have a revision that was committed.
const notCaughtUp = "could not catch up before the rollout was aborted: too many agents were unavailable"

// catchUp assigns to agents that they catch up with the revision. Those that are assigned to apply it
// follow the decision of the wave, and those on which it failed do not get it.
func (s *step) catchUp(wave int, labels []string) {
	for _, label := range labels {
		a := s.Agents[label]
		answer := a.answer(s.name())
		switch {
		case a.Busy != "":
		case a.Assignment.Rollout == s.name() && (a.Assignment.Task == TaskApply || a.Assignment.Task.byItself()):
		case answer.final():
		case a.Running && !a.Maintenance && !s.mayBegin(label):
			if s.spec().Abort {
				s.full = false
				s.skip(map[string]string{label: notCaughtUp})
			}
		default:
			s.assign(label, Assignment{
				Wave: wave, Revision: s.spec().Revision, Task: TaskCatchUp, ConfirmTimeout: s.spec().ConfirmTimeout, Soak: s.spec().Soak,
			})
		}
	}
}

// assign gives an agent its next task.
func (s *step) assign(label string, a Assignment) {
	before := s.Agents[label].Assignment
	a.Rollout = s.name()
	if before.Rollout == a.Rollout {
		a.Attempt = before.Attempt + 1
	}
	s.writes = append(s.writes, Write{Agent: label, Assignment: &a})
}

// overdue reports whether the phase or wave has lasted too long.
func (s *step) overdue(limit time.Duration) bool { return s.now.Sub(s.status.Since) >= limit }

// plan has all agents plan the revision.
func (s *step) plan() {
	if s.spec().Abort {
		s.fail("was aborted", 0)
		return
	}
	refused, missing := s.plans()
	if len(s.writes) > 0 || len(missing) > 0 && !s.overdue(s.spec().Deadline) {
		return
	}
	switch {
	case len(refused) > 0:
		s.fail("agents cannot have the revision: "+first(refused), 0)
	case len(missing) > 0 && s.spec().Offline == OfflineFail:
		s.fail("agents did not plan the revision: "+first(reasons(missing)), 0)
	default:
		s.skip(missing)
		if len(s.all()) == 0 {
			s.fail("no agent planned the revision: "+first(reasons(missing)), 0)
			return
		}
		if s.spec().PlanOnly {
			s.enter(PhasePlanned)
			return
		}
		s.enter(PhaseApproval)
	}
}

// plans assigns the planning, and returns the agents that refuse the revision, with the reason, and
// those that have not answered.
func (s *step) plans() (refused []string, missing map[string]string) {
	missing = map[string]string{}
	for _, label := range s.all() {
		a := s.Agents[label]
		answer := a.answer(s.name())
		switch {
		case a.Busy != "":
			missing[label] = "is in rollout " + a.Busy
		case a.Assignment.Rollout != s.name() && a.Running && a.pending():
			missing[label] = fmt.Sprintf("has not caught up with rollout %s yet", a.Assignment.Rollout)
		case a.Assignment.Rollout != s.name() && a.Running:
			s.assign(label, Assignment{Revision: s.spec().Revision, Task: TaskPlan})
		case answer == Refused:
			refused = append(refused, fmt.Sprintf("%s: %s", label, a.Report.Reason))
		case !a.Running:
			missing[label] = "does not run"
		case answer == Assigned:
			missing[label] = "has not planned the revision in time"
		}
	}
	return refused, missing
}

// skip continues without agents.
func (s *step) skip(missing map[string]string) {
	skipped := map[string]string{}
	for label, why := range s.status.Skipped {
		skipped[label] = why
	}
	for label, why := range missing {
		skipped[label] = why
	}
	if len(skipped) > 0 {
		s.status.Skipped = skipped
	}
}

func (s *step) awaitApproval() {
	switch {
	case s.spec().Abort:
		s.fail("was aborted", 0)
	case s.spec().Paused:
	case !s.spec().Approval || s.spec().Approved:
		s.status.Wave = 0
		s.enter(PhaseApplying)
	}
}

// wave applies the revision on the agents of a wave, decides, and waits until they have followed
// the decision.
func (s *step) wave() {
	switch s.Decisions[s.status.Wave].Decision {
	case Commit:
		s.afterCommit()
		return
	case Abort:
		s.afterAbort()
		return
	}
	if s.spec().Atomic == AtomicAgent {
		s.waveAlone()
		return
	}
	failed, healthy, open := s.progress()
	members := len(s.members(s.status.Wave))
	switch {
	case s.spec().Abort, len(failed) > s.spec().MaxFailures:
		s.decide(Abort, s.reason(failed))
	case len(failed)+len(healthy) == members:
		s.decide(Commit, "")
	case s.overdue(decisionTime(s.spec().ConfirmTimeout)) && !s.begun():
		s.beginLate()
	case s.overdue(decisionTime(s.spec().ConfirmTimeout)):
		if len(failed)+open > s.spec().MaxFailures {
			s.decide(Abort, s.reason(failed))
		} else {
			s.decide(Commit, "")
		}
	default:
		s.begin()
	}
}

// progress counts the agents of the wave by what they have reported. An agent that catches up already is none of them: the
// wave continued without it, and the end of the rollout has begun.
func (s *step) progress() (failed, healthy []string, open int) {
	for _, label := range s.members(s.status.Wave) {
		a := s.Agents[label]
		switch state := a.answer(s.name()); {
		case a.Assignment.Rollout == s.name() && a.Assignment.Task == TaskCatchUp:
		case a.Assignment.Task == TaskPlan && state != Refused:
			open++
		case state == Healthy || state == Confirmed:
			healthy = append(healthy, label)
		case state.Unsuccessful(), a.staleTooOften(state):
			failed = append(failed, label)
		default:
			open++
		}
	}
	return failed, healthy, open
}

// begun reports whether an agent of the wave may have begun to apply the revision.
func (s *step) begun() bool {
	return slices.ContainsFunc(s.members(s.status.Wave), func(label string) bool {
		a := s.Agents[label].Assignment
		return a.Rollout == s.name() && a.Task != TaskPlan
	})
}

// begin gives the agents of the wave their tasks.
func (s *step) begin() {
	task := TaskApply
	if s.spec().Atomic == AtomicAgent {
		task = TaskApplyAlone
	}
	for _, label := range s.members(s.status.Wave) {
		a := s.Agents[label]
		switch state := a.answer(s.name()); {
		case a.Assignment.Task == TaskPlan && state == Planned && !s.mayBegin(label):
		case a.Assignment.Task == TaskPlan && state == Planned:
			s.assign(label, Assignment{
				Wave: s.status.Wave, Revision: s.spec().Revision, Task: task, Fingerprint: a.Report.Plan.Fingerprint,
				ConfirmTimeout: s.spec().ConfirmTimeout, Soak: s.spec().Soak,
			})
		case state == Stale && !a.staleTooOften(state):
			s.assign(label, Assignment{Wave: s.status.Wave, Revision: s.spec().Revision, Task: TaskPlan})
		}
	}
	if s.full && len(s.writes) == 0 {
		s.stall()
	}
}

// beginLate is begin if no controller ran for a while, or no agent could begin: the time starts again.
func (s *step) beginLate() {
	s.begin()
	if slices.ContainsFunc(s.writes, func(w Write) bool { return w.Assignment != nil }) {
		s.writes = nil
		s.enter(PhaseApplying)
	}
}

// decide creates the decision of the wave.
func (s *step) decide(d Decision, reason string) {
	s.writes = append(s.writes, Write{Decision: d, Wave: s.status.Wave, Reason: reason})
}

// afterCommit begins the next wave when the agents have followed the decision.
func (s *step) afterCommit() {
	waiting := slices.ContainsFunc(s.members(s.status.Wave), func(label string) bool {
		a := s.Agents[label]
		follows := a.Assignment.Task == TaskApply || a.Assignment.Task == TaskApplyAlone
		return a.Running && follows && !a.answer(s.name()).final()
	})
	if waiting && !s.overdue(2*s.spec().ConfirmTimeout) {
		return
	}
	s.next()
}

// next begins the next wave, or ends the rollout.
func (s *step) next() {
	switch {
	case s.status.Wave+1 == len(s.spec().Waves):
		s.finish(PhaseSucceeded, s.status.Wave+1)
	case s.spec().Abort:
		s.fail("was aborted", s.status.Wave+1)
	case !s.spec().Paused:
		s.status.Wave++
		s.enter(PhaseApplying)
	}
}

// afterAbort ends the rollout when the agents have followed the decision.
func (s *step) afterAbort() {
	waiting := slices.ContainsFunc(s.members(s.status.Wave), func(label string) bool {
		a := s.Agents[label]
		return a.Running && a.Assignment.Rollout == s.name() && a.Assignment.Task != TaskPlan && !a.answer(s.name()).Unsuccessful()
	})
	if waiting && !s.overdue(2*s.spec().ConfirmTimeout) {
		return
	}
	s.status.Reason = fmt.Sprintf("wave %d was aborted: %s", s.status.Wave+1, s.Decisions[s.status.Wave].Reason)
	if s.spec().RevertCommitted && s.status.Wave > 0 {
		s.enter(PhaseReverting)
		return
	}
	s.finish(PhaseFailed, s.status.Wave)
}

func (s *step) reason(failed []string) string {
	if s.spec().Abort {
		return "the rollout was aborted"
	}
	var texts []string
	for _, label := range failed {
		texts = append(texts, fmt.Sprintf("%s: %s", label, cmp.Or(s.Agents[label].Report.Reason, string(s.Agents[label].Report.State))))
	}
	if len(texts) == 0 {
		return cmp.Or(s.status.Stalled, "agents were not healthy in time")
	}
	return first(texts)
}

// waveAlone is wave without a common decision.
func (s *step) waveAlone() {
	failed, _, open := s.progress()
	switch {
	case len(failed) > s.spec().MaxFailures:
		s.fail(fmt.Sprintf("wave %d: %s", s.status.Wave+1, s.reason(failed)), s.status.Wave)
	case open == 0, s.overdue(2*s.spec().ConfirmTimeout) && s.begun() && !s.limited():
		s.next()
	case s.spec().Abort:
		s.fail("was aborted", s.status.Wave)
	default:
		s.begin()
	}
}

// revert gives the agents of the earlier waves the revision that they had before. Agents that are away
// get it when they run again.
func (s *step) revert() {
	waiting := false
	for wave := range s.status.Wave {
		for _, label := range s.members(wave) {
			a := s.Agents[label]
			answer := a.answer(s.name())
			switch {
			case a.Assignment.Rollout != s.name(), a.Assignment.Task == TaskPlan:
			case a.Assignment.Task == TaskRollback:
				waiting = waiting || a.Running && a.pending()
			default: // also if it failed: an agent that loses its memory would follow the decision
				s.assign(label, Assignment{
					Wave: wave, Revision: a.revisionBefore(answer), Task: TaskRollback, ConfirmTimeout: s.spec().ConfirmTimeout,
				})
				waiting = true
			}
		}
	}
	if !waiting || s.overdue(2*s.spec().ConfirmTimeout) && len(s.writes) == 0 {
		s.enter(PhaseFailed)
	}
}

// revisionBefore returns the revision that an agent had before the one that it is assigned to apply. An
// agent that has not reported that it confirmed it may have confirmed it nevertheless.
func (a Agent) revisionBefore(answer State) int64 {
	if answer == Confirmed {
		return a.Report.Previous
	}
	return a.Report.Confirmed
}

// reasons returns one text for each agent, sorted.
func reasons(missing map[string]string) (texts []string) {
	for label, why := range missing {
		texts = append(texts, label+" "+why)
	}
	slices.Sort(texts)
	return texts
}

// first returns the first texts, and how many more there are.
func first(texts []string) string {
	const shown = 3
	out := ""
	for i, t := range texts[:min(shown, len(texts))] {
		if i > 0 {
			out += "; "
		}
		out += t
	}
	if more := len(texts) - shown; more > 0 {
		out += fmt.Sprintf("; and %d more", more)
	}
	return out
}
