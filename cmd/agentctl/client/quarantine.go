package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

const quarantinePath = "/scheduler/quarantine"

// Quarantine lists the quarantined values and the suspects.
func (c *Client) Quarantine(ctx context.Context) (Answer[response.Quarantine], error) {
	return get[response.Quarantine](ctx, c, quarantinePath, nil)
}

// ReleaseQuarantined makes the agent try quarantined values again, all of them without
// keys, and lists the remaining ones.
func (c *Client) ReleaseQuarantined(ctx context.Context, keys []string) (Answer[response.Quarantine], error) {
	return ask[response.Quarantine](ctx, c, http.MethodPost, quarantinePath, url.Values{"release": {"1"}, "key": keys})
}
