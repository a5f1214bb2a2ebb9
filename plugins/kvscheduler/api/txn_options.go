package api

import "time"

// ResyncType says how much a transaction synchronises again.
type ResyncType int

// The kinds of resync. FullResync: the transaction carries the complete
// wanted state and the southbound is read before. UpstreamResync: the complete
// wanted state, against what the scheduler believes to exist.
// DownstreamResync: what was wanted before, against the southbound, read
// again; it carries no values.
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

// Defaults of WithRetryDefault. There is no limit to the number of retries: they
// end when the value is in effect, changes, or is no longer desired, and the
// delay between them grows to DefaultRetryMaxPeriod.
const (
	DefaultRetryPeriod    = time.Second
	DefaultRetryMaxPeriod = time.Minute
	DefaultRetryMaxCount  = 0
)

// TxnOptions is what the options of a transaction amount to.
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

// WithoutRemoval keeps a resync from removing what it finds in the southbound
// and that are not desired: such values stay DISCOVERED, now and at later
// reconnections and downstream resyncs, until a full resync without this
// option (if there was none before). It is for northbounds that do not know yet all that they are going
// to ask for. What the northbound asked for itself, and gives up, is removed.
func WithoutRemoval() TxnOption { return func(o *TxnOptions) { o.KeepFound = true } }

// WithoutBlocking makes Commit return once the transaction is queued.
func WithoutBlocking() TxnOption { return func(o *TxnOptions) { o.NonBlocking = true } }

// WithRevert undoes the whole transaction at the first failure. Without it
// the transaction is applied as far as possible.
func WithRevert() TxnOption { return func(o *TxnOptions) { o.Revert = true } }

// WithRetry retries failed operations.
func WithRetry(r RetryOpts) TxnOption { return func(o *TxnOptions) { o.Retry = &r } }

// WithRetryDefault retries after 1, 2, 4 seconds and so on, at most a minute
// apart, for as long as the value is desired. WithRetryMaxCount limits the number.
func WithRetryDefault() TxnOption { return WithRetryMaxCount(DefaultRetryMaxCount) }

// WithRetryMaxCount retries at most n times (0 is no limit), with the default
// period and backoff.
func WithRetryMaxCount(n int) TxnOption {
	return WithRetry(RetryOpts{Period: DefaultRetryPeriod, MaxCount: n, ExpBackoff: true})
}

// WithDescription is shown in the log and in the history.
func WithDescription(text string) TxnOption { return func(o *TxnOptions) { o.Description = text } }

// WithArrival tells, for the history, when the change came in that the transaction
// makes, and when it was taken from the queue, where changes wait for that before Commit.
func WithArrival(came, turn time.Time) TxnOption {
	return func(o *TxnOptions) { o.Came, o.Turn = came, turn }
}

// WithSimulation prints the plan before it is executed even where printing of
// transactions is otherwise limited to the summary.
func WithSimulation() TxnOption { return func(o *TxnOptions) { o.Simulation = true } }

// WithVerify reads the descriptors of all values that the transaction named or
// touched from the southbound again, once it is executed. A value that is not
// there as it should be is an ErrNotVerified of its key; together with
// WithRevert the values that the transaction named go back to what was wanted
// before. Descriptors without Retrieve cannot be verified and are left out.
func WithVerify() TxnOption { return func(o *TxnOptions) { o.Verify = true } }

// WithDeadline bounds the execution. When t has passed no operation is started
// any more, and those that run are waited for. What was not begun then is
// FAILED with ErrTxnDeadline, is retried if the transaction is, and what needs
// it is PENDING; with WithRevert the transaction is taken back, for which there
// is no deadline. A transaction whose turn comes too late is not executed at
// all.
func WithDeadline(t time.Time) TxnOption { return func(o *TxnOptions) { o.Deadline = t } }

// WithTimeout is WithDeadline, counted from Commit. With both the earlier one
// holds.
func WithTimeout(d time.Duration) TxnOption { return func(o *TxnOptions) { o.Timeout = d } }
