package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Drift is a value that is not in the southbound what it should be there.
type Drift struct {
	Key        string
	Descriptor string
	Base       string   `json:",omitempty"` // the value it is derived from
	Kind       string   // "missing", "differs" or "unexpected"
	Believed   *Message `json:",omitempty"`
	Found      *Message `json:",omitempty"`
	Fields     []struct {
		Field    string
		Believed string `json:",omitempty"`
		Found    string `json:",omitempty"`
	} `json:",omitempty"`
}

// DriftReport is the result of a comparison of the southbound with what the
// scheduler believes to exist. The JSON that it came from is in Raw.
type DriftReport struct {
	Start, Stop time.Time
	Values      int
	Drifts      []Drift
	Unread      []Unread
	Repairs     []uint64 // the transactions that repaired
	Errors      []string // what failed of the repair

	Raw json.RawMessage `json:"-"`
}

// Unread is a kind of values, by descriptor, that could not be read; Never tells
// that it cannot be.
type Unread struct {
	Descriptor, Reason string
	Never              bool
}

// UnmarshalJSON reads a report and keeps the text.
func (r *DriftReport) UnmarshalJSON(data []byte) error {
	type plain DriftReport
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	r.Raw = append(json.RawMessage(nil), data...)
	return nil
}

const driftPath = "/scheduler/drift"

// DetectDrift makes the agent compare the southbound with what it believes to
// exist.
func (c *Client) DetectDrift(ctx context.Context) (r DriftReport, err error) {
	err = c.getJSON(ctx, driftPath, url.Values{"detect": {"1"}}, &r)
	return r, err
}

// LastDrift returns the result of the last comparison.
func (c *Client) LastDrift(ctx context.Context) (r DriftReport, err error) {
	err = c.getJSON(ctx, driftPath, nil, &r)
	return r, err
}

// RepairDrift makes the agent compare, and repair what differs. With retry,
// what fails is tried again later.
func (c *Client) RepairDrift(ctx context.Context, retry bool) (r DriftReport, err error) {
	query := url.Values{"repair": {"1"}}
	if retry {
		query.Set("retry", "1")
	}
	body, err := c.do(ctx, http.MethodPost, driftPath, query, nil)
	if err != nil {
		return r, err
	}
	return r, decode(driftPath, body, &r)
}
