package client

import (
	"context"
	"net/url"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// Models returns the models of the agent; described asks for the descriptors of their
// messages, too.
func (c *Client) Models(ctx context.Context, described bool) (m response.Models, err error) {
	query := url.Values{}
	if described {
		query.Set("descriptors", "true")
	}
	err = c.getJSON(ctx, "/info/models", query, &m)
	return m, err
}

// Items returns the sources of all items, or of those with the keys, with their values.
func (c *Client) Items(ctx context.Context, keys ...string) (items []response.SourcedItem, err error) {
	err = c.getJSON(ctx, "/configuration/items", url.Values{"key": keys}, &items)
	return items, err
}

// Sources returns the states of the sources of the configuration, the one with the
// highest priority last.
func (c *Client) Sources(ctx context.Context) (list []orchestrator.SourceStatus, err error) {
	err = c.getJSON(ctx, "/configuration/sources", nil, &list)
	return list, err
}
