package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// String returns the name in the history: "NBTransaction".
func (t TxnType) String() string { return txnTypes.name(int(t)) }

// MarshalText returns the name in the history.
func (t TxnType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText accepts what MarshalText returns.
func (t *TxnType) UnmarshalText(text []byte) error {
	i, err := txnTypes.parse("transaction type", string(text))
	*t = TxnType(i)
	return err
}

// String returns the name in the history: "FullResync".
func (t ResyncType) String() string { return resyncTypes.name(int(t)) }

// MarshalText returns the name in the history.
func (t ResyncType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText accepts what MarshalText returns.
func (t *ResyncType) UnmarshalText(text []byte) error {
	i, err := resyncTypes.parse("resync type", string(text))
	*t = ResyncType(i)
	return err
}

// String returns the name in the history: "dependency".
func (w OpWait) String() string { return opWaits.name(int(w)) }

// MarshalText returns the name in the history.
func (w OpWait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

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

// UnmarshalJSON reads what MarshalJSON wrote.
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
	Start      time.Time  `json:",omitzero"`
	End        time.Time  `json:",omitzero"`
	After      int32      `json:",omitempty"`
	Waited     OpWait     `json:",omitempty"`
}

// MarshalJSON writes the operation in the form of the transaction history.
func (op RecordedTxnOp) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonTxnOp{
		Operation: op.Operation, Key: op.Key,
		NewState: op.NewState, NewValue: JSONValue{op.NewValue}, NewErrMsg: op.NewErrMsg,
		PrevState: op.PrevState, PrevValue: JSONValue{op.PrevValue}, PrevErrMsg: op.PrevErrMsg,
		NOOP: op.NOOP, IsDerived: op.IsDerived, IsProperty: op.IsProperty,
		IsRevert: op.IsRevert, IsRetry: op.IsRetry, IsRecreate: op.IsRecreate,
		Start: op.Start(), End: op.End(), After: op.After, Waited: op.Waited,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (op *RecordedTxnOp) UnmarshalJSON(data []byte) error {
	var j jsonTxnOp
	err := json.Unmarshal(data, &j)
	*op = RecordedTxnOp{
		Operation: j.Operation, Key: j.Key,
		NewState: j.NewState, NewValue: j.NewValue.Message, NewErrMsg: j.NewErrMsg,
		PrevState: j.PrevState, PrevValue: j.PrevValue.Message, PrevErrMsg: j.PrevErrMsg,
		NOOP: j.NOOP, IsDerived: j.IsDerived, IsProperty: j.IsProperty,
		IsRevert: j.IsRevert, IsRetry: j.IsRetry, IsRecreate: j.IsRecreate,
		After: j.After, Waited: j.Waited,
	}
	op.Ran(j.Start, j.End)
	return err
}
