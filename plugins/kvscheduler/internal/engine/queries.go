package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// Queue reports the queued transactions and the running one.
func (c *Engine) Queue() api.QueueStatus {
	st := c.queue.Status()
	if st.Running != nil {
		st.Running.Progress = c.progressNow()
	}
	if before := c.before.Load(); before != nil {
		changes := (*before)()
		st.Changes = &changes
	}
	return st
}

// TellChanges sets the function that reports the changes that wait before the queue.
func (c *Engine) TellChanges(changes func() api.ChangesStatus) { c.before.Store(&changes) }

// Stats returns the statistics of all transactions.
func (c *Engine) Stats() record.Stats { return c.history.Stats() }

// CountViolations counts how often descriptors violated their contract, by descriptor.
func (c *Engine) CountViolations() map[string]uint64 { return c.contracts.Counts() }
