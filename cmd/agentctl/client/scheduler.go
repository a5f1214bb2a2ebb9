package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// Values returns the states of all values, with the times of their last changes, if the agent
// knows them.
func (c *Client) Values(ctx context.Context) (list []response.TimedStatus, err error) {
	err = c.getJSON(ctx, "/scheduler/status", url.Values{"times": {"1"}}, &list)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusBadRequest { // an older agent
		err = c.getJSON(ctx, "/scheduler/status", nil, &list)
	}
	return list, err
}

// Summary counts the values by state and names the worst, at most so many.
func (c *Client) Summary(ctx context.Context, worst int) (sum response.Summary, err error) {
	err = c.getJSON(ctx, "/scheduler/summary", url.Values{"limit": {strconv.Itoa(worst)}}, &sum)
	return sum, err
}

// DumpIndex returns the possible arguments of Dump.
func (c *Client) DumpIndex(ctx context.Context) (index response.DumpIndex, err error) {
	err = c.getJSON(ctx, "/scheduler/dump", nil, &index)
	return index, err
}

// Dump returns the values with a key prefix of DumpIndex; view is "SB" (the actual
// state, read now), "NB" (the desired state) or "cached" (the actual state as the
// scheduler knows it).
func (c *Client) Dump(ctx context.Context, keyPrefix, view string) (list []response.DumpedValue, err error) {
	query := url.Values{"key-prefix": {keyPrefix}, "view": {view}}
	err = c.getJSON(ctx, "/scheduler/dump", query, &list)
	return list, err
}

// GraphQuery selects a picture of the graph.
type GraphQuery struct {
	Format   string   // "dot", "raw", "svg" or "png"
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

// Revision is a value during a period, as response.Node; Until is zero while it lasts.
type Revision struct {
	Since, Until   time.Time
	Value          *api.EncodedValue
	Flags          map[string]string
	MetadataFields map[string][]string
	Targets        []response.Target
}

// Timeline returns how a value changed, as far as the history reaches.
func (c *Client) Timeline(ctx context.Context, key string) (list []Revision, err error) {
	err = c.getJSON(ctx, "/scheduler/key-timeline", url.Values{"key": {key}}, &list)
	return list, err
}

// Why explains the state of a value, down to the values that block it.
func (c *Client) Why(ctx context.Context, key string) (e api.Explanation, err error) {
	err = c.getJSON(ctx, "/scheduler/why", url.Values{"key": {key}, "format": {"json"}}, &e)
	return e, err
}

// WhyText is Why as a tree in text.
func (c *Client) WhyText(ctx context.Context, key string) (string, error) {
	body, err := c.get(ctx, "/scheduler/why", url.Values{"key": {key}, "format": {"text"}})
	return string(body), err
}
