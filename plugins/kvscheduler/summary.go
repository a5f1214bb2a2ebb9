package kvscheduler

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

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
