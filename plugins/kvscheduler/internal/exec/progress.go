package exec

import "sync/atomic"

// Progress counts the operations of the plan in execution. Get may be called
// concurrently.
type Progress struct{ total, done atomic.Int64 }

// begin starts counting the operations of a plan; 0 ends the count.
func (p *Progress) begin(operations int) {
	p.done.Store(0)
	p.total.Store(int64(operations))
}

// Get returns the numbers of completed and of all operations; both are 0 while no
// plan is in execution.
func (p *Progress) Get() (done, total int64) {
	total = p.total.Load()
	return min(p.done.Load(), total), total
}
