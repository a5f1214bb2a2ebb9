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

// transaction is what the stages of process know about one transaction.
type transaction struct {
	entry *queue.Entry
	dry   bool // only planned

	// The task fills in these when it is prepared.
	values    []api.RecordedKVPair // for the record
	opts      api.TxnOptions
	expect    *api.Plan // nil: any plan will do
	ofTxn     uint64    // what it is a retry of
	attempt   int
	retryLeft *api.RetryOpts // see exec.Txn
	alone     bool           // see exec.Txn
	repair    bool           // see exec.Txn
	request   plan.Request
	rejected  []api.KeyWithError // values that cannot be part of a transaction
	delayed   []api.KeyWithError // values that have to wait until a callback returns
	unread    []api.DriftUnread  // descriptors that a resync could not read
	notified  map[string]api.Metadata

	// The stages fill in these.
	from, at time.Time // when the preparation began and ended
	plan     *plan.Plan
	txn      *exec.Txn
	before   *reversal // what was desired before, if that may be restored
	record   *api.RecordedTxn
	result   *exec.Result
}

// outcome is the answer to the client of a transaction.
type outcome struct {
	seq uint64
	err error
}

// transactionError returns what a client is to know about the values of its transaction.
func transactionError(rejected []api.KeyWithError, res *exec.Result) error {
	all := slices.Clone(rejected)
	all = append(all, res.Invalid...)
	for _, f := range res.Failures {
		all = append(all, api.KeyWithError{Key: f.Key, TxnOperation: f.Op, Error: f.Err, Reverting: f.Reverting})
	}
	slices.SortStableFunc(all, func(a, b api.KeyWithError) int { return strings.Compare(a.Key, b.Key) })
	return api.NewTransactionError(nil, all, res.Reverted)
}
