package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Suspect is a value that may bring its southbound down.
type Suspect struct {
	Key         string
	Base        string `json:",omitempty"`
	Southbound  string
	Operation   string
	Crashes     []time.Time
	Quarantined bool // nothing is done with it any more
}

// Quarantine are the values in quarantine and those under suspicion. The JSON
// that they came from is in Raw.
type Quarantine struct {
	Suspects []Suspect

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the list and keeps the text.
func (q *Quarantine) UnmarshalJSON(data []byte) error {
	type plain Quarantine
	if err := json.Unmarshal(data, (*plain)(q)); err != nil {
		return err
	}
	q.Raw = append(json.RawMessage(nil), data...)
	return nil
}

const quarantinePath = "/scheduler/quarantine"

// Quarantine lists the values that bring their southbound down.
func (c *Client) Quarantine(ctx context.Context) (q Quarantine, err error) {
	err = c.getJSON(ctx, quarantinePath, nil, &q)
	return q, err
}

// ReleaseQuarantined lets values be tried again, all of them without keys, and
// lists those that are left.
func (c *Client) ReleaseQuarantined(ctx context.Context, keys []string) (q Quarantine, err error) {
	body, err := c.do(ctx, http.MethodPost, quarantinePath, url.Values{"release": {"1"}, "key": keys}, nil)
	if err != nil {
		return q, err
	}
	return q, decode(quarantinePath, body, &q)
}
