package api

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// The states and statuses of values are protobuf messages, because clients
// receive them.
type (
	ValueState      = kvscheduler.ValueState
	TxnOperation    = kvscheduler.TxnOperation
	ValueStatus     = kvscheduler.ValueStatus
	BaseValueStatus = kvscheduler.BaseValueStatus
)

// TxnType says who started a transaction.
type TxnType int

// The types of transactions.
const (
	SBNotification TxnType = iota
	NBTransaction
	RetryFailedOps
	RetryUnimplOps
)

// String returns the name used in the transaction log.
func (t TxnType) String() string {
	switch t {
	case SBNotification:
		return "SB Notification"
	case NBTransaction:
		return "NB Transaction"
	case RetryFailedOps:
		return "Retry Failed Operations"
	default:
		return "Retry Unimplemented Operations"
	}
}

// RecordedKVPair is a value as a transaction asked for it.
type RecordedKVPair struct {
	Key    string
	Value  proto.Message // nil: delete
	Origin ValueOrigin
}

// RecordedTxnOp is one operation, planned or executed.
type RecordedTxnOp struct {
	Operation TxnOperation
	Key       string

	NewState  ValueState
	NewValue  proto.Message
	NewErrMsg string

	PrevState  ValueState
	PrevValue  proto.Message
	PrevErrMsg string

	// NOOP: no callback of a descriptor was run.
	NOOP bool

	IsDerived  bool // derived from another value
	IsProperty bool // derived, without Create of its own
	IsRevert   bool // undoes an operation of this transaction
	IsRetry    bool // repeats an operation that failed
	IsRecreate bool // part of a re-creation

	// Start and End of an executed operation that is no NOOP.
	Start, End time.Time
}

// RecordedTxn is a transaction as data: recorded with its plan before it is
// executed (PreRecord) and completed afterwards.
type RecordedTxn struct {
	PreRecord      bool
	WithSimulation bool

	Start, Stop time.Time

	SeqNum       uint64
	TxnType      TxnType
	ResyncType   ResyncType
	Description  string
	RetryForTxn  uint64
	RetryAttempt int

	Values   []RecordedKVPair
	Planned  []RecordedTxnOp
	Executed []RecordedTxnOp

	// Reverted tells that a failure made the transaction undo itself.
	Reverted bool
}
