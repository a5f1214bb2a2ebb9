package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ApplyOptions say how a plan is applied.
type ApplyOptions struct {
	Revert         bool          // undo everything if a value fails
	Verify         bool          // read the southbound again and compare
	ConfirmTimeout time.Duration // take the change back unless it is confirmed in time; 0: never
	Wait           time.Duration // until the items are in effect, at most; 0: not
}

func (o ApplyOptions) query() url.Values {
	query := outcomeQuery(url.Values{}, o.Wait)
	if o.Revert {
		query.Set("revert", "true")
	}
	if o.Verify {
		query.Set("verify", "true")
	}
	if o.ConfirmTimeout > 0 {
		query.Set("confirm-timeout", o.ConfirmTimeout.String())
	}
	return query
}

// Reason tells why a value is left out.
type Reason struct{ Key, Reason string }

// Applied is what became of a plan.
type Applied struct {
	Outcome
	SeqNum    *uint64   `json:"seq_num,omitempty"` // of the transaction; nil: there was none
	ConfirmBy time.Time `json:"confirm_by,omitzero"`
	Left      []Reason  `json:"left,omitempty"`
}

// Plan asks what UpdateConfiguration would do. The plan can be kept and given to
// Apply; if there are secrets in it, only that of a client with ShowSecrets.
func (c *Client) Plan(ctx context.Context, document []byte, replace bool) ([]byte, error) {
	query := url.Values{}
	if replace {
		query.Set("replace", "true")
	}
	plan, err := c.do(ctx, http.MethodPost, "/scheduler/plan", query, document)
	return plan, problemsOf(err)
}

// Apply makes the changes of a plan, if nothing that it touches has changed.
// If it failed in part the results are there beside the error.
func (c *Client) Apply(ctx context.Context, plan []byte, o ApplyOptions) (Applied, error) {
	return c.apply(ctx, "/scheduler/apply", o.query(), plan)
}

// Rollback makes the agent want again what it wanted after a transaction.
func (c *Client) Rollback(ctx context.Context, to uint64, o ApplyOptions) (Applied, error) {
	query := o.query()
	query.Set("to", strconv.FormatUint(to, 10))
	return c.apply(ctx, "/scheduler/rollback", query, nil)
}

// PlanRollback asks what Rollback would do, as a plan for Apply.
func (c *Client) PlanRollback(ctx context.Context, to uint64) ([]byte, error) {
	query := url.Values{"dry-run": {"true"}, "to": {strconv.FormatUint(to, 10)}}
	return c.do(ctx, http.MethodPost, "/scheduler/rollback", query, nil)
}

func (c *Client) apply(ctx context.Context, path string, query url.Values, body []byte) (a Applied, err error) {
	answer, err := c.do(ctx, http.MethodPost, path, query, body)
	var e *Error
	if errors.As(err, &e) && json.Unmarshal(e.Body, &a) == nil {
		return a, err
	}
	if err != nil {
		return a, err
	}
	return a, decode(path, answer, &a)
}

// Confirm keeps the change that waits for it and returns its transaction; nil
// if that is not known.
func (c *Client) Confirm(ctx context.Context) (seqNum *uint64, err error) {
	const path = "/scheduler/confirm"
	body, err := c.do(ctx, http.MethodPost, path, nil, nil)
	if err != nil {
		return nil, err
	}
	var a Applied
	err = decode(path, body, &a)
	return a.SeqNum, err
}
