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

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// ApplyOptions are the options of applying a plan.
type ApplyOptions struct {
	Revert         bool          // revert the transaction if a value fails
	Verify         bool          // read the southbound again and compare
	ConfirmTimeout time.Duration // revert the change unless it is confirmed in time; 0: never
	CommitID       string        // identifies the change for Confirm and Cancel; empty: the agent makes an ID
	Wait           time.Duration // maximum time to wait until the items are in effect; 0: do not wait
}

func (o ApplyOptions) query() url.Values {
	return outcomeQuery(parameters("revert", when(o.Revert, "true"), "verify", when(o.Verify, "true"),
		"confirm-timeout", when(o.ConfirmTimeout > 0, o.ConfirmTimeout.String()),
		"commit-id", o.CommitID), o.Wait)
}

// PlanRequest is the request of a plan.
type PlanRequest struct {
	Document string // in YAML or JSON
	Replace  bool   // remove items given before and not in the document
}

func (r PlanRequest) query() url.Values {
	return parameters("replace", when(r.Replace, "true"))
}

// Make returns the effects of UpdateConfiguration. The plan has its fingerprint and
// the first operations (limit 0: all).
func (s PlanService) Make(ctx context.Context, r PlanRequest, limit uint) ([]byte, error) {
	query := r.query()
	query.Set("limit", strconv.FormatUint(uint64(limit), 10))
	plan, err := s.c.do(ctx, http.MethodPost, "/scheduler/plan", query, []byte(r.Document))
	return plan, problemsOf(err)
}

// Apply executes a request if its plan still has the fingerprint.
func (s PlanService) Apply(ctx context.Context, r PlanRequest, fingerprint string, o ApplyOptions) (response.Applied, error) {
	query := r.query()
	maps.Copy(query, o.query())
	query.Set("fingerprint", fingerprint)
	return s.apply(ctx, "/scheduler/apply", query, []byte(r.Document))
}

// Rollback restores the desired state after a transaction.
func (s PlanService) Rollback(ctx context.Context, to uint64, o ApplyOptions) (response.Applied, error) {
	query := o.query()
	query.Set("to", number(&to))
	return s.apply(ctx, "/scheduler/rollback", query, nil)
}

// MakeRollback returns the plan of Rollback, for display.
func (s PlanService) MakeRollback(ctx context.Context, to uint64) ([]byte, error) {
	query := url.Values{"dry-run": {"true"}, "to": {number(&to)}, "limit": {"1000"}}
	return s.c.do(ctx, http.MethodPost, "/scheduler/rollback", query, nil)
}

func (s PlanService) apply(ctx context.Context, path string, query url.Values, body []byte) (a response.Applied, err error) {
	answer, err := s.c.do(ctx, http.MethodPost, path, query, body)
	if e, ok := errors.AsType[*Error](err); ok && json.Unmarshal(e.Body, &a) == nil {
		return a, err
	}
	if err != nil {
		return a, err
	}
	return a, decode(path, answer, &a)
}

// Confirm confirms the waiting change with an ID and returns its transaction; nil if
// unknown. Without an ID it confirms whichever change waits.
func (s PlanService) Confirm(ctx context.Context, id string) (seqNum *uint64, err error) {
	a, err := post[response.Applied](ctx, s.c, "/scheduler/confirm", parameters("id", id))
	return a.Value.SeqNum, err
}

// Cancel reverts the waiting change with an ID, or without one whichever change waits.
func (s PlanService) Cancel(ctx context.Context, id string) error {
	_, err := post[struct{}](ctx, s.c, "/scheduler/cancel", parameters("id", id))
	return err
}
