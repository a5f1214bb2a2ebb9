package exec

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// late tells that no operation may be begun any more. The way back has no
// deadline.
func (r *run) late() bool {
	return !r.txn.Deadline.IsZero() && !r.reverted && !r.Now().Before(r.txn.Deadline)
}

// retriable: what was not even begun can be tried again, whatever its
// descriptor thinks of errors.
func retriable(op *plan.Op, err error) bool {
	switch err.(type) {
	case *refusedError, *lostError:
		return true
	}
	return errors.Is(err, api.ErrTxnDeadline) || op.Desc.Retriable(err)
}

// refused says why an operation is not to be begun; nil if it is.
func (r *run) refused(op *plan.Op) error {
	if err := r.Crashes.refuse(op.Desc.Southbound); err != nil {
		return err
	}
	return r.Overdue.refuse(op.Desc)
}

// limit is how many callbacks may run at once in all.
func (r *run) limit() int {
	switch {
	case r.txn.Alone:
		return 1
	case r.Limit > 0:
		return r.Limit
	}
	return DefaultLimit
}
