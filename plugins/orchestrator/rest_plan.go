package orchestrator

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// planEndpoints returns the endpoints of plans. They belong to the
// orchestrator rather than the scheduler because applying a plan must also
// change its source; otherwise the next synchronisation would revert it.
func (p *Plugin) planEndpoints() []rest.Endpoint {
	post, write := []string{http.MethodPost}, []string{rest.GroupConfigWrite}
	return []rest.Endpoint{
		{Path: "/scheduler/plan", Methods: post, Groups: []string{rest.GroupConfigValidation}, Handler: p.postPlan,
			Query: []string{"replace", "limit", rest.ShowSecretsParameter}, Response: api.SealedPlan{},
			Doc: "what PUT /configuration with the same body would do, as a plan to apply later; ?replace; ?limit=N for its fingerprint and its first N operations and items (0: all), ?show-secrets for a plan that can be applied if there are secrets in it"},
		{Path: "/scheduler/apply", Methods: post, Groups: write, Handler: p.postApply,
			Query: []string{"fingerprint", "replace", "revert", "verify", "confirm-timeout", "commit-id", "wait", "results"}, Response: response.Applied{},
			Doc: "apply a plan unless its values have changed (409); with ?fingerprint=F the body is the request to /scheduler/plan (and ?replace); ?revert, ?verify, ?confirm-timeout=60s, ?commit-id=ID for the confirmation; " + replyDoc},
		{Path: "/scheduler/confirm", Methods: post, Groups: write, Handler: p.postConfirm, Query: []string{"id"}, Response: confirmed{},
			Doc: "confirm the change that was applied with a confirm-timeout and has this commit_id (409 if another change is waiting); without ?id whichever is waiting"},
		{Path: "/scheduler/cancel", Methods: post, Groups: write, Handler: p.postCancel, Query: []string{"id"}, Response: struct{}{},
			Doc: "revert the change that is waiting for confirmation and has this commit_id (409 if another change is waiting); without ?id whichever is waiting"},
		{Path: "/scheduler/rollback", Methods: post, Groups: write, Handler: p.postRollback,
			Query:    []string{"to", "dry-run", "limit", rest.ShowSecretsParameter, "revert", "verify", "confirm-timeout", "commit-id", "wait", "results"},
			Response: rest.OneOf{response.Applied{}, api.SealedPlan{}},
			Doc:      "restore the configuration after transaction ?to=N; ?dry-run for the plan (?show-secrets as above), ?revert, ?verify, ?confirm-timeout=60s, ?commit-id=ID; 409 with the keys and reasons in left if values cannot be restored: the others are"},
	}
}

func (p *Plugin) postPlan(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	if plan := p.PlanRequest(w, r); plan != nil {
		writePlan(w, r, plan, limit)
	}
}

// PlanRequest plans the items in the body of a request to POST /scheduler/plan; nil if it has sent an error response.
func (p *Plugin) PlanRequest(w http.ResponseWriter, r *http.Request) *Plan {
	replace, err := boolean(r, "replace")
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return nil
	}
	b, err := p.body(r)
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return nil
	}
	if len(b.problems) > 0 {
		rest.WriteJSON(w, http.StatusBadRequest, b.problems)
		return nil
	}
	opts := []PushOption{WithCaller(callerOf(r))}
	if replace {
		opts = append(opts, WithResync())
	}
	plan, err := p.PlanData(r.Context(), GRPC, b.items, opts...)
	if err != nil {
		rest.WriteError(w, statusOf(w, err), err)
		return nil
	}
	plan.Findings = b.locate(plan.Findings)
	return plan
}

// limitOf returns the parameter limit: the maximum number of operations to show; -1
// if it is missing.
func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("parameter limit: %q: expected a number of operations, or 0 for all", text)
	}
	return int(n), nil
}

