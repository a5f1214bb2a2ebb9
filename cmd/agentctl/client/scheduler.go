package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ValueStatus is the state of one value.
type ValueStatus struct {
	Key           string   `json:"key"`
	State         string   `json:"state,omitempty"` // "CONFIGURED", "PENDING", ...
	Error         string   `json:"error,omitempty"`
	LastOperation string   `json:"last_operation,omitempty"` // "CREATE", "UPDATE", "DELETE"
	Details       []string `json:"details,omitempty"`        // what it waits for, or the invalid fields
}

// BaseValueStatus is the state of a value with those derived from it.
type BaseValueStatus struct {
	Value         ValueStatus   `json:"value"`
	DerivedValues []ValueStatus `json:"derived_values,omitempty"`
}

// Values returns the states of all values.
func (c *Client) Values(ctx context.Context) (list []BaseValueStatus, err error) {
	err = c.getJSON(ctx, "/scheduler/status", nil, &list)
	return list, err
}

// Message is a value in JSON with the name of its type.
type Message struct {
	ProtoMsgName string
	ProtoMsgData json.RawMessage
}

// Origins of values.
const (
	OriginUnknown = 0
	OriginNB      = 1
	OriginSB      = 2
)

// DumpedValue is a value in a dump.
type DumpedValue struct {
	Key      string
	Value    *Message
	Origin   int
	Metadata json.RawMessage
}

// DumpIndex lists what can be dumped.
type DumpIndex struct {
	Descriptors []string
	KeyPrefixes []string
	Views       []string
}

// DumpIndex asks what can be dumped.
func (c *Client) DumpIndex(ctx context.Context) (index DumpIndex, err error) {
	err = c.getJSON(ctx, "/scheduler/dump", nil, &index)
	return index, err
}

// Dump returns the values with a key prefix of DumpIndex; view is "SB" (what is
// in the southbound), "NB" (what is asked for) or "cached" (what the scheduler
// believes).
func (c *Client) Dump(ctx context.Context, keyPrefix, view string) (list []DumpedValue, err error) {
	query := url.Values{"key-prefix": {keyPrefix}, "view": {view}}
	err = c.getJSON(ctx, "/scheduler/dump", query, &list)
	return list, err
}

// Txn is a transaction in the history. The JSON that it came from is in Raw.
type Txn struct {
	Start, Stop  time.Time
	SeqNum       uint64
	TxnType      string // "NBTransaction", "SBNotification", "RetryFailedOps", "RetryUnimplOps"
	ResyncType   string // "FullResync", "UpstreamResync", "DownstreamResync" or empty
	Description  string
	RetryForTxn  uint64
	RetryAttempt int
	PreRecord    bool // still running
	Reverted     bool
	ToRevert     int      // values that had to be brought back
	NotReverted  int      // those of them that could not be
	Unread       []Unread // descriptors that a resync could not read
	Values       []struct{ Key string }
	Executed     []TxnOp
	// OmittedOps and OmittedValues count what the agent has dropped from Executed and
	// Values, because its history has reached transaction-history-max-bytes.
	OmittedOps, OmittedValues int

	Raw json.RawMessage `json:"-"`
}

// TxnOp is an executed operation.
type TxnOp struct {
	Operation  string
	Key        string
	NewState   string
	NewErrMsg  string
	PrevErrMsg string
	NOOP       bool
	IsRevert   bool
	IsRetry    bool
}

// UnmarshalJSON reads a transaction and keeps the text.
func (t *Txn) UnmarshalJSON(data []byte) error {
	type plain Txn
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	t.Raw = append(json.RawMessage(nil), data...)
	return nil
}

// History returns the transactions that the agent remembers.
func (c *Client) History(ctx context.Context) (list []Txn, err error) {
	err = c.getJSON(ctx, "/scheduler/txn-history", url.Values{"format": {"json"}}, &list)
	return list, err
}

// Transaction returns one transaction.
func (c *Client) Transaction(ctx context.Context, seq uint64) (t Txn, err error) {
	query := url.Values{"format": {"json"}, "seq-num": {strconv.FormatUint(seq, 10)}}
	err = c.getJSON(ctx, "/scheduler/txn-history", query, &t)
	return t, err
}

// HistoryText returns one transaction, or all of them if seq is nil, in the
// form of the log.
func (c *Client) HistoryText(ctx context.Context, seq *uint64) (string, error) {
	query := url.Values{"format": {"text"}}
	if seq != nil {
		query.Set("seq-num", strconv.FormatUint(*seq, 10))
	}
	body, err := c.get(ctx, "/scheduler/txn-history", query)
	return string(body), err
}

// Resync makes the agent read the southbound again and repair what differs.
// With retry, what fails is tried again later.
func (c *Client) Resync(ctx context.Context, retry, verbose bool) (t Txn, err error) {
	const path = "/scheduler/downstream-resync"
	query := url.Values{}
	for name, set := range map[string]bool{"retry": retry, "verbose": verbose} {
		if set {
			query.Set(name, "1")
		}
	}
	body, err := c.do(ctx, http.MethodPost, path, query, nil)
	if err != nil {
		return t, err
	}
	return t, decode(path, body, &t)
}

// GraphQuery says which picture of the graph is wanted.
type GraphQuery struct {
	Format   string   // "svg", "dot" or "raw"
	Txn      *uint64  // after this transaction; nil: now
	Prefixes []string // of the keys to show; empty: all
}

// Graph returns a picture of the values and their relations.
func (c *Client) Graph(ctx context.Context, q GraphQuery) ([]byte, error) {
	query := url.Values{"format": {q.Format}}
	if q.Txn != nil {
		query.Set("txn", strconv.FormatUint(*q.Txn, 10))
	}
	for _, p := range q.Prefixes {
		query.Add("prefix", p)
	}
	return c.get(ctx, "/scheduler/graph", query)
}

// Explanation is what a value waits for, or stands on.
type Explanation struct {
	Key      string
	State    string
	Since    time.Time     `json:",omitzero"`
	Reason   string        `json:",omitempty"`
	Label    string        `json:",omitempty"`
	Children []Explanation `json:",omitempty"`
	// Undescribed: there is no such value, and no descriptor of the agent has keys
	// like this.
	Undescribed bool `json:",omitempty"`
	// NotConfigured: there is no such value, because no source asks for it.
	NotConfigured bool `json:",omitempty"`
}

// Why asks what a value waits for, down to what blocks it.
func (c *Client) Why(ctx context.Context, key string) (e Explanation, err error) {
	err = c.getJSON(ctx, "/scheduler/why", url.Values{"key": {key}, "format": {"json"}}, &e)
	return e, err
}

// WhyText is Why as a tree for people.
func (c *Client) WhyText(ctx context.Context, key string) (string, error) {
	body, err := c.get(ctx, "/scheduler/why", url.Values{"key": {key}, "format": {"text"}})
	return string(body), err
}
