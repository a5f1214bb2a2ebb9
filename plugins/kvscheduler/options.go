package kvscheduler

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

// DefaultName is the name of the plugin; its configuration file is
// kvscheduler.conf.
const DefaultName = "kvscheduler"

// DefaultPlugin is a scheduler with default settings, for programs with a
// single agent; others use NewPlugin.
var DefaultPlugin Scheduler

// Option is a setting of a Scheduler.
type Option func(*Scheduler)

// NewPlugin returns a scheduler with the given settings.
func NewPlugin(opts ...Option) *Scheduler {
	s := &Scheduler{}
	for _, o := range opts {
		o(s)
	}
	s.SetDefaults()
	return s
}

// UseDeps lets f change the dependencies of the scheduler.
func UseDeps(f func(*Deps)) Option { return func(s *Scheduler) { f(&s.Deps) } }

// UseConf sets the values that hold where the configuration file says nothing.
func UseConf(cfg Config) Option { return func(s *Scheduler) { s.defaults = &cfg } }

// UseClock replaces the real time, for tests.
func UseClock(c Clock) Option { return func(s *Scheduler) { s.clock = c } }

// UseRand makes the jitter of retries repeatable.
func UseRand(r *rand.Rand) Option { return func(s *Scheduler) { s.rand = r } }

// UseOutput sets where transactions are printed; default: the standard output.
func UseOutput(w io.Writer) Option { return func(s *Scheduler) { s.output = w } }

// UseTracer makes OpenTelemetry spans of transactions and their operations; it
// wins over Tracing of the dependencies.
func UseTracer(p trace.TracerProvider) Option { return func(s *Scheduler) { s.tracer = p } }

// ResyncFirst announces that the northbound begins with a full resync, as the
// orchestrator does. What exists is then read by that resync, or when something else needs
// it, and not already when a southbound connects. TransactionBarrier waits for that.
func ResyncFirst() Option { return func(s *Scheduler) { s.resyncFirst = true } }

// Clock is the time as the scheduler sees it.
type Clock = exec.Clock

// SetDefaults gives the scheduler its name if it has none.
func (s *Scheduler) SetDefaults() {
	if s.String() == "" {
		s.SetName(DefaultName)
	}
}

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
