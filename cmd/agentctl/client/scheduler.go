package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	topology "github.com/tenuto-dev/tenuto/plugins/topology/response"
)

// Values returns the states of all values, with the times of their last changes.
func (s SchedulerService) Values(ctx context.Context) ([]response.TimedStatus, error) {
	return value[[]response.TimedStatus](ctx, s.c, "/scheduler/status", url.Values{"times": {"1"}})
}

// Summary counts the values by state and names the worst, at most so many.
func (s SchedulerService) Summary(ctx context.Context, worst int) (response.Summary, error) {
	return value[response.Summary](ctx, s.c, "/scheduler/summary", url.Values{"limit": {strconv.Itoa(worst)}})
}

// DumpIndex returns the possible arguments of Dump.
func (s SchedulerService) DumpIndex(ctx context.Context) (response.DumpIndex, error) {
	return value[response.DumpIndex](ctx, s.c, "/scheduler/dump", nil)
}

// Dump returns the values with a key prefix of DumpIndex; view is "SB" (the actual
// state, read now), "NB" (the desired state) or "cached" (the actual state as the
// scheduler knows it).
func (s SchedulerService) Dump(ctx context.Context, keyPrefix, view string) ([]response.DumpedValue, error) {
	return value[[]response.DumpedValue](ctx, s.c, "/scheduler/dump", url.Values{"key-prefix": {keyPrefix}, "view": {view}})
}

// GraphQuery selects a picture of the graph.
type GraphQuery struct {
	Format   string   // "dot", "raw", "svg" or "png"
	Txn      *uint64  // after this transaction; nil: now
	Prefixes []string // of the keys to show; empty: all
}

// Graph returns a picture of the values and their relations.
func (s SchedulerService) Graph(ctx context.Context, q GraphQuery) ([]byte, error) {
	query := parameters("format", q.Format, "txn", number(q.Txn))
	query["prefix"] = q.Prefixes
	return s.c.get(ctx, "/scheduler/graph", query)
}

// Neighbours returns a value with those that it is related to.
func (s SchedulerService) Neighbours(ctx context.Context, key string) (api.Drawing, error) {
	return value[api.Drawing](ctx, s.c, "/scheduler/graph", url.Values{"format": {"json"}, "key": {key}})
}

// TopologyQuery selects a part of the network.
type TopologyQuery struct {
	Item     string // MODEL/NAME of one node, with its neighbours; empty: all
	Contains string // a part of names and addresses
	Limit    int    // of nodes, more are grouped; 0: none
}

// Topology returns a picture of the network.
func (s SchedulerService) Topology(ctx context.Context, q TopologyQuery) (Answer[topology.Network], error) {
	return get[topology.Network](ctx, s.c, "/topology", parameters("item", q.Item, "contains", q.Contains, "limit", when(q.Limit > 0, strconv.Itoa(q.Limit))))
}

// Revision is a value during a period, as response.Node; Until is zero while it lasts.
type Revision struct {
	Since, Until   time.Time
	Value          *api.EncodedValue
	Flags          map[string]string
	MetadataFields map[string][]string
	Targets        []response.Target
}

// Timeline returns how a value changed, as far as the history reaches.
func (s SchedulerService) Timeline(ctx context.Context, key string) ([]Revision, error) {
	return value[[]Revision](ctx, s.c, "/scheduler/key-timeline", url.Values{"key": {key}})
}

// Why explains the state of a value, down to the values that block it.
func (s SchedulerService) Why(ctx context.Context, key string) (api.Explanation, error) {
	return value[api.Explanation](ctx, s.c, "/scheduler/why", url.Values{"key": {key}, "format": {"json"}})
}

// WhyText is Why as a tree in text.
func (s SchedulerService) WhyText(ctx context.Context, key string) (string, error) {
	return text(ctx, s.c, "/scheduler/why", url.Values{"key": {key}, "format": {"text"}})
}
