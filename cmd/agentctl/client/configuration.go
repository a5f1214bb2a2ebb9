package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// ProblemsError reports that a document was refused, and all that is wrong with
// it.
type ProblemsError struct{ Problems []response.Problem }

// Error reports the first problem and how many there are.
func (e *ProblemsError) Error() string {
	if len(e.Problems) == 0 {
		return "the document was refused"
	}
	p := e.Problems[0]
	text := fmt.Sprintf("line %d: %s: %s", p.Line, p.Path, p.Error)
	if n := len(e.Problems) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// ChangeOptions say how a document is applied.
type ChangeOptions struct {
	Replace bool          // remove items given before and not in the document
	Wait    time.Duration // until the items are in effect, at most; 0: not
	Labels  string        // of the items, as in "team=blue,owner"
}

// outcomeQuery asks for the items that are not in effect, after a wait.
func outcomeQuery(query url.Values, wait time.Duration) url.Values {
	query.Set("results", "problems")
	if wait > 0 {
		query.Set("wait", wait.String())
	}
	return query
}

// Get returns the desired items as YAML. labels selects items by their labels, as in
// "team=blue,owner,!old"; empty: all items.
func (s ConfigurationService) Get(ctx context.Context, labels string) ([]byte, error) {
	return s.c.get(ctx, "/configuration", parameters("labels", labels))
}

// Update adds or changes the items of a document in YAML or JSON.
// A document with mistakes is refused as a whole with a *ProblemsError. If a part
// failed there is an outcome beside the error; it is nil if nothing was changed.
func (s ConfigurationService) Update(ctx context.Context, document []byte, o ChangeOptions) (*response.Outcome, error) {
	const path = "/configuration"
	query := outcomeQuery(parameters("replace", when(o.Replace, "true"), "labels", o.Labels), o.Wait)
	body, err := s.c.do(ctx, http.MethodPut, path, query, document)
	if err != nil {
		return outcomeOf(err)
	}
	answer := &response.Outcome{}
	return answer, decode(path, body, answer)
}

// outcomeOf finds the outcome in the answer to a change that failed in part.
func outcomeOf(err error) (*response.Outcome, error) {
	var answer response.Outcome
	if e, ok := errors.AsType[*Error](err); ok && json.Unmarshal(e.Body, &answer) == nil && (answer.Summary != nil || len(answer.Results) > 0) {
		return &answer, err
	}
	return nil, problemsOf(err)
}

// Validate asks what is wrong with a document, without changing
// anything; the error is a *ProblemsError.
func (s ConfigurationService) Validate(ctx context.Context, document []byte) error {
	_, err := s.c.do(ctx, http.MethodPost, "/configuration/validate", nil, document)
	return problemsOf(err)
}

// problemsOf finds the problems in the answer that refused a document.
func problemsOf(err error) error {
	var problems []response.Problem
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusBadRequest && json.Unmarshal(e.Body, &problems) == nil {
		return &ProblemsError{problems}
	}
	return err
}
