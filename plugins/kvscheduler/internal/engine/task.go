package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// task is one kind of work that may become a transaction. The worker calls its methods.
type task interface {
	// class returns one of api.QueueClasses.
	class() string
	// txnType returns the type of its transaction in the history.
	txnType() api.TxnType
	// prepare fills in the planning request. It returns false if there is nothing to do,
	// and an error if the task is rejected. It is called again if the plan depends on
	// notifications that have to be executed first.
	prepare(e *Engine, p *transaction) (ok bool, err error)
	// settle is called after the execution.
	settle(e *Engine, p *transaction, res *exec.Result)
}

// call is a function to run on the worker, between two transactions.
type call func()

// barrier closes a channel when all earlier tasks are done, and the postponed
// southbounds are read.
type barrier struct{ done chan struct{} }

// entryOf returns the entry of a task, a call or a barrier in the queue.
func entryOf(work any) *queue.Entry {
	e := &queue.Entry{Task: work, Class: api.QueueCalls}
	if t, ok := work.(task); ok {
		e.Class = t.class()
	}
	switch t := work.(type) {
	case committed:
		c := t.parts()
		e.Named, e.Wide, e.Description = c.values, c.opts.Resync != api.NotResync, c.opts.Description
	case *notification:
		e.News = t.news
	}
	return e
}

// internal is the common part of tasks that no client waits for. It provides the queue
// class and the transaction type of a retry.
type internal struct{}

func (internal) class() string                              { return api.QueueRetries }
func (internal) txnType() api.TxnType                       { return api.RetryFailedOps }
func (internal) settle(*Engine, *transaction, *exec.Result) {}

// work is a task of the scheduler's own that only prepares a plan.
type work struct {
	internal
	typ  api.TxnType
	plan func(p *transaction) bool
}

func (t *work) txnType() api.TxnType                            { return t.typ }
func (t *work) prepare(_ *Engine, p *transaction) (bool, error) { return t.plan(p), nil }

// unimplemented is the work on values that had no descriptor before its registration.
type unimplemented struct{ work }

func (*unimplemented) class() string { return api.QueueUnimplemented }

// commit is the common part of transactions of the northbound.
type commit struct {
	values []api.RecordedKVPair
	opts   api.TxnOptions
	done   chan outcome // buffered; nil: the client does not wait
}

func (*commit) class() string        { return api.QueueNorthbound }
func (*commit) txnType() api.TxnType { return api.NBTransaction }

func (*commit) settle(*Engine, *transaction, *exec.Result) {}

// committed is a transaction of the northbound.
type committed interface {
	task
	parts() *commit
}

// parts returns the common part, for submit.
func (t *commit) parts() *commit { return t }

// check returns an error for invalid options.
func (t *commit) check() error {
	switch {
	case t.opts.Resync == api.DownstreamResync && len(t.values) > 0:
		return api.ErrCombinedDownstreamResyncWithChange
	case t.opts.Resync != api.NotResync && t.opts.Revert:
		return api.ErrRevertNotSupportedWithResync
	}
	return nil
}

// reply answers the client, if it waits.
func (t *commit) reply(out outcome) {
	if t.done != nil {
		t.done <- out
	}
}

// wait waits for the end of a running transaction.
func (t *commit) wait(ctx context.Context) (seqNum uint64, err error) {
	select {
	case out := <-t.done:
		return out.seq, out.err
	case <-ctx.Done():
		return api.NoSeqNum, context.Cause(ctx)
	}
}

// begin copies the values and the options of the client. It fails if the deadline passed
// in the queue.
func (t *commit) begin(p *transaction) error {
	p.values, p.opts = t.values, t.opts
	if d, e := t.opts.Deadline, p.entry; !d.IsZero() && !e.Taken.Before(d) {
		return fmt.Errorf("%w, after %v in the queue", api.ErrTxnDeadline, e.Taken.Sub(e.Queued).Round(time.Millisecond))
	}
	return nil
}

// northbound is a transaction with changes of values, a resync, or both.
type northbound struct {
	commit
	expect *api.Plan // if not nil, the transaction fails unless its plan is this one
}