// writePlan writes a plan: the whole plan, which can be applied, without a limit,
// or a plan by reference.
func writePlan(w http.ResponseWriter, r *http.Request, plan *Plan, limit int) {
	text, err := api.SealPlan(plan.Shown(limit, rest.ShowSecrets(r)))
	if err != nil {
		rest.WriteError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(append(text, '\n')) // fails only if the client has disconnected
}

// statusOf returns the HTTP status of an error, and sets its header.
func statusOf(w http.ResponseWriter, err error) int {
	if after := RetryAfter(err); after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	return planStatus(err)
}

// planStatus returns the HTTP status of an error.
func planStatus(err error) int {
	for status, kinds := range map[int][]error{
		http.StatusConflict:           {api.ErrPlanStale, ErrUnconfirmed, ErrNothingToConfirm, ErrOtherCommit, ErrNotRestored, ErrNothingToAccept},
		http.StatusNotFound:           {ErrUnknownSource},
		http.StatusBadRequest:         {api.ErrPlanDamaged, api.ErrPlanVersion, api.ErrPlanHidden, ErrInvalidItems},
		http.StatusServiceUnavailable: {ErrQueueFull, ErrWithdrawn, api.ErrClosedScheduler},
	} {
		for _, kind := range kinds {
			if errors.Is(err, kind) {
				return status
			}
		}
	}
	return http.StatusInternalServerError
}

// applyOptions reads the parameters of apply and rollback.
func applyOptions(r *http.Request) (o ApplyOptions, err error) {
	o.Caller = callerOf(r)
	if o.Revert, err = boolean(r, "revert"); err != nil {
		return o, err
	}
	if o.Verify, err = boolean(r, "verify"); err != nil {
		return o, err
	}
	if text := r.URL.Query().Get("confirm-timeout"); text != "" {
		if o.ConfirmTimeout, err = time.ParseDuration(text); err != nil || o.ConfirmTimeout <= 0 {
			return o, fmt.Errorf("parameter confirm-timeout: %q: expected a positive duration such as 60s", text)
		}
	}
	if o.CommitID = r.URL.Query().Get("commit-id"); o.CommitID != "" && o.ConfirmTimeout == 0 {
		return o, errors.New("parameter commit-id: expected together with confirm-timeout")
	}
	return o, nil
}

func (p *Plugin) postApply(w http.ResponseWriter, r *http.Request) {
	o, err := applyOptions(r)
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	reply, err := replyOf(r)
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	if r.URL.Query().Get("fingerprint") != "" {
		p.applyRequest(w, r, o, reply)
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, fmt.Errorf("read the body: %w", err))
		return
	}
	var plan Plan
	if err := api.OpenPlan(text, &plan); err != nil {
		rest.WriteError(w, planStatus(err), err)
		return
	}
	if plan.Changes == nil || plan.Source != GRPC || plan.Fingerprint != "" {
		rest.WriteError(w, http.StatusBadRequest, fmt.Errorf("%w: it is not a plan of source %s", api.ErrPlanDamaged, GRPC))
		return
	}
	if plan.Changes.Hidden {
		rest.WriteError(w, planStatus(api.ErrPlanHidden), fmt.Errorf("%w: expected a plan made with the parameter %s", api.ErrPlanHidden, rest.ShowSecretsParameter))
		return
	}
	p.writeApplied(w, r, &plan, o, reply)
}

// applyRequest plans the items of the body again, and applies the plan if it has
// the given fingerprint.
func (p *Plugin) applyRequest(w http.ResponseWriter, r *http.Request, o ApplyOptions, reply reply) {
	plan := p.PlanRequest(w, r)
	if plan == nil {
		return
	}
	if plan.fingerprint() != r.URL.Query().Get("fingerprint") {
		err := fmt.Errorf("%w: the request would have different effects now", api.ErrPlanStale)
		rest.WriteError(w, planStatus(err), err)
		return
	}
	p.writeApplied(w, r, plan, o, reply)
}

func (p *Plugin) writeApplied(w http.ResponseWriter, r *http.Request, plan *Plan, o ApplyOptions, reply reply) {
	applied, err := p.ApplyPlan(r.Context(), plan, o)
	if err == nil && plan.rollback {
		err = notRestored(plan.Left)
	}
	status := http.StatusOK
	out := response.Applied{
		Outcome:   p.outcome(r.Context(), reply, plan.Source, plan.items(), applied.Results, err),
		ConfirmBy: applied.ConfirmBy, CommitID: applied.CommitID, Left: plan.Left,
	}
	if applied.SeqNum != api.NoSeqNum {
		out.SeqNum = &applied.SeqNum
	}
	if out.Error != "" {
		status = statusOf(w, err)
	}
	rest.WriteJSON(w, status, out)
}

// confirmed is the response to a confirmation.
type confirmed struct {
	SeqNum *uint64 `json:"seq_num,omitempty"` // of the transaction that is confirmed
}

func (p *Plugin) postConfirm(w http.ResponseWriter, r *http.Request) {
	seq, err := p.ConfirmCommit(r.URL.Query().Get("id"))
	if err != nil {
		rest.WriteError(w, planStatus(err), err)
		return
	}
	var out confirmed
	if seq != api.NoSeqNum {
		out.SeqNum = &seq
	}
	rest.WriteJSON(w, http.StatusOK, out)
}

func (p *Plugin) postCancel(w http.ResponseWriter, r *http.Request) {
	if err := p.CancelCommit(r.Context(), r.URL.Query().Get("id")); err != nil {
		rest.WriteError(w, statusOf(w, err), err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, struct{}{})
}

func (p *Plugin) postRollback(w http.ResponseWriter, r *http.Request) {
	o, err := applyOptions(r)
	reply, rerr := replyOf(r)
	dry, derr := boolean(r, "dry-run")
	limit, lerr := limitOf(r)
	to, terr := strconv.ParseUint(r.URL.Query().Get("to"), 10, 64)
	if terr != nil {
		terr = fmt.Errorf("parameter to: %q: expected the number of a transaction", r.URL.Query().Get("to"))
	}
	if err := errors.Join(err, rerr, derr, lerr, terr); err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	plan, err := p.PlanRollback(r.Context(), to, o.Caller)
	switch {
	case errors.Is(err, ErrQueueFull):
		rest.WriteError(w, statusOf(w, err), err)
	case err != nil:
		rest.WriteError(w, http.StatusBadRequest, err)
	case dry:
		writePlan(w, r, plan, limit)
	default:
		p.writeApplied(w, r, plan, o, reply)
	}
}
