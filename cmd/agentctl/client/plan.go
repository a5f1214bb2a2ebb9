package client

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
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

// Applied is what became of a plan.
type Applied struct {
	Outcome
	SeqNum    *uint64          `json:"seq_num,omitempty"` // of the transaction; nil: there was none
	ConfirmBy time.Time        `json:"confirm_by,omitzero"`
	Left      []api.PlanReason `json:"left,omitempty"`
}

// PlanRequest is what a plan is made of.
type PlanRequest struct {
	Document string // in YAML or JSON
	Replace  bool   // remove items given before and not in the document
}

func (r PlanRequest) query() url.Values {
	query := url.Values{}
	if r.Replace {
		query.Set("replace", "true")
	}
	return query
}

// Plan asks what UpdateConfiguration would do. The plan has its fingerprint and
// the first operations (limit 0: all). An agent that knows no fingerprints answers
// with the whole plan, for Apply; if there are secrets in it, only that of a client
// with ShowSecrets can be applied.
func (c *Client) Plan(ctx context.Context, r PlanRequest, limit uint) ([]byte, error) {
	query := r.query()
	query.Set("limit", strconv.FormatUint(uint64(limit), 10))
	plan, err := c.do(ctx, http.MethodPost, "/scheduler/plan", query, []byte(r.Document))
	return plan, problemsOf(err)
}

// Apply makes the changes of a whole plan, if nothing that it touches has changed.
// If it failed in part the results are there beside the error.
func (c *Client) Apply(ctx context.Context, plan []byte, o ApplyOptions) (Applied, error) {
	return c.apply(ctx, "/scheduler/apply", o.query(), plan)
}

// ApplyRequest makes the changes of a request, if its plan still has the
// fingerprint.
func (c *Client) ApplyRequest(ctx context.Context, r PlanRequest, fingerprint string, o ApplyOptions) (Applied, error) {
	query := r.query()
	maps.Copy(query, o.query())
	query.Set("fingerprint", fingerprint)
	return c.apply(ctx, "/scheduler/apply", query, []byte(r.Document))
}

// Rollback makes the agent want again what it wanted after a transaction.
func (c *Client) Rollback(ctx context.Context, to uint64, o ApplyOptions) (Applied, error) {
	query := o.query()
	query.Set("to", strconv.FormatUint(to, 10))
	return c.apply(ctx, "/scheduler/rollback", query, nil)
}

// PlanRollback asks what Rollback would do, as a plan to look at.
func (c *Client) PlanRollback(ctx context.Context, to uint64) ([]byte, error) {
	query := url.Values{"dry-run": {"true"}, "to": {strconv.FormatUint(to, 10)}, "limit": {"1000"}}
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
