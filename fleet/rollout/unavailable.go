package rollout

import (
	"fmt"
	"slices"
)

// mayBegin reports whether an agent may begin to apply the revision without that too many are
// unavailable. One that is unavailable itself may.
func (s *step) mayBegin(label string) bool {
	limit := s.spec().MaxUnavailable
	if limit == 0 || s.unavailable(label) != "" {
		return true
	}
	beginning := 0
	for _, w := range s.writes {
		if w.Assignment != nil && w.Assignment.Task != TaskPlan && s.unavailable(w.Agent) == "" {
			beginning++
		}
	}
	may := len(s.reasonsUnavailable())+beginning < limit
	s.full = s.full || !may
	return may
}

// limited reports whether an agent of the wave has planned and may not begin.
func (s *step) limited() bool {
	return slices.ContainsFunc(s.members(s.status.Wave), func(label string) bool {
		a := s.Agents[label]
		return a.Assignment.Task == TaskPlan && a.answer(s.name()) == Planned && !s.mayBegin(label)
	})
}

// reasonsUnavailable returns why agents of the rollout are unavailable.
func (s *step) reasonsUnavailable() (texts []string) {
	for _, labels := range s.spec().Waves {
		for _, label := range labels {
			if why := s.unavailable(label); why != "" {
				texts = append(texts, label+" "+why)
			}
		}
	}
	for _, label := range s.spec().Later { // in maintenance
		if why := s.unavailable(label); why == applies {
			texts = append(texts, label+" "+why)
		}
	}
	return texts
}

// applies is why an agent is unavailable that will be available again if all goes well.
const applies = "applies a revision"

// unavailable returns why an agent is unavailable; empty: it is not.
func (s *step) unavailable(label string) string {
	a := s.Agents[label]
	switch {
	case !a.Running:
		return "does not run"
	case a.Trouble:
		return "reports trouble"
	case s.applying(a):
		return applies
	}
	return ""
}

// applying reports whether an agent may be applying what it is assigned to, or will by itself.
func (s *step) applying(a Agent) bool {
	switch {
	case a.Assignment.Task.byItself():
		return a.pending() && (!a.Maintenance || a.answer(a.Assignment.Rollout).waits())
	case a.Assignment.Rollout != s.name(), a.Assignment.Task == TaskPlan:
		return false
	}
	switch answer := a.answer(s.name()); answer {
	case Reverted, Stale:
		return a.Assignment.Task == TaskApply && s.Decisions[a.Assignment.Wave].Decision == Commit // applies it again
	default:
		return answer != Healthy && !answer.final()
	}
}

// stall records why no agent can begin, unless that will pass.
func (s *step) stall() {
	texts := s.reasonsUnavailable()
	if slices.ContainsFunc(append(s.all(), s.spec().Later...), func(label string) bool { return s.unavailable(label) == applies }) {
		return
	}
	text := fmt.Sprintf("the limit of unavailable agents (%d) is reached: %s", s.spec().MaxUnavailable, first(texts))
	if text != s.status.Stalled {
		s.status.Stalled = text
		s.writes = append(s.writes, Write{Status: &s.status})
	}
}
