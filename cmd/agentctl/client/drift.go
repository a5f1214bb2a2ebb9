package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

const driftPath = "/scheduler/drift"

// DetectDrift makes the agent compare the southbound with the values that it applied.
func (c *Client) DetectDrift(ctx context.Context) (Answer[response.Drift], error) {
	return get[response.Drift](ctx, c, driftPath, url.Values{"detect": {"1"}})
}

// LastDrift returns the result of the last comparison.
func (c *Client) LastDrift(ctx context.Context) (Answer[response.Drift], error) {
	return get[response.Drift](ctx, c, driftPath, nil)
}

// RepairDrift makes the agent compare, and repair what differs. With retry, the agent
// retries failed operations later.
func (c *Client) RepairDrift(ctx context.Context, retry bool) (Answer[response.Drift], error) {
	query := url.Values{"repair": {"1"}}
	if retry {
		query.Set("retry", "1")
	}
	return ask[response.Drift](ctx, c, http.MethodPost, driftPath, query)
}
