package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// ErrStreamEnded is the error of a watch that the agent ended.
var ErrStreamEnded = errors.New("the agent ended the stream")

// maxEvent is the maximum size of an event, in bytes.
const maxEvent = maxAnswer

// Watch calls f for the present states of the values, or for the changes since a
// revision, and then for each change, until f returns an error, the agent ends
// the stream (ErrStreamEnded) or ctx ends. Options.Timeout applies only until
// the stream begins.
func (s SchedulerService) Watch(ctx context.Context, prefix, since string, f func(api.WatchEvent) error) error {
	const path = "/scheduler/watch"
	resp, err := s.c.stream(ctx, path, parameters("prefix", prefix, "since", since), s.c.opts.Timeout)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return s.c.explain(err, s.c.opts.Timeout, http.MethodGet, path)
		}
		return refusal(http.MethodGet, path, resp.StatusCode, body)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	kind := api.WatchKind("")
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			kind = api.WatchKind(value)
		case "data":
			ev := api.WatchEvent{Kind: kind}
			if err := json.Unmarshal([]byte(value), &ev); err != nil {
				return fmt.Errorf("event of %s: %w", path, err)
			}
			if err := f(ev); err != nil {
				return err
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(ErrStreamEnded, lines.Err())
}

// stream sends a request whose response has to begin within some time (0 disables the
// limit), but may then take any time.
func (c *Client) stream(ctx context.Context, path string, query url.Values, within time.Duration) (*http.Response, error) {
	u := c.base + path + "?" + query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	c.authorize(req)
	begin := time.Now()
	transport := c.transport.Clone()
	transport.ResponseHeaderTimeout, transport.TLSHandshakeTimeout = within, within
	transport.DisableKeepAlives = true // the connection is not shared
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		c.trace(http.MethodGet, u, "no answer", begin)
		return nil, c.explain(err, c.opts.Timeout, http.MethodGet, path)
	}
	c.trace(http.MethodGet, u, resp.Status, begin)
	return resp, nil
}

// WaitQuery is the condition of Wait.
type WaitQuery struct {
	Keys     []string
	Prefixes []string      // of keys
	Txn      *uint64       // the values of a transaction; nil: none
	States   []string      // "CONFIGURED" if empty; "ABSENT" is one
	Timeout  time.Duration // 0 disables the limit
}

// waitReserve is how long an agent may take to respond after the timeout.
const waitReserve = 5 * time.Second

// Wait returns when values are in the requested states, or cannot reach them,
// or after the timeout; Options.Timeout does not apply.
func (s SchedulerService) Wait(ctx context.Context, q WaitQuery) (result response.Wait, err error) {
	query := parameters("txn", number(q.Txn), "timeout", when(q.Timeout > 0, q.Timeout.String()))
	maps.Copy(query, url.Values{"key": q.Keys, "prefix": q.Prefixes, "state": q.States})
	const path = "/scheduler/wait"
	within := q.Timeout
	if within > 0 {
		within += waitReserve
	}
	resp, err := s.c.stream(ctx, path, query, within)
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return result, s.c.explain(err, s.c.opts.Timeout, http.MethodGet, path)
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusConflict, http.StatusGatewayTimeout, http.StatusServiceUnavailable:
		return result, decode(path, body, &result)
	}
	return result, refusal(http.MethodGet, path, resp.StatusCode, body)
}
