package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
)

// Answer is an answer of the agent: the decoded value, and the JSON in Raw, which has
// all fields of a newer agent.
type Answer[T any] struct {
	Value T
	Raw   json.RawMessage
}

// ask sends a request and decodes the answer.
func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values, body []byte) (a Answer[T], err error) {
	if a.Raw, err = c.do(ctx, method, path, query, body); err != nil {
		return a, err
	}
	return a, decode(path, a.Raw, &a.Value)
}

// get asks for a path and decodes the answer.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (Answer[T], error) {
	return ask[T](ctx, c, http.MethodGet, path, query, nil)
}

// post asks the agent to do something and decodes the answer.
func post[T any](ctx context.Context, c *Client, path string, query url.Values) (Answer[T], error) {
	return ask[T](ctx, c, http.MethodPost, path, query, nil)
}

// value is get without the JSON of the answer.
func value[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	a, err := get[T](ctx, c, path, query)
	return a.Value, err
}

// send sends a value as JSON and decodes the answer.
func send[T any](ctx context.Context, c *Client, path string, request any) (answer T, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	a, err := ask[T](ctx, c, http.MethodPost, path, nil, body)
	return a.Value, err
}

// text asks for a path whose answer is text.
func text(ctx context.Context, c *Client, path string, query url.Values) (string, error) {
	body, err := c.get(ctx, path, query)
	return string(body), err
}

// parameters returns the parameters of a query, given as names and values in turn, without
// those that are empty.
func parameters(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// when returns the value of a parameter that is given only if something is set.
func when(set bool, value string) string {
	if set {
		return value
	}
	return ""
}

// HasStatus reports whether an error is a response of the agent with this HTTP status.
func HasStatus(err error, status int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == status
}
