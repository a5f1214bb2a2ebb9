package record_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op   api.RecordedTxnOp
		want string
	}{
		{api.RecordedTxnOp{NewState: pb.ValueState_CONFIGURED}, ""},
		{api.RecordedTxnOp{NOOP: true, NewState: pb.ValueState_PENDING}, "NOOP IS-PENDING"},
		{api.RecordedTxnOp{NOOP: true, IsDerived: true, NewState: pb.ValueState_PENDING}, "DERIVED NOOP IS-PENDING"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_PENDING, NewState: pb.ValueState_PENDING}, "STILL-PENDING"},
		{api.RecordedTxnOp{IsDerived: true, PrevState: pb.ValueState_PENDING, NewState: pb.ValueState_CONFIGURED}, "DERIVED WAS-PENDING"},
		{api.RecordedTxnOp{IsProperty: true, IsDerived: true, NOOP: true, NewState: pb.ValueState_CONFIGURED}, "PROPERTY"},
		{api.RecordedTxnOp{IsRetry: true, PrevState: pb.ValueState_RETRYING, NewState: pb.ValueState_CONFIGURED}, "RETRY FIXED"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_FAILED, NewState: pb.ValueState_RETRYING}, "STILL-FAILING"},
		{api.RecordedTxnOp{NewState: pb.ValueState_FAILED, IsRevert: true}, "REVERT FAILED"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_INVALID, NewState: pb.ValueState_INVALID, NOOP: true}, "NOOP STILL-INVALID"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_INVALID, NewState: pb.ValueState_CONFIGURED}, "FIXED"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_DISCOVERED, NewState: pb.ValueState_REMOVED}, "DISCOVERED"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_MISSING, NewState: pb.ValueState_REMOVED}, "ALREADY-MISSING"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_MISSING, NewState: pb.ValueState_PENDING}, "WAS-MISSING IS-PENDING"},
		{api.RecordedTxnOp{Operation: pb.TxnOperation_DELETE, PrevState: pb.ValueState_REMOVED}, "ALREADY-REMOVED"},
		{api.RecordedTxnOp{NewState: pb.ValueState_OBTAINED}, "OBTAINED"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_OBTAINED, NewState: pb.ValueState_CONFIGURED}, "WAS-OBTAINED"},
		{api.RecordedTxnOp{PrevState: pb.ValueState_UNIMPLEMENTED, NewState: pb.ValueState_CONFIGURED, IsRecreate: true}, "RECREATE WAS-UNIMPLEMENTED"},
	} {
		if got := strings.Join(record.Flags(&tc.op), " "); got != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.op, got, tc.want)
		}
	}
}
