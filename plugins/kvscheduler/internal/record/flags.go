package record

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Flags are the words that the transaction log prints in brackets after the
// operation: what is special about it and how the state of the value changed.
func Flags(op *api.RecordedTxnOp) []string {
	var flags []string
	add := func(when bool, flag string) {
		if when {
			flags = append(flags, flag)
		}
	}
	add(op.IsDerived && !op.IsProperty, "DERIVED")
	add(op.IsProperty, "PROPERTY")
	add(op.NOOP && !op.IsProperty, "NOOP")
	add(op.IsRevert && !op.IsProperty, "REVERT")
	add(op.IsRetry && !op.IsProperty, "RETRY")
	add(op.IsRecreate, "RECREATE")
	return append(flags, stateFlags(op)...)
}

// stateFlags describe the transition between two states. A value can leave one
// state and enter another, so there are up to two of them.
func stateFlags(op *api.RecordedTxnOp) []string {
	var flags []string
	if left := leftFlag(op); left != "" {
		flags = append(flags, left)
	}
	if entered := enteredFlag(op); entered != "" {
		flags = append(flags, entered)
	}
	return flags
}

func leftFlag(op *api.RecordedTxnOp) string {
	removed := op.Operation == pb.TxnOperation_DELETE
	switch prev, next := op.PrevState, op.NewState; {
	case prev == pb.ValueState_DISCOVERED:
		return "DISCOVERED"
	case prev == pb.ValueState_REMOVED && removed:
		return "ALREADY-REMOVED"
	case prev == pb.ValueState_MISSING && next == pb.ValueState_REMOVED:
		return "ALREADY-MISSING"
	case prev == pb.ValueState_MISSING && next != pb.ValueState_MISSING:
		return "WAS-MISSING"
	case prev == pb.ValueState_OBTAINED && next != pb.ValueState_OBTAINED:
		return "WAS-OBTAINED"
	case prev == pb.ValueState_UNIMPLEMENTED && next != pb.ValueState_UNIMPLEMENTED:
		return "WAS-UNIMPLEMENTED"
	case prev == pb.ValueState_PENDING && next != pb.ValueState_PENDING:
		return "WAS-PENDING"
	case (broken(prev) || prev == pb.ValueState_INVALID) && next == pb.ValueState_CONFIGURED:
		return "FIXED"
	}
	return ""
}

func enteredFlag(op *api.RecordedTxnOp) string {
	switch prev := op.PrevState; op.NewState {
	case pb.ValueState_OBTAINED:
		return "OBTAINED"
	case pb.ValueState_UNIMPLEMENTED:
		return "UNIMPLEMENTED"
	case pb.ValueState_PENDING:
		return pick(prev == pb.ValueState_PENDING, "STILL-PENDING", "IS-PENDING")
	case pb.ValueState_INVALID:
		return pick(prev == pb.ValueState_INVALID, "STILL-INVALID", "INVALID")
	case pb.ValueState_FAILED, pb.ValueState_RETRYING:
		return pick(broken(prev), "STILL-FAILING", "FAILED")
	}
	return ""
}

func broken(s api.ValueState) bool { return s == pb.ValueState_FAILED || s == pb.ValueState_RETRYING }

func pick(when bool, yes, no string) string {
	if when {
		return yes
	}
	return no
}
