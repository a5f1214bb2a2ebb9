package client

import (
	"context"
	"net/url"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

const (
	driftPath      = "/scheduler/drift"
	orphansPath    = "/scheduler/orphans"
	quarantinePath = "/scheduler/quarantine"
)

// Resync makes the agent read the southbound again and repair what differs.
// With retry, the agent retries failed operations later.
func (s RepairService) Resync(ctx context.Context, retry, verbose bool) (Answer[*api.RecordedTxn], error) {
	query := parameters("retry", when(retry, "1"), "verbose", when(verbose, "1"))
	return post[*api.RecordedTxn](ctx, s.c, "/scheduler/downstream-resync", query)
}

// DetectDrift makes the agent compare the southbound with the values that it applied.
func (s RepairService) DetectDrift(ctx context.Context) (Answer[response.Drift], error) {
	return get[response.Drift](ctx, s.c, driftPath, url.Values{"detect": {"1"}})
}

// LastDrift returns the result of the last comparison.
func (s RepairService) LastDrift(ctx context.Context) (Answer[response.Drift], error) {
	return get[response.Drift](ctx, s.c, driftPath, nil)
}

// RepairDrift makes the agent compare, and repair what differs. With retry, the agent
// retries failed operations later.
func (s RepairService) RepairDrift(ctx context.Context, retry bool) (Answer[response.Drift], error) {
	return post[response.Drift](ctx, s.c, driftPath, parameters("repair", "1", "retry", when(retry, "1")))
}

// Orphans lists the values that exist in the southbound and are not configured.
func (s RepairService) Orphans(ctx context.Context) (Answer[response.Orphans], error) {
	return get[response.Orphans](ctx, s.c, orphansPath, nil)
}

// RemoveOrphans removes values that are Ours or Marked, and lists the remaining ones.
func (s RepairService) RemoveOrphans(ctx context.Context, keys []string) (Answer[response.Orphans], error) {
	return post[response.Orphans](ctx, s.c, orphansPath, url.Values{"remove": {"1"}, "key": keys})
}

// Quarantine lists the quarantined values and the suspects.
func (s RepairService) Quarantine(ctx context.Context) (Answer[response.Quarantine], error) {
	return get[response.Quarantine](ctx, s.c, quarantinePath, nil)
}

// ReleaseQuarantined makes the agent try quarantined values again, all of them without
// keys, and lists the remaining ones.
func (s RepairService) ReleaseQuarantined(ctx context.Context, keys []string) (Answer[response.Quarantine], error) {
	return post[response.Quarantine](ctx, s.c, quarantinePath, url.Values{"release": {"1"}, "key": keys})
}
