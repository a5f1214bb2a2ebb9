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

// RecordedKVPair is a value as a transaction asked for it.
type RecordedKVPair struct {
	Key    string
	Value  proto.Message // nil: delete
	Origin ValueOrigin
}

// RecordedTxnOp is one operation, planned or executed.
type RecordedTxnOp struct {
	Operation TxnOperation
	// After is the number in Executed, from 1 on, of the operation whose end let this one
	// start; 0: none. Waited tells why it waited. Only executed operations have them.
	After int32
	Key   string

	PrevState, NewState   ValueState
	PrevValue, NewValue   proto.Message
	PrevErrMsg, NewErrMsg string

	// NOOP: no callback of a descriptor was run.
	NOOP bool

	IsDerived  bool // derived from another value
	IsProperty bool // derived, without Create of its own
	IsRevert   bool // undoes an operation of this transaction
	IsRetry    bool // repeats an operation that failed
	IsRecreate bool // part of a re-creation

	Waited OpWait

	// Of an executed operation that is no NOOP; see Ran. A history has many operations, and
	// two time.Time take three times as much memory.
	start int64 // nanoseconds since 1970; 0: unknown
	took  time.Duration
}

// Ran sets when the operation was executed. It has no effect if start is zero.
func (op *RecordedTxnOp) Ran(start, end time.Time) {
	op.start, op.took = 0, 0
	if !start.IsZero() {
		op.start, op.took = start.UnixNano(), end.Sub(start)
	}
}

// HasRun reports whether it is known when the operation was executed.
func (op *RecordedTxnOp) HasRun() bool { return op.start != 0 }

// Start is when the execution began; zero if unknown.
func (op *RecordedTxnOp) Start() time.Time {
	if op.start == 0 {
		return time.Time{}
	}
	return time.Unix(0, op.start)
}

// End is when the execution ended; zero if unknown.
func (op *RecordedTxnOp) End() time.Time {
	if op.start == 0 {
		return time.Time{}
	}
	return time.Unix(0, op.start).Add(op.took)
}

// Took is how long the execution lasted.
func (op *RecordedTxnOp) Took() time.Duration { return op.took }

// OpWait is the reason why an operation started after another one.
type OpWait uint8

// The reasons: none; the operation has to follow the other one; its descriptor, or all
// together, may not run more at once; descriptors without Concurrency run one after the
// other; removals go first; after a failure the rest was planned again.
const (
	OpWaitNone OpWait = iota
	OpWaitDependency
	OpWaitSlot
	OpWaitTurn
	OpWaitRemovals
	OpWaitReplan
)

// RecordedTxns are transactions of the history.
type RecordedTxns = []*RecordedTxn

// RecordedTxn is a transaction, recorded with its plan before it is executed (PreRecord) and
// completed afterwards.
type RecordedTxn struct {
	PreRecord      bool `json:",omitempty"`
	WithSimulation bool `json:",omitempty"`

	// The times of a transaction; zero if unknown. Came is when the change arrived at the
	// agent, Turn when the orchestrator took it from its queue (WithArrival), Queued when the
	// scheduler received the transaction, Taken when it took it from its queue, Prepared when
	// the southbound was read as far as the plan needs it, Start when it was planned, Begun
	// when the first operation could begin, Stop when it was executed.
	Came     time.Time `json:",omitzero"`
	Turn     time.Time `json:",omitzero"`
	Queued   time.Time `json:",omitzero"`
	Taken    time.Time `json:",omitzero"`
	Prepared time.Time `json:",omitzero"`
	Start    time.Time
	Begun    time.Time `json:",omitzero"`
	Stop     time.Time

	SeqNum       uint64
	TxnType      TxnType
	ResyncType   ResyncType `json:",omitempty"`
	Description  string     `json:",omitempty"`
	RetryForTxn  uint64     `json:",omitempty"`
	RetryAttempt int        `json:",omitempty"`

	// Unread are the descriptors that a resync could not read.
	Unread []DriftUnread `json:",omitempty"`

	Values   []RecordedKVPair `json:",omitempty"`
	Planned  []RecordedTxnOp  `json:",omitempty"`
	Executed []RecordedTxnOp  `json:",omitempty"`
	// OmittedOps and OmittedValues count what was dropped from Executed and Values
	// because the history has reached its size limit. Failed operations are dropped last.
	OmittedOps    int `json:",omitempty"`
	OmittedValues int `json:",omitempty"`

	// Reverted reports that a failure made the transaction undo itself. ToRevert counts the
	// values to restore, NotReverted those that failed.
	Reverted    bool `json:",omitempty"`
	ToRevert    int  `json:",omitempty"`
	NotReverted int  `json:",omitempty"`
}
