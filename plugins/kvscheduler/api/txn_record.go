package api

import (
	"encoding/json"
	"fmt"
	"strconv"
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

// TxnType is the origin of a transaction.
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
	// start; 0: none. Waited reports why it waited. Only executed operations have them.
	After int32
	Key   string
	// Base is the key of the base value; empty: the value is not derived. Cause is the key of the
	// base value whose change caused the re-creation; empty: the value's own change, or none.
	Base, Cause string

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
	IsLeft     bool // Delete left the object in the southbound, because other processes use it

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
	// Reasons report, sorted by key, why values wait after the transaction. Forced names, by key,
	// the changed fields for which values were created again, as in Plan. Both explain the first
	// values of a large transaction only, and a transaction with OmittedOps has neither.
	Reasons []PlanReason        `json:",omitempty"`
	Forced  map[string][]string `json:",omitempty"`
	// OmittedOps and OmittedValues count the entries that were dropped from Executed and
	// Values because the history has reached its size limit. Failed operations are dropped
	// last.
	OmittedOps    int `json:",omitempty"`
	OmittedValues int `json:",omitempty"`

	// Reverted reports that a failure made the transaction undo itself. ToRevert counts the
	// values to restore, NotReverted those that failed.
	Reverted    bool `json:",omitempty"`
	ToRevert    int  `json:",omitempty"`
	NotReverted int  `json:",omitempty"`
}

// String returns the name in the history: "NBTransaction".
func (t TxnType) String() string { return txnTypes.name(int(t)) }

// MarshalText returns the name in the history.
func (t TxnType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText accepts the output of MarshalText.
func (t *TxnType) UnmarshalText(text []byte) error {
	i, err := txnTypes.parse("transaction type", string(text))
	*t = TxnType(i)
	return err
}

// String returns the name in the history: "FullResync".
func (t ResyncType) String() string { return resyncTypes.name(int(t)) }

// MarshalText returns the name in the history.
func (t ResyncType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText accepts the output of MarshalText.
func (t *ResyncType) UnmarshalText(text []byte) error {
	i, err := resyncTypes.parse("resync type", string(text))
	*t = ResyncType(i)
	return err
}

// String returns the name in the history: "dependency".
func (w OpWait) String() string { return opWaits.name(int(w)) }

// MarshalText returns the name in the history.
func (w OpWait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText accepts the output of MarshalText.
func (w *OpWait) UnmarshalText(text []byte) error {
	i, err := opWaits.parse("reason to wait", string(text))
	*w = OpWait(i)
	return err
}

// names are the names of the values of an enumeration, from 0 on.
type names []string

var (
	txnTypes    = names{"SBNotification", "NBTransaction", "RetryFailedOps", "RetryUnimplOps"}
	resyncTypes = names{"NotResync", "FullResync", "UpstreamResync", "DownstreamResync"}
	opWaits     = names{"none", "dependency", "slot", "turn", "removals", "replan"}
)

func (n names) name(i int) string {
	if i < 0 || i >= len(n) {
		return strconv.Itoa(i)
	}
	return n[i]
}

func (n names) parse(what, text string) (int, error) {
	for i, name := range n {
		if name == text {
			return i, nil
		}
	}
	if i, err := strconv.Atoi(text); err == nil {
		return i, nil
	}
	return 0, fmt.Errorf("%s %q: expected one of %q", what, text, []string(n))
}

// jsonKVPair is RecordedKVPair in the history, with the type of the value.
type jsonKVPair struct {
	Key    string
	Value  JSONValue
	Origin ValueOrigin
}

// MarshalJSON writes the value with its type; see JSONValue.
func (kv RecordedKVPair) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonKVPair{kv.Key, JSONValue{kv.Value}, kv.Origin})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (kv *RecordedKVPair) UnmarshalJSON(data []byte) error {
	var j jsonKVPair
	err := json.Unmarshal(data, &j)
	*kv = RecordedKVPair{j.Key, j.Value.Message, j.Origin}
	return err
}

// jsonTxnOp is RecordedTxnOp in the history: with the types of the values, and in
// the order that clients know. The order of RecordedTxnOp saves memory.
type jsonTxnOp struct {
	Operation  TxnOperation
	Key        string
	Base       string     `json:",omitempty"`
	Cause      string     `json:",omitempty"`
	NewState   ValueState `json:",omitzero"`
	NewValue   JSONValue  `json:",omitzero"`
	NewErrMsg  string     `json:",omitempty"`
	PrevState  ValueState `json:",omitzero"`
	PrevValue  JSONValue  `json:",omitzero"`
	PrevErrMsg string     `json:",omitempty"`
	NOOP       bool       `json:",omitempty"`
	IsDerived  bool       `json:",omitempty"`
	IsProperty bool       `json:",omitempty"`
	IsRevert   bool       `json:",omitempty"`
	IsRetry    bool       `json:",omitempty"`
	IsRecreate bool       `json:",omitempty"`
	IsLeft     bool       `json:",omitempty"`
	Start      time.Time  `json:",omitzero"`
	End        time.Time  `json:",omitzero"`
	After      int32      `json:",omitempty"`
	Waited     OpWait     `json:",omitempty"`
}

// MarshalJSON writes the operation in the form of the transaction history.
func (op RecordedTxnOp) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonTxnOp{
		Operation: op.Operation, Key: op.Key, Base: op.Base, Cause: op.Cause,
		NewState: op.NewState, NewValue: JSONValue{op.NewValue}, NewErrMsg: op.NewErrMsg,
		PrevState: op.PrevState, PrevValue: JSONValue{op.PrevValue}, PrevErrMsg: op.PrevErrMsg,
		NOOP: op.NOOP, IsDerived: op.IsDerived, IsProperty: op.IsProperty,
		IsRevert: op.IsRevert, IsRetry: op.IsRetry, IsRecreate: op.IsRecreate, IsLeft: op.IsLeft,
		Start: op.Start(), End: op.End(), After: op.After, Waited: op.Waited,
	})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (op *RecordedTxnOp) UnmarshalJSON(data []byte) error {
	var j jsonTxnOp
	err := json.Unmarshal(data, &j)
	*op = RecordedTxnOp{
		Operation: j.Operation, Key: j.Key, Base: j.Base, Cause: j.Cause,
		NewState: j.NewState, NewValue: j.NewValue.Message, NewErrMsg: j.NewErrMsg,
		PrevState: j.PrevState, PrevValue: j.PrevValue.Message, PrevErrMsg: j.PrevErrMsg,
		NOOP: j.NOOP, IsDerived: j.IsDerived, IsProperty: j.IsProperty,
		IsRevert: j.IsRevert, IsRetry: j.IsRetry, IsRecreate: j.IsRecreate, IsLeft: j.IsLeft,
		After: j.After, Waited: j.Waited,
	}
	op.Ran(j.Start, j.End)
	return err
}
