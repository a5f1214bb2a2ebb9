package exec

import "sync/atomic"

// Progress counts the operations of the plan that is executed. Any goroutine may
// read it.
type Progress struct{ total, done atomic.Int64 }

// begin starts to count the operations of a plan; 0: none is executed any more.
func (p *Progress) begin(operations int) {
	p.done.Store(0)
	p.total.Store(int64(operations))
}

// Get returns how many operations are done, of how many; 0 of 0 while no plan is
// executed.
func (p *Progress) Get() (done, total int64) {
	total = p.total.Load()
	return min(p.done.Load(), total), total
}
