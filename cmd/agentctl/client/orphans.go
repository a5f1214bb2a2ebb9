package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Orphan is a value that exists in the southbound and that nobody asks for.
type Orphan struct {
	Key        string
	Descriptor string
	Ours       bool      // on record as made by the agent
	Marked     bool      `json:",omitempty"` // it has an agent's mark and is not on record
	Value      *Message  `json:",omitempty"`
	Txn        *uint64   `json:",omitempty"` // that made it what it is
	Since      time.Time `json:",omitzero"`
	Problem    string    `json:",omitempty"`
	Unread     bool      `json:",omitempty"` // not known to exist
}

// Orphans are all such values. The JSON that they came from is in Raw.
type Orphans struct {
	Orphans []Orphan
	SeqNum  *uint64  `json:",omitempty"` // of the removal
	Errors  []string `json:",omitempty"` // what failed of it

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the list and keeps the text.
func (o *Orphans) UnmarshalJSON(data []byte) error {
	type plain Orphans
	if err := json.Unmarshal(data, (*plain)(o)); err != nil {
		return err
	}
	o.Raw = append(json.RawMessage(nil), data...)
	return nil
}

const orphansPath = "/scheduler/orphans"

// Orphans lists what exists and is nobody's wish.
func (c *Client) Orphans(ctx context.Context) (o Orphans, err error) {
	err = c.getJSON(ctx, orphansPath, nil, &o)
	return o, err
}

// RemoveOrphans removes values that are Ours or Marked, and lists the remaining ones.
func (c *Client) RemoveOrphans(ctx context.Context, keys []string) (o Orphans, err error) {
	body, err := c.do(ctx, http.MethodPost, orphansPath, url.Values{"remove": {"1"}, "key": keys}, nil)
	if err != nil {
		return o, err
	}
	return o, decode(orphansPath, body, &o)
}
