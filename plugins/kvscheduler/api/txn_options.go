package api

import (
	"context"
	"slices"
	"time"
)

// ResyncType says how much a transaction synchronises again.
type ResyncType int

// The kinds of resync. FullResync and UpstreamResync have the complete desired state; for
// FullResync the scheduler reads the southbound first. For DownstreamResync it reads the
// southbound and applies the present desired state; the transaction has no values.
const (
	NotResync ResyncType = iota
	FullResync
	UpstreamResync
	DownstreamResync
)

// RetryOpts says how failed operations of a transaction are retried.
type RetryOpts struct {
	// Period is the delay before the first retry.
	Period time.Duration
	// MaxPeriod caps the delay with backoff. Default: DefaultRetryMaxPeriod.
	MaxPeriod time.Duration
	// MaxCount is the number of retries; 0 is no limit.
	MaxCount int
	// ExpBackoff doubles the delay (with jitter) after each failed retry.
	ExpBackoff bool
}

// Defaults of WithRetryDefault: retries end when the value is in effect, changes, or is no
// longer desired.
const (
	DefaultRetryPeriod    = time.Second
	DefaultRetryMaxPeriod = time.Minute
	DefaultRetryMaxCount  = 0
)

// TxnOptions holds the options of a transaction.
type TxnOptions struct {
	Resync      ResyncType
	Verbose     bool
	Revert      bool
	NonBlocking bool
	Simulation  bool
	KeepFound   bool       // WithoutRemoval
	Retry       *RetryOpts // nil: no retry
	Description string
	Verify      bool
	Deadline    time.Time     // zero: none
	Timeout     time.Duration // from Commit; 0: none
	Came, Turn  time.Time     // WithArrival; zero: not known
}

// TxnOption is an option of Commit.
type TxnOption func(*TxnOptions)

// ApplyTxnOptions collects options.
func ApplyTxnOptions(opts []TxnOption) TxnOptions {
	var o TxnOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithResync makes the transaction a resync; verbose logs every value that
// the resync retrieves.
func WithResync(t ResyncType, verbose bool) TxnOption {
	return func(o *TxnOptions) { o.Resync, o.Verbose = t, verbose }
}

// WithoutRemoval keeps a resync from removing values that it finds in the southbound and
// that are not desired, for northbounds that do not know their complete desired state yet.
// They stay DISCOVERED until a full resync without this option; if there already was one,
// only this resync keeps them. Values that the northbound configured and deletes are removed.
func WithoutRemoval() TxnOption { return func(o *TxnOptions) { o.KeepFound = true } }

// WithoutBlocking makes Commit return once the transaction is queued.
func WithoutBlocking() TxnOption { return func(o *TxnOptions) { o.NonBlocking = true } }

// WithRevert undoes the whole transaction at the first failure.
func WithRevert() TxnOption { return func(o *TxnOptions) { o.Revert = true } }

// WithRetry retries failed operations.
func WithRetry(r RetryOpts) TxnOption { return func(o *TxnOptions) { o.Retry = &r } }

// WithRetryDefault retries after 1, 2, 4 seconds and so on, at most a minute apart.
func WithRetryDefault() TxnOption { return WithRetryMaxCount(DefaultRetryMaxCount) }

// WithRetryMaxCount is WithRetryDefault for at most n times; 0 is no limit.
func WithRetryMaxCount(n int) TxnOption {
	return WithRetry(RetryOpts{Period: DefaultRetryPeriod, MaxCount: n, ExpBackoff: true})
}

// WithDescription is shown in the log and in the history.
func WithDescription(text string) TxnOption { return func(o *TxnOptions) { o.Description = text } }

// WithArrival sets, for the history, when the change of the transaction arrived, and when it
// was taken from a queue before Commit.
func WithArrival(came, turn time.Time) TxnOption {
	return func(o *TxnOptions) { o.Came, o.Turn = came, turn }
}

// WithSimulation prints the plan before it is executed.
func WithSimulation() TxnOption { return func(o *TxnOptions) { o.Simulation = true } }

// WithVerify reads all values that the transaction contains or changed after the execution. A
// value that differs from its desired state is an ErrNotVerified; with WithRevert the
// previous desired state of the transaction's values is restored. Values of descriptors
// without Retrieve are not verified.
func WithVerify() TxnOption { return func(o *TxnOptions) { o.Verify = true } }

// WithDeadline limits the execution. After t no operation starts. Values whose operation did
// not start are FAILED with ErrTxnDeadline, and retried with the retry options; their
// dependents are PENDING. WithRevert reverts the transaction, without a deadline. A
// transaction that is still queued at t is not executed.
func WithDeadline(t time.Time) TxnOption { return func(o *TxnOptions) { o.Deadline = t } }

// WithTimeout is WithDeadline, counted from Commit; the earlier one counts.
func WithTimeout(d time.Duration) TxnOption { return func(o *TxnOptions) { o.Timeout = d } }

type contextKey struct{}

// ContextWithOptions returns a context that carries options of transactions, besides
// those that ctx carries already. Commit applies them before its own options.
func ContextWithOptions(ctx context.Context, opts ...TxnOption) context.Context {
	return context.WithValue(ctx, contextKey{}, slices.Concat(ContextOptions(ctx), opts))
}

// ContextOptions returns the options that a context carries.
func ContextOptions(ctx context.Context) []TxnOption {
	opts, _ := ctx.Value(contextKey{}).([]TxnOption)
	return opts
}
