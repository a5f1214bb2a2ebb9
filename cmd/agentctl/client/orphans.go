package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

const orphansPath = "/scheduler/orphans"

// Orphans lists the values that exist in the southbound and are not configured.
func (c *Client) Orphans(ctx context.Context) (Answer[response.Orphans], error) {
	return get[response.Orphans](ctx, c, orphansPath, nil)
}

// RemoveOrphans removes values that are Ours or Marked, and lists the remaining ones.
func (c *Client) RemoveOrphans(ctx context.Context, keys []string) (Answer[response.Orphans], error) {
	return ask[response.Orphans](ctx, c, http.MethodPost, orphansPath, url.Values{"remove": {"1"}, "key": keys})
}
