package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Problem is something wrong with a document, at its place.
type Problem struct {
	Path   string `json:"path"` // of the field, or the key of the item
	Error  string `json:"error"`
	Key    string `json:"key,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// ProblemsError reports that a document was refused, and all that is wrong with
// it.
type ProblemsError struct{ Problems []Problem }

// Error tells the first problem and how many there are.
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

// ItemResult is what became of an item of a document.
type ItemResult struct {
	Key    string `json:"key"`
	State  string `json:"state,omitempty"`  // of its value
	Source string `json:"source,omitempty"` // whose value is in effect
	Error  string `json:"error,omitempty"`
	Reason string `json:"reason,omitempty"` // why the item is not in effect
}

// Summary counts what became of the items of a change.
type Summary struct {
	Items    int            `json:"items"`
	InEffect int            `json:"in_effect"`
	States   map[string]int `json:"states,omitempty"` // of those that are not in effect
	Failed   int            `json:"failed"`           // or can never come into effect
	Text     string         `json:"text"`
}

// Outcome is what became of a change.
type Outcome struct {
	// Results are the items that are not in effect, or the first of them; an agent
	// without Summary lists all items.
	Results []ItemResult `json:"results"`
	Summary *Summary     `json:"summary,omitempty"`
	Omitted int          `json:"omitted,omitempty"` // items that are not among the results
}

// ChangeOptions say how a document is applied.
type ChangeOptions struct {
	Replace bool          // remove items given before and not in the document
	Wait    time.Duration // until the items are in effect, at most; 0: not
}

// outcomeQuery asks for the items that are not in effect, after a wait.
func outcomeQuery(query url.Values, wait time.Duration) url.Values {
	query.Set("results", "problems")
	if wait > 0 {
		query.Set("wait", wait.String())
	}
	return query
}

// Configuration returns what the northbound asks for now, as YAML.
func (c *Client) Configuration(ctx context.Context) ([]byte, error) {
	return c.get(ctx, "/configuration", nil)
}

// UpdateConfiguration adds or changes the items of a document in YAML or JSON.
// A document with mistakes is refused as a whole with a *ProblemsError. If a part
// failed there is an outcome beside the error; it is nil if nothing was changed.
func (c *Client) UpdateConfiguration(ctx context.Context, document []byte, o ChangeOptions) (*Outcome, error) {
	const path = "/configuration"
	query := outcomeQuery(url.Values{}, o.Wait)
	if o.Replace {
		query.Set("replace", "true")
	}
	body, err := c.do(ctx, http.MethodPut, path, query, document)
	if err != nil {
		return outcomeOf(err)
	}
	answer := &Outcome{}
	return answer, decode(path, body, answer)
}

// outcomeOf finds the outcome in the answer to a change that failed in part.
func outcomeOf(err error) (*Outcome, error) {
	var e *Error
	var answer Outcome
	if errors.As(err, &e) && json.Unmarshal(e.Body, &answer) == nil && (answer.Summary != nil || len(answer.Results) > 0) {
		return &answer, err
	}
	return nil, problemsOf(err)
}

// ValidateConfiguration asks what is wrong with a document, without changing
// anything; the error is a *ProblemsError.
func (c *Client) ValidateConfiguration(ctx context.Context, document []byte) error {
	_, err := c.do(ctx, http.MethodPost, "/configuration/validate", nil, document)
	return problemsOf(err)
}

// problemsOf finds the problems in the answer that refused a document.
func problemsOf(err error) error {
	var e *Error
	var problems []Problem
	if errors.As(err, &e) && e.Status == http.StatusBadRequest && json.Unmarshal(e.Body, &problems) == nil {
		return &ProblemsError{problems}
	}
	return err
}
