package exec

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// record describes an executed operation for the history. tell is false if the
// operation changed nothing and is not recorded.
func (r *run) record(op *plan.Op, j *job, s *step) (rec api.RecordedTxnOp, tell bool) {
	if op.Silent() && s.err == nil {
		return rec, false
	}
	rec = Record(op)
	rec.PrevState, rec.PrevValue, rec.PrevErrMsg = s.before.state, s.before.value, text(s.before.err)
	if op.Kind != plan.Down && op.Have == nil && op.Before == kvscheduler.ValueState_REMOVED {
		rec.PrevState = op.Before
	}
	rec.NOOP = rec.NOOP || !j.called && !op.Notified && !op.Lost && !op.Desc.IsProperty()
	rec.IsRevert, rec.IsLeft = r.reverted, s.left != nil
	rec.IsRetry = r.txn.Attempt > 0 && s.before.err != nil
	if s.n.Err != nil {
		rec.NewState, rec.NewErrMsg = plan.State(s.n), text(s.n.Err)
	} else if s.n.Want != nil && s.n.Want.Invalid != nil {
		rec.NewErrMsg = text(s.n.Want.Invalid)
	}
	rec.Ran(j.start, j.end)
	return rec, true
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Record describes a planned operation.
func Record(op *plan.Op) api.RecordedTxnOp {
	rec := api.RecordedTxnOp{
		Operation:  operation(op),
		Key:        op.Key,
		PrevState:  op.Before,
		NewState:   op.After,
		NOOP:       op.Kind == plan.Note || op.Kind == plan.Adopt,
		IsDerived:  op.Base != "",
		Base:       op.Base,
		Cause:      op.Cause,
		IsProperty: op.Base != "" && op.Desc == nil,
		IsRecreate: op.Recreate,
	}
	if op.Have != nil {
		rec.PrevValue = op.Have.Msg
	}
	switch {
	case op.Kind == plan.Down:
	case op.Target != nil && op.Kind != plan.Note:
		rec.NewValue = op.Target.Msg
	case op.Want != nil:
		rec.NewValue = op.Want.Msg
	}
	return rec
}

// operation returns the kind of an operation in the terms of the API.
func operation(op *plan.Op) api.TxnOperation {
	switch op.Kind {
	case plan.Up:
		return kvscheduler.TxnOperation_CREATE
	case plan.Down:
		return kvscheduler.TxnOperation_DELETE
	case plan.Update, plan.Adopt:
		return kvscheduler.TxnOperation_UPDATE
	}
	switch {
	case op.Want == nil:
		return kvscheduler.TxnOperation_DELETE
	case op.Before == kvscheduler.ValueState_NONEXISTENT:
		return kvscheduler.TxnOperation_CREATE
	}
	return kvscheduler.TxnOperation_UPDATE
}

// shown returns the value of a node for the history: its actual state, otherwise
// its desired state.
func shown(n *graph.Node) *registry.Value {
	if n.Have != nil {
		return n.Have
	}
	return n.Want
}
