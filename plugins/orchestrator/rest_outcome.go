package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// outcome is the response to a change.
type outcome struct {
	Error   string        `json:"error,omitempty"`
	Results []itemOutcome `json:"results"`
	// Summary counts the results of all items; absent if nothing was changed.
	Summary *Summary `json:"summary,omitempty"`
	// Omitted is the number of items without effect that are not among the
	// results.
	Omitted int `json:"omitted,omitempty"`
}

type itemOutcome struct {
	Key    string `json:"key"`
	State  string `json:"state,omitempty"`
	Source string `json:"source,omitempty"` // of the value in effect
	Error  string `json:"error,omitempty"`
	// Reason is why the item is not in effect: its error, or its missing
	// dependencies.
	Reason string `json:"reason,omitempty"`
}

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
func (p *Plugin) outcome(ctx context.Context, o reply, source string, items []KeyVal, results []Result, err error) outcome {
	var txn *api.TransactionError
	applied := err == nil || errors.As(err, &txn) && txn.GetTxnInitError() == nil && !txn.Reverted()
	if o.wait > 0 && applied {
		bound, cancel := context.WithTimeout(ctx, o.wait)
		_ = p.WaitFor(bound, items, results) // the results contain the reasons of a timeout
		cancel()
		results = p.results(items, nil)
	}
	effects, summary := p.Effects(source, results)
	out := outcome{Results: make([]itemOutcome, 0, len(results))}
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
	}
	if err != nil && (!applied || o.wait == 0 || summary.Failed > 0) {
		out.Error = err.Error()
	}
	return out
}

func outcomeOf(r *Result, e *Effect) itemOutcome {
	o := itemOutcome{Key: r.Key, Source: r.Source, Reason: e.Reason}
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
	return o
}
