package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// MarshalText returns the name in the history ("NBTransaction").
func (t TxnType) MarshalText() ([]byte, error) { return []byte(txnTypes.name(int(t))), nil }

// UnmarshalText accepts what MarshalText returns.
func (t *TxnType) UnmarshalText(text []byte) error {
	i, err := txnTypes.parse("transaction type", string(text))
	*t = TxnType(i)
	return err
}

// MarshalText returns the name in the history ("FullResync").
func (t ResyncType) MarshalText() ([]byte, error) { return []byte(resyncTypes.name(int(t))), nil }

// UnmarshalText accepts what MarshalText returns.
func (t *ResyncType) UnmarshalText(text []byte) error {
	i, err := resyncTypes.parse("resync type", string(text))
	*t = ResyncType(i)
	return err
}

// MarshalText returns the name in the history ("dependency").
func (w OpWait) MarshalText() ([]byte, error) { return []byte(opWaits.name(int(w))), nil }

// UnmarshalText accepts what MarshalText returns.
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

// jsonKVPair is RecordedKVPair in the history.
type jsonKVPair struct {
	Key    string
	Value  *JSONValue
	Origin ValueOrigin
}

// MarshalJSON writes the value with its type; see JSONValue.
func (kv RecordedKVPair) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonKVPair{kv.Key, NewJSONValue(kv.Value), kv.Origin})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (kv *RecordedKVPair) UnmarshalJSON(data []byte) error {
	var j jsonKVPair
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*kv = RecordedKVPair{j.Key, j.Value.message(), j.Origin}
	return nil
}

// jsonTxnOp is RecordedTxnOp in the history: enumerations by name, values with
// their type, and nothing that is zero.
type jsonTxnOp struct {
	Operation  string
	Key        string
	NewState   string     `json:",omitempty"`
	NewValue   *JSONValue `json:",omitempty"`
	NewErrMsg  string     `json:",omitempty"`
	PrevState  string     `json:",omitempty"`
	PrevValue  *JSONValue `json:",omitempty"`
	PrevErrMsg string     `json:",omitempty"`
	NOOP       bool       `json:",omitempty"`
	IsDerived  bool       `json:",omitempty"`
	IsProperty bool       `json:",omitempty"`
	IsRevert   bool       `json:",omitempty"`
	IsRetry    bool       `json:",omitempty"`
	IsRecreate bool       `json:",omitempty"`
	Start      *time.Time `json:",omitempty"`
	End        *time.Time `json:",omitempty"`
	After      int32      `json:",omitempty"`
	Waited     OpWait     `json:",omitempty"`
}

// MarshalJSON writes the operation in the form of the transaction history.
func (op RecordedTxnOp) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonTxnOp{
		Operation: op.Operation.String(), Key: op.Key,
		NewState: stateName(op.NewState), NewValue: NewJSONValue(op.NewValue), NewErrMsg: op.NewErrMsg,
		PrevState: stateName(op.PrevState), PrevValue: NewJSONValue(op.PrevValue), PrevErrMsg: op.PrevErrMsg,
		NOOP: op.NOOP, IsDerived: op.IsDerived, IsProperty: op.IsProperty,
		IsRevert: op.IsRevert, IsRetry: op.IsRetry, IsRecreate: op.IsRecreate,
		Start: timePtr(op.Start), End: timePtr(op.End), After: op.After, Waited: op.Waited,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (op *RecordedTxnOp) UnmarshalJSON(data []byte) error {
	var j jsonTxnOp
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*op = RecordedTxnOp{
		Operation: TxnOperation(kvscheduler.TxnOperation_value[j.Operation]), Key: j.Key,
		NewState: stateValue(j.NewState), NewValue: j.NewValue.message(), NewErrMsg: j.NewErrMsg,
		PrevState: stateValue(j.PrevState), PrevValue: j.PrevValue.message(), PrevErrMsg: j.PrevErrMsg,
		NOOP: j.NOOP, IsDerived: j.IsDerived, IsProperty: j.IsProperty,
		IsRevert: j.IsRevert, IsRetry: j.IsRetry, IsRecreate: j.IsRecreate,
		Start: timeValue(j.Start), End: timeValue(j.End), After: j.After, Waited: j.Waited,
	}
	return nil
}

func stateName(s ValueState) string {
	if s == kvscheduler.ValueState_NONEXISTENT {
		return ""
	}
	return s.String()
}

func stateValue(name string) ValueState { return ValueState(kvscheduler.ValueState_value[name]) }

func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeValue(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// message is nil for a nil value.
func (v *JSONValue) message() proto.Message {
	if v == nil {
		return nil
	}
	return v.Message
}

// jsonTxn is RecordedTxn in the history.
type jsonTxn struct {
	PreRecord      bool      `json:",omitempty"`
	WithSimulation bool      `json:",omitempty"`
	Came           time.Time `json:",omitzero"`
	Turn           time.Time `json:",omitzero"`
	Queued         time.Time `json:",omitzero"`
	Taken          time.Time `json:",omitzero"`
	Prepared       time.Time `json:",omitzero"`
	Start          time.Time
	Begun          time.Time `json:",omitzero"`
	Stop           time.Time
	SeqNum         uint64
	TxnType        TxnType
	ResyncType     ResyncType       `json:",omitempty"`
	Description    string           `json:",omitempty"`
	RetryForTxn    uint64           `json:",omitempty"`
	RetryAttempt   int              `json:",omitempty"`
	Unread         []DriftUnread    `json:",omitempty"`
	Values         []RecordedKVPair `json:",omitempty"`
	Planned        []RecordedTxnOp  `json:",omitempty"`
	Executed       []RecordedTxnOp  `json:",omitempty"`
	OmittedOps     int              `json:",omitempty"`
	OmittedValues  int              `json:",omitempty"`
	Reverted       bool             `json:",omitempty"`
	ToRevert       int              `json:",omitempty"`
	NotReverted    int              `json:",omitempty"`
}

// MarshalJSON writes the transaction in the form of the transaction history.
func (t RecordedTxn) MarshalJSON() ([]byte, error) { return json.Marshal(jsonTxn(t)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *RecordedTxn) UnmarshalJSON(data []byte) error {
	var j jsonTxn
	err := json.Unmarshal(data, &j)
	*t = RecordedTxn(j)
	return err
}
