package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// Queue reports the queued transactions and the running one.
func (e *Engine) Queue() api.QueueStatus {
	st := e.queue.Status()
	if st.Running != nil {
		st.Running.Progress = e.progressNow()
	}
	if before := e.before.Load(); before != nil {
		changes := (*before)()
		st.Changes = &changes
	}
	return st
}

// TellChanges sets the function that reports the changes that wait before the queue.
func (e *Engine) TellChanges(changes func() api.ChangesStatus) { e.before.Store(&changes) }

// Stats returns the statistics of all transactions.
func (e *Engine) Stats() record.Stats { return e.history.Stats() }

// CountViolations counts how often descriptors violated their contract, by descriptor.
func (e *Engine) CountViolations() map[string]uint64 { return e.contracts.Counts() }
