package kvscheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// overdue shows in the health of the agent which callbacks hang.
func (s *Scheduler) overdue(hanging []exec.Call) {
	if s.Health == nil {
		return
	}
	scope := s.Health.Scope("callbacks")
	if len(hanging) == 0 {
		scope.OK("all callbacks returned")
		return
	}
	scope.Degraded("callbacks of descriptors do not return", hangs(hanging))
}

// maxNamed bounds the callbacks that are named.
const maxNamed = 5

func hangs(calls []exec.Call) error {
	texts := make([]string, 0, maxNamed)
	for _, c := range calls[:min(maxNamed, len(calls))] {
		texts = append(texts, fmt.Sprintf("%v since %s", &c, c.Since.UTC().Format(time.RFC3339)))
	}
	if more := len(calls) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(texts, ", "))
}

// suspects shows in the health of the agent which values are in quarantine.
func (s *Scheduler) suspects(all []api.Suspect) {
	if s.Health == nil {
		return
	}
	scope := s.Health.Scope(HealthQuarantine)
	var keys []string
	for i := range all {
		if all[i].Quarantined {
			keys = append(keys, all[i].Key)
		}
	}
	switch more := len(keys) - maxNamed; {
	case len(keys) == 0:
		scope.OK("no values in quarantine")
	case more > 0:
		scope.Degraded("values in quarantine", fmt.Errorf("%s and %d more; see agentctl quarantine", strings.Join(keys[:maxNamed], ", "), more))
	default:
		scope.Degraded("values in quarantine", fmt.Errorf("%s; see agentctl quarantine", strings.Join(keys, ", ")))
	}
}

// unread shows in the health of the agent which descriptors could not be read,
// so that it is not known which of their values exist.
func (s *Scheduler) unread(all []engine.Unread) {
	if s.Health == nil {
		return
	}
	scope := s.Health.Scope("retrieve")
	if len(all) == 0 {
		scope.OK("all descriptors were read")
		return
	}
	texts := make([]string, 0, maxNamed)
	for _, u := range all[:min(maxNamed, len(all))] {
		texts = append(texts, fmt.Sprintf("descriptor %q since %s: %v", u.Descriptor, u.Since.UTC().Format(time.RFC3339), u.Err))
	}
	if more := len(all) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	scope.Degraded("descriptors cannot be read; until they can, nothing is created that may exist already", errors.New(strings.Join(texts, "; ")))
}

// HealthValues and HealthQuarantine are the parts of the plugin's health that
// report values with problems.
const (
	HealthValues     = "values"
	HealthQuarantine = "quarantine"
)

// problems shows in the health of the agent how many values have a problem, the
// first of them and its error.
func (s *Scheduler) problems(p engine.Problems) {
	if s.Health == nil {
		return
	}
	scope := s.Health.Scope(HealthValues)
	var counts []string
	total := 0
	for _, state := range engine.ProblemStates() {
		if n := p.Values[state]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
			total += n
		}
	}
	switch {
	case total == 0:
		scope.OK("no value has a problem")
	case total == 1:
		scope.Degraded("1 value is "+strings.TrimPrefix(counts[0], "1 "), fmt.Errorf("%s: %s", p.Key, p.Reason))
	default:
		scope.Degraded("values with problems: "+strings.Join(counts, ", "), fmt.Errorf("the first is %s: %s", p.Key, p.Reason))
	}
}

// violations shows in the health of the agent which descriptors break their
// contract. The agent works all the same.
func (s *Scheduler) violations(all []contract.Violation) {
	if s.Health == nil {
		return
	}
	names := make([]string, 0, len(all))
	for i := range all {
		names = append(names, all[i].Descriptor)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	text := "all descriptors keep their contract"
	if len(all) > 0 {
		text = fmt.Sprintf("descriptors that break their contract: %s; %s", strings.Join(names, ", "), all[0].Problem)
	}
	s.Health.Scope("descriptors").OK(text)
}

// refused shows in the health of the agent which descriptors could not be
// registered. The values of these descriptors are INVALID.
func (s *Scheduler) refused(all []registry.Refusal) {
	if s.Health == nil {
		return
	}
	texts := make([]string, 0, maxNamed)
	for _, r := range all[:min(maxNamed, len(all))] {
		texts = append(texts, r.Err.Error())
	}
	if more := len(all) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	s.Health.Scope("registration").Failed("descriptors were refused at registration; their values are INVALID", errors.New(strings.Join(texts, "; ")))
}

// leftBehind names the callbacks that did not return until the end.
func (s *Scheduler) leftBehind() error {
	if s.engine == nil {
		return nil
	}
	if left := s.engine.Hanging(); len(left) > 0 {
		return fmt.Errorf("left behind: %w", hangs(left))
	}
	return nil
}
