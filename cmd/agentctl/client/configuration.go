package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Problem is something wrong with a document, at its place.
type Problem struct {
	Path   string `json:"path"` // of the field, or the key of the item
	Error  string `json:"error"`
	Key    string `json:"key,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// ProblemsError tells that a document was refused, and all that is wrong with
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
}

// Configuration returns what the northbound asks for now, as YAML.
func (c *Client) Configuration(ctx context.Context) ([]byte, error) {
	return c.get(ctx, "/configuration", nil)
}

// UpdateConfiguration adds or changes the items of a document in YAML or JSON;
// with replace, items given before and not in the document are removed. A
// document with mistakes is refused as a whole with a *ProblemsError.
func (c *Client) UpdateConfiguration(ctx context.Context, document []byte, replace bool) ([]ItemResult, error) {
	const path = "/configuration"
	query := url.Values{}
	if replace {
		query.Set("replace", "true")
	}
	body, err := c.do(ctx, http.MethodPut, path, query, document)
	if err != nil {
		return resultsOf(err)
	}
	var answer struct {
		Results []ItemResult `json:"results"`
	}
	return answer.Results, decode(path, body, &answer)
}

// resultsOf finds the results in the answer to a change that failed in part.
func resultsOf(err error) ([]ItemResult, error) {
	var e *Error
	var answer struct {
		Error   string       `json:"error"`
		Results []ItemResult `json:"results"`
	}
	if errors.As(err, &e) && json.Unmarshal(e.Body, &answer) == nil && len(answer.Results) > 0 {
		return answer.Results, err
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
