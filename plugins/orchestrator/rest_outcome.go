package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// reply are the client's options for the response.
type reply struct {
	wait     time.Duration // maximum time to wait until the items are in effect; 0: do not wait
	problems bool          // only the items that are not in effect
}

const (
	replyDoc = "?wait=30s waits until the items are in effect or cannot be, ?results=problems omits those that are in effect"

	// maxProblems limits the results with results=problems.
	maxProblems = 1000
)

// replyOf reads the parameters wait and results.
func replyOf(r *http.Request) (o reply, err error) {
	query := r.URL.Query()
	if text := query.Get("wait"); text != "" {
		if o.wait, err = time.ParseDuration(text); err != nil || o.wait <= 0 {
			return o, fmt.Errorf("parameter wait: %q: expected a positive duration such as 30s", text)
		}
	}
	switch text := query.Get("results"); text {
	case "", "all":
	case "problems":
		o.problems = true
	default:
		return o, fmt.Errorf("parameter results: %q: expected all or problems", text)
	}
	return o, nil
}

// outcome returns the response to a change of the source that ended with err.
// If the client waits, retries may have succeeded by then.
func (p *Plugin) outcome(ctx context.Context, o reply, source string, items []KeyVal, results []Result, err error) response.Outcome {
	var txn *api.TransactionError
	applied := err == nil || errors.As(err, &txn) && txn.GetTxnInitError() == nil && !txn.Reverted()
	if o.wait > 0 && applied {
		bound, cancel := context.WithTimeout(ctx, o.wait)
		_ = p.WaitFor(bound, items, results) // the results contain the reasons of a timeout
		cancel()
		results = p.results(items, nil)
	}
	effects, summary := Effects(source, results)
	out := response.Outcome{Results: make([]response.Item, 0, len(results))}
	if o.problems {
		out.Results = out.Results[:0:0]
	}
	for i := range results {
		switch {
		case o.problems && effects[i].InEffect():
		case o.problems && len(out.Results) == maxProblems:
			out.Omitted++
		default:
			out.Results = append(out.Results, outcomeOf(&results[i], &effects[i]))
		}
	}
	if applied {
		out.Summary = &summary
		out.Overrides, out.Overridden = p.overrides(source, items)
	}
	if err != nil && (!applied || o.wait == 0 || summary.Failed > 0) {
		out.Error = err.Error()
	}
	return out
}

func outcomeOf(r *Result, e *Effect) response.Item {
	o := response.Item{Key: r.Key, Source: r.Source, Reason: e.Reason}
	if r.Status != nil {
		o.State = r.Status.GetValue().GetState().String()
		o.Error = r.Status.GetValue().GetError()
	}
	if r.Err != nil {
		o.Error = r.Err.Error()
	}
	if !e.InEffect() && !e.Shadowed {
		o.State = e.State.String()
	}
	for _, w := range e.WaitsFor {
		if w.GetKey() != "" {
			o.WaitsFor = append(o.WaitsFor, w.GetKey())
		}
		for _, prefix := range w.GetPrefixes() {
			o.WaitsFor = append(o.WaitsFor, prefix+"*")
		}
	}
	return o
}
