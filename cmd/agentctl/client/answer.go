package client

import (
	"context"
	"encoding/json"
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
func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values) (a Answer[T], err error) {
	a.Raw, err = c.do(ctx, method, path, query, nil)
	if err != nil {
		return a, err
	}
	return a, decode(path, a.Raw, &a.Value)
}

// get asks for a path and decodes the answer.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (Answer[T], error) {
	return ask[T](ctx, c, http.MethodGet, path, query)
}
