package exec

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"

// refuse reports whether a transaction with revert contains invalid values and so
// cannot succeed as a whole. Nothing of it is executed then.
func (r *run) refuse() bool {
	for i := range r.txn.Plan.Ops {
		op := &r.txn.Plan.Ops[i]
		if !op.SetWant || op.Want == nil || op.Want.Invalid == nil {
			continue
		}
		rec := Record(op)
		rec.NewErrMsg = text(op.Want.Invalid)
		r.res.Executed = append(r.res.Executed, rec)
		r.res.Invalid = append(r.res.Invalid, api.KeyWithError{Key: op.Key, TxnOperation: rec.Operation, Error: op.Want.Invalid})
	}
	r.res.Reverted = len(r.res.Invalid) > 0 || r.txn.Refused
	return r.res.Reverted
}
