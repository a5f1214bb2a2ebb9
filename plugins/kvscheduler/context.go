package kvscheduler

import (
	"context"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// The functions of this file attach options of transactions to a context, as the
// predecessor has it: Commit(kvscheduler.WithRetryDefault(ctx)). New code gives the
// options of package api to Commit: Commit(ctx, api.WithRetryDefault()).

// WithResync makes the transaction a resync; verbose logs every value that
// the resync retrieves.
func WithResync(ctx context.Context, resync api.ResyncType, verbose bool) context.Context {
	return api.ContextWithOptions(ctx, api.WithResync(resync, verbose))
}

// WithoutBlocking makes Commit return once the transaction is queued.
func WithoutBlocking(ctx context.Context) context.Context {
	return api.ContextWithOptions(ctx, api.WithoutBlocking())
}

// WithRetry retries failed operations after period, at most maxCount times (0 is no
// limit); expBackoff doubles the delay after each failed retry.
func WithRetry(ctx context.Context, period time.Duration, maxCount int, expBackoff bool) context.Context {
	return api.ContextWithOptions(ctx, api.WithRetry(api.RetryOpts{Period: period, MaxCount: maxCount, ExpBackoff: expBackoff}))
}

// WithRetryDefault retries failed operations with the default period and backoff.
func WithRetryDefault(ctx context.Context) context.Context {
	return api.ContextWithOptions(ctx, api.WithRetryDefault())
}

// WithRetryMaxCount is WithRetryDefault with at most maxCount retries; 0 is no limit.
func WithRetryMaxCount(ctx context.Context, maxCount int) context.Context {
	return api.ContextWithOptions(ctx, api.WithRetryMaxCount(maxCount))
}

// WithRevert undoes the whole transaction at the first failure.
func WithRevert(ctx context.Context) context.Context {
	return api.ContextWithOptions(ctx, api.WithRevert())
}

// WithDescription is shown in the log and in the history.
func WithDescription(ctx context.Context, description string) context.Context {
	return api.ContextWithOptions(ctx, api.WithDescription(description))
}

// WithSimulation prints the plan of the transaction before it is executed.
func WithSimulation(ctx context.Context) context.Context {
	return api.ContextWithOptions(ctx, api.WithSimulation())
}