func (t *northbound) prepare(e *Engine, p *transaction) (bool, error) {
	if err := t.begin(p); err != nil {
		return false, err
	}
	p.expect = t.expect
	e.readForNB(p)
	e.prepareNB(p, e.change)
	return true, nil
}

// orphanRemoval deletes orphans.
type orphanRemoval struct{ commit }

func (t *orphanRemoval) prepare(e *Engine, p *transaction) (bool, error) {
	if err := t.begin(p); err != nil {
		return false, err
	}
	e.readForNB(p)
	e.orphans.claim(p.values, p.request.Closed, e.nextSeq)
	e.prepareNB(p, func(n *graph.Node, kv api.RecordedKVPair) (plan.Change, error) {
		change, err := e.change(n, kv)
		if !orphaned(n) {
			err = api.ErrNoOrphan
		}
		return change, err
	})
	return true, nil
}

// reversal restores the desired state from before a transaction that could not be
// verified.
type reversal struct {
	commit
	wants map[string]*registry.Value
	touch []string // keys to plan again, because verification found them different
}

func (t *reversal) prepare(e *Engine, p *transaction) (bool, error) {
	if err := t.begin(p); err != nil {
		return false, err
	}
	e.prepareNB(p, func(n *graph.Node, kv api.RecordedKVPair) (plan.Change, error) {
		change, err := e.change(n, kv)
		change.Want = t.wants[kv.Key]
		return change, err
	})
	p.request.Touch = t.touch
	return true, nil
}

// driftRepair reads drifted values again and plans their repair.
type driftRepair struct {
	commit
	found []api.Drift
}

func (t *driftRepair) prepare(e *Engine, p *transaction) (bool, error) {
	if err := t.begin(p); err != nil {
		return false, err
	}
	e.drift.prepareRepair(t.found, p)
	return true, nil
}

// notification is a report of a southbound about its values.
type notification struct {
	internal
	news *queue.News
}

func (*notification) class() string        { return api.QueueNotifications }
func (*notification) txnType() api.TxnType { return api.SBNotification }
func (t *notification) prepare(e *Engine, p *transaction) (bool, error) {
	return e.prepareNotification(t.news, p), nil
}

// sessionChange is a southbound that connects or disconnects.
type sessionChange struct {
	name   string
	up     bool
	epoch  uint64
	reason error
	begins bool // set by synchronising.begin
}

func (*sessionChange) class() string        { return api.QueueSessions }
func (*sessionChange) txnType() api.TxnType { return api.SBNotification }

// String describes a change for the history.
func (t *sessionChange) String() string {
	if t.up {
		return fmt.Sprintf("southbound %s is up (epoch %d)", t.name, t.epoch)
	}
	return fmt.Sprintf("southbound %s is down: %v", t.name, t.reason)
}

func (t *sessionChange) prepare(e *Engine, p *transaction) (bool, error) {
	p.opts.Description, p.retryLeft = t.String(), patiently()
	return e.prepareSession(t, p), nil
}

func (t *sessionChange) settle(e *Engine, _ *transaction, res *exec.Result) {
	if t.up {
		e.trials.connected(t.name)
	}
	res.Changed = append(res.Changed, e.state.valuesOf(t.name)...)
}

// retry retries failed operations.
type retry struct {
	internal
	ofTxn    uint64
	attempt  int
	failures []exec.Failure
	revision map[string]uint32 // of the base values when the retry was scheduled
}

func (t *retry) prepare(e *Engine, p *transaction) (bool, error) {
	p.ofTxn, p.attempt = t.ofTxn, t.attempt
	return e.retries.prepareRetry(t, p), nil
}

// trial applies the next suspect of a southbound alone.
type trial struct {
	internal
	ofTxn      uint64
	southbound string
	life       *life  // of the southbound; nil: any
	suspect    string // set by prepare; empty: none is due
}

func (t *trial) prepare(e *Engine, p *transaction) (bool, error) {
	p.ofTxn, p.alone = t.ofTxn, true
	return e.trials.prepareTrial(t, p), nil
}

func (t *trial) settle(e *Engine, _ *transaction, res *exec.Result) { e.trials.afterTrial(t, res) }

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
