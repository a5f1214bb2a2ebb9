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
	if _, refused := err.(*refusedError); refused {
		return true
	}
	return errors.Is(err, api.ErrTxnDeadline) || op.Desc.Retriable(err)
}
