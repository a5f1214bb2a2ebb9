package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
)

// CriticalPath tells where the time of a transaction went, in seconds. The JSON
// that it came from is in Raw.
type CriticalPath struct {
	SeqNum             uint64
	Kind, Description  string
	Total              float64
	Phases             []Phase
	Operations, Length int // of the transaction, and of the path
	Steps              []CriticalStep

	Raw json.RawMessage `json:"-"`
}

// Phase is a part of the life of a transaction: "turn" and "merge" before it comes to
// the scheduler, "queue", "prepare", "plan", "record", "execute" or "finish"; For says
// what the time went into.
type Phase struct {
	Name, For   string
	Took, Share float64
}

// CriticalStep is an operation on the critical path.
type CriticalStep struct {
	Number             int
	Operation, Key     string
	Error              string
	After              int    // number of the operation that it waited for; 0: none
	For                string // why: "dependency", "slot", "turn", "removals" or "replan"
	Waited, Ran, Share float64
	Skipped            int // steps before this one that are not listed
	SkippedTook        float64
}

// CriticalPath asks where the time of a transaction went; limit bounds the
// steps, 0 asks for all.
func (c *Client) CriticalPath(ctx context.Context, seq uint64, limit uint) (p CriticalPath, err error) {
	body, err := c.get(ctx, "/scheduler/txn-history", criticalPath(seq, limit, "json"))
	if err != nil {
		return p, err
	}
	p.Raw = body
	return p, decode("/scheduler/txn-history", body, &p)
}

// CriticalPathText is CriticalPath for people.
func (c *Client) CriticalPathText(ctx context.Context, seq uint64, limit uint) (string, error) {
	body, err := c.get(ctx, "/scheduler/txn-history", criticalPath(seq, limit, "text"))
	return string(body), err
}

func criticalPath(seq uint64, limit uint, format string) url.Values {
	return url.Values{
		"seq-num": {strconv.FormatUint(seq, 10)}, "critical-path": {"1"}, "format": {format},
		"limit": {strconv.FormatUint(uint64(limit), 10)},
	}
}

// Queue is what waits for its turn in the scheduler.
type Queue struct {
	Length    int
	Capacity  int            // transactions of the northbound that can wait
	Waiting   map[string]int // by class
	OldestAge float64        // seconds
	Running   *RunningTxn    `json:",omitempty"` // nil: nothing
	Changes   *Changes       `json:",omitempty"` // nil: the agent does not tell
}

// RunningTxn is what the scheduler executes.
type RunningTxn struct {
	Class       string
	Description string    `json:",omitempty"`
	For         float64   // seconds
	Progress    *Progress `json:",omitempty"` // nil: it is planned, or the agent does not tell
}

// Progress is how far a transaction is: of the phase "retrieving" how many records
// of the descriptor were read, else how many operations of how many are done.
type Progress struct {
	Phase, Descriptor string
	Done, Total       uint64
}

// Changes are those of the northbound that are not in the queue of the scheduler
// yet; times are in seconds.
type Changes struct {
	Capacity int            // how many of clients can wait
	Waiting  int            // all that waits
	Clients  int            // those of clients among them
	Sources  map[string]int // how many wait on behalf of which source
	// Most has the most clients waiting, MostWaiting of them: a user, a host, or a
	// connection.
	Most        string `json:",omitempty"`
	MostWaiting int    `json:",omitempty"`
	OldestAge   float64
	Closed      bool           `json:",omitempty"` // clients wait for the initial synchronisation
	Running     *RunningChange `json:",omitempty"` // nil: none
	Refused     uint64         // changes that found no room
	Canceled    uint64         // changes that were given up while they waited
}

// RunningChange is the change that has its turn.
type RunningChange struct {
	Source string `json:",omitempty"`
	What   string
	For    float64 // seconds
}

// Queue asks what waits for its turn.
func (c *Client) Queue(ctx context.Context) (q Queue, err error) {
	err = c.getJSON(ctx, "/scheduler/queue", nil, &q)
	return q, err
}
