package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// transaction is the state of one transaction that the stages of process share.
type transaction struct {
	entry *queue.Entry
	dry   bool // planned only, not executed

	// The task sets these in prepare.
	values    []api.RecordedKVPair // for the record
	opts      api.TxnOptions
	expect    *api.Plan // if not nil, the plan has to be this one
	ofTxn     uint64    // the transaction that it retries
	attempt   int
	retryLeft *api.RetryOpts // see exec.Txn
	alone     bool           // see exec.Txn
	repair    bool           // see exec.Txn
	request   plan.Request
	rejected  []api.KeyWithError // values that cannot be part of a transaction
	delayed   []api.KeyWithError // values that wait for a callback to return
	unread    []api.DriftUnread  // descriptors that a resync could not read
	notified  map[string]api.Metadata

	// The stages set these.
	from, at time.Time // start and end of the preparation
	plan     *plan.Plan
	txn      *exec.Txn
	before   *reversal // restores the previous desired state; nil if that cannot be necessary
	record   *api.RecordedTxn
	result   *exec.Result
}

// outcome is the answer to the client of a transaction.
type outcome struct {
	seq uint64
	err error
}

// transactionError returns the error of a transaction with the errors of its values; nil
// if there are none.
func transactionError(rejected []api.KeyWithError, res *exec.Result) error {
	all := slices.Clone(rejected)
	all = append(all, res.Invalid...)
	for _, f := range res.Failures {
		all = append(all, api.KeyWithError{Key: f.Key, TxnOperation: f.Op, Error: f.Err, Reverting: f.Reverting})
	}
	slices.SortStableFunc(all, func(a, b api.KeyWithError) int { return strings.Compare(a.Key, b.Key) })
	return api.NewTransactionError(nil, all, res.Reverted)
}
