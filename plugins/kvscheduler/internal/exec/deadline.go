package exec

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// late reports whether the deadline of the transaction has passed, so that no
// operation may start. A revert has no deadline.
func (r *run) late() bool {
	return !r.txn.Deadline.IsZero() && !r.reverted && !r.Now().Before(r.txn.Deadline)
}

// retriable reports whether an operation may be retried after an error. An
// operation that did not start may always be retried; otherwise the descriptor
// decides.
func retriable(op *plan.Op, err error) bool {
	switch err.(type) {
	case *refusedError, *lostError:
		return true
	}
	return errors.Is(err, api.ErrTxnDeadline) || op.Desc.Retriable(err)
}

// refused returns the reason not to start an operation, or nil.
func (r *run) refused(op *plan.Op) error {
	if err := r.Crashes.refuse(op.Desc.Southbound); err != nil {
		return err
	}
	return r.Overdue.refuse(op.Desc)
}

// limit returns how many callbacks of all descriptors may run at once.
func (r *run) limit() int {
	switch {
	case r.txn.Alone:
		return 1
	case r.Limit > 0:
		return r.Limit
	}
	return DefaultLimit
}
