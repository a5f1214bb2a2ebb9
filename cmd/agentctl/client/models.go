package client

import (
	"context"
	"net/url"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// Models returns the models of the agent; described asks for the descriptors of their
// messages, too.
func (s AgentService) Models(ctx context.Context, described bool) (response.Models, error) {
	return value[response.Models](ctx, s.c, "/info/models", parameters("descriptors", when(described, "true")))
}

// Items returns the sources of all items, or of those with the keys, with their values.
func (s ConfigurationService) Items(ctx context.Context, keys ...string) ([]response.SourcedItem, error) {
	return value[[]response.SourcedItem](ctx, s.c, "/configuration/items", url.Values{"key": keys})
}

// Sources returns the states of the sources of the configuration, the one with the
// highest priority last.
func (s ConfigurationService) Sources(ctx context.Context) ([]orchestrator.SourceStatus, error) {
	return value[[]orchestrator.SourceStatus](ctx, s.c, "/configuration/sources", nil)
}

// AcceptSource makes the content of a store take effect that is not followed, and returns
// the number of changed items.
func (s ConfigurationService) AcceptSource(ctx context.Context, name string) (changes int, err error) {
	a, err := post[struct {
		Changes int `json:"changes"`
	}](ctx, s.c, "/configuration/sources/accept", url.Values{"source": {name}})
	return a.Value.Changes, err
}
