package kvscheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// conditions shows in the health of the agent what impairs the scheduler. It implements
// engine.Conditions.
type conditions struct{ health health.Reporter }

var _ engine.Conditions = (*conditions)(nil)

// Hanging shows which callbacks hang.
func (c *conditions) Hanging(hanging []exec.Call) {
	scope := c.health.Scope("callbacks")
	if len(hanging) == 0 {
		scope.OK("all callbacks returned")
		return
	}
	scope.Degraded("callbacks of descriptors do not return", hangs(hanging))
}

// maxNamed limits the named values of one kind.
const maxNamed = 5

func hangs(calls []exec.Call) error {
	return named(calls, ", ", func(c *exec.Call) string { return fmt.Sprintf("%v since %s", c, c.Since.UTC().Format(time.RFC3339)) })
}

// named joins the texts of the first few elements of a list.
func named[T any](list []T, separator string, text func(*T) string) error {
	var texts []string
	for i := range list[:min(maxNamed, len(list))] {
		texts = append(texts, text(&list[i]))
	}
	if more := len(list) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(texts, separator))
}

// Suspects shows which values are in quarantine, and that others are held back for a search.
func (c *conditions) Suspects(all []api.Suspect) {
	scope := c.health.Scope(HealthQuarantine)
	var keys, searches []string
	for i := range all {
		switch s := &all[i]; {
		case s.Quarantined:
			keys = append(keys, s.Key)
		case s.HeldBack && !slices.Contains(searches, s.Search):
			searches = append(searches, s.Search)
		}
	}
	switch {
	case len(searches) > 0:
		scope.Degraded("values held back", fmt.Errorf("%s; see agentctl quarantine", strings.Join(searches, "; ")))
		return
	case len(keys) == 0:
		scope.OK("no values in quarantine")
		return
	}
	scope.Degraded("values in quarantine", fmt.Errorf("%w; see agentctl quarantine", named(keys, ", ", func(key *string) string { return *key })))
}

// Unread shows which descriptors could not be read, so that it is not known which of
// their values exist.
func (c *conditions) Unread(all []engine.Unread) {
	scope := c.health.Scope("retrieve")
	if len(all) == 0 {
		scope.OK("all descriptors were read")
		return
	}
	scope.Degraded("descriptors cannot be read; until they can, nothing is created that may exist already",
		named(all, "; ", func(u *engine.Unread) string {
			return fmt.Sprintf("descriptor %q since %s: %v", u.Descriptor, u.Since.UTC().Format(time.RFC3339), u.Err)
		}))
}

// HealthValues and HealthQuarantine are the parts of the plugin's health that
// report values with problems.
const (
	HealthValues     = "values"
	HealthQuarantine = "quarantine"
)

// Problems shows how many values have a problem, the first of them and its error.
func (c *conditions) Problems(p engine.Problems) {
	scope := c.health.Scope(HealthValues)
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

// Synchronising shows which southbounds have connected, while their values are not
// synchronised yet: the agent is not ready.
func (c *conditions) Synchronising(southbounds []string) {
	scope := c.health.Scope("synchronisation")
	if len(southbounds) == 0 {
		scope.OK("all connected southbounds are synchronised")
		return
	}
	scope.Starting("synchronises " + strings.Join(southbounds, ", "))
}

// Violations shows which descriptors break their contract. The agent works all the same.
func (c *conditions) Violations(all []contract.Violation) {
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
	c.health.Scope("descriptors").OK(text)
}

// Refused shows which descriptors could not be registered. The values of these
// descriptors are INVALID.
func (c *conditions) Refused(all []registry.Refusal) {
	c.health.Scope("registration").Failed("descriptors were refused at registration; their values are INVALID",
		named(all, "; ", func(r *registry.Refusal) string { return r.Err.Error() }))
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

var _ infra.Summarizer = (*Scheduler)(nil)

// Summary says how many values are in effect, and which transaction runs. It counts
// all values, including derived ones.
func (s *Scheduler) Summary() string {
	counts := s.engine.CountStates()
	total := 0
	for _, state := range []api.ValueState{
		kvscheduler.ValueState_CONFIGURED, kvscheduler.ValueState_PENDING, kvscheduler.ValueState_INVALID, kvscheduler.ValueState_FAILED,
		kvscheduler.ValueState_RETRYING, kvscheduler.ValueState_MISSING, kvscheduler.ValueState_UNIMPLEMENTED,
	} {
		total += counts[state]
	}
	text := fmt.Sprintf("%d of %d values in effect", counts[kvscheduler.ValueState_CONFIGURED], total)
	running := s.engine.Queue().Running
	if running == nil || running.Progress == nil {
		return text
	}
	p := running.Progress
	if p.Phase == api.PhaseRetrieving {
		return fmt.Sprintf("%s, retrieving %s", text, p.Descriptor)
	}
	return fmt.Sprintf("%s, executing %d of %d operations", text, p.Done, p.Total)
}
