package exec

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/pages"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Executor executes transactions on a graph, one after the other. Within one,
// operations run in parallel; see walk.
type Executor struct {
	Graph *graph.Graph
	// Lock is held while the graph changes, never while a callback runs.
	Lock sync.Locker
	// Now is the clock.
	Now func() time.Time
	// Limit is how many callbacks may run at once in all; 0 is DefaultLimit.
	Limit int
	// Refresh reads the given keys from the southbound into the graph. It returns
	// those that could not be read now.
	Refresh func(keys []string) (unread []string)
	// Doubt, if not nil, is called with operations of unknown outcome: a callback that timed
	// out, or one that failed and whose effect could not be read.
	Doubt func(op *plan.Op)
	// Intend, if not nil, is told every plan before the first of its operations.
	Intend func(pl *plan.Plan)
	// CheckContracts makes callbacks fail that change the values handed to them.
	CheckContracts bool
	// Crashes finds out what brings southbounds down; nil: nobody wants to know.
	Crashes  *Crashes
	Panicked func(key string, p *PanicError) // is told of each; nil: nobody is
	// Overdue gives up callbacks that take too long; nil: none is.
	Overdue  *Overdue
	Progress Progress
}

// Txn is what the executor is to do.
type Txn struct {
	Seq uint64
	// Request is what to plan for; Plan is the plan that was made of it.
	Request plan.Request
	Plan    *plan.Plan
	// Revert: undo everything at the first failure.
	Revert bool
	// Refused: parts of the transaction were rejected already; with Revert
	// nothing of it is executed.
	Refused bool
	// Alone: no callback runs beside another one.
	Alone bool
	// Retry is given to the values changed by the transaction, unless KeepRetry.
	Retry     *api.RetryOpts
	KeepRetry bool
	// RetryLeft is for values without retry options of their own that are no longer
	// desired. In a Repair, which creates lost values again, it is for desired ones, too.
	RetryLeft *api.RetryOpts
	Repair    bool
	// Deadline is when no operation is begun any more; zero: none.
	Deadline time.Time
	// Attempt is the number of this retry; 0 if the transaction is none.
	Attempt int
	// Metadata of the values that the southbound notified.
	Notified map[string]api.Metadata
}

// Failure is a value that could not be brought to its target.
type Failure struct {
	Key   string // of the value that failed; derived perhaps
	Base  string // of its base value, or the same
	Op    api.TxnOperation
	Err   error
	Retry *api.RetryOpts // nil: will not be retried
	// Hangs: the callback still runs; a retry waits for its return.
	Hangs bool
	// Reverting: while the transaction was reverted.
	Reverting bool
}

// Result is what came of a transaction.
type Result struct {
	Begun    time.Time // when the first operation could begin
	Executed []api.RecordedTxnOp
	Failures []Failure
	Invalid  []api.KeyWithError
	Reverted bool
	// ToRevert is how many values had to be brought back, NotReverted how many could
	// not be.
	ToRevert, NotReverted int
	// Changed are the keys of the base values whose status may have changed;
	// some occur more than once.
	Changed []string
}

// run is the state of one transaction.
type run struct {
	*Executor
	txn      *Txn
	res      *Result
	before   []plan.Change // wanted values to go back to
	left     []leftAlone   // see rememberLeft
	pinned   map[string]bool
	touched  map[string]bool // keys that were operated on or left out
	failures map[string]Failure
	unsent   unsent
	reverted bool
	last     int32 // number of the record of the operation that ended last
}

// Execute executes a transaction and returns when nothing is left that could
// be done now.
func (x *Executor) Execute(txn *Txn) *Result {
	r := &run{
		Executor: x, txn: txn,
		res:     &Result{},
		pinned:  map[string]bool{},
		touched: map[string]bool{}, failures: map[string]Failure{},
		unsent: unsent{lost: map[string]time.Time{}, keys: map[string]bool{}},
	}
	maps.Copy(r.pinned, txn.Request.Pinned)
	if txn.Revert {
		if r.refuse() {
			return r.res
		}
		r.remember()
	}
	pl := txn.Plan
	r.res.Executed = pages.Make(len(pl.Ops), func(rec *api.RecordedTxnOp) { rec.After = 0 })[:0]
	for {
		if x.Intend != nil {
			x.Intend(pl)
		}
		if r.res.Begun.IsZero() {
			r.res.Begun = x.Now()
		}
		x.Progress.begin(len(pl.Ops))
		failed, unknown, expired := r.pass(pl)
		r.doubt(pl, expired, failed)
		if len(failed) == 0 {
			break
		}
		if len(unknown) > 0 {
			r.read(pl, unknown)
		}
		if txn.Revert && !r.reverted {
			r.startRevert()
			pl = plan.Make(x.Graph, r.revertRequest())
			continue
		}
		for _, key := range failed {
			r.pinned[key] = true
		}
		pl = plan.Make(x.Graph, r.nextRequest())
	}
	x.Progress.begin(0)
	if r.reverted {
		r.disown()
		r.countReverted()
	}
	r.takeFailures(r.reverted)
	return r.res
}

// takeFailures moves the failures, sorted by key, into the result.
func (r *run) takeFailures(reverting bool) {
	keys := slices.Sorted(maps.Keys(r.failures))
	for _, key := range keys {
		f := r.failures[key]
		f.Reverting = reverting
		r.res.Failures = append(r.res.Failures, f)
	}
	clear(r.failures)
}

// nextRequest plans what is left after failures.
func (r *run) nextRequest() plan.Request {
	req := r.txn.Request
	changes := req.Changes
	if r.reverted {
		req = plan.Request{Closed: req.Closed, Unread: req.Unread}
		changes = r.before
	}
	req.Changes = nil
	for _, c := range changes {
		if n := r.Graph.Node(c.Key); n == nil && c.Want != nil || n != nil && n.Want != c.Want {
			req.Changes = append(req.Changes, c)
		}
	}
	req.All = false
	req.Touch = nil
	for key := range r.touched {
		req.Touch = append(req.Touch, key)
	}
	req.Pinned = r.pinned
	r.Overdue.Pin(&req)
	return req
}

// pass executes one plan. An operation whose predecessor failed is left out.
// It returns the keys that failed, and of those the ones that are not known to
// be as before, and the operations that timed out; with revert nothing is started
// after the first one.
func (r *run) pass(pl *plan.Plan) (failed []string, unknown, expired []int32) {
	w := newWalk(r, pl)
	from := len(r.res.Executed)
	if patience := w.patience(); patience > 0 {
		w.supervise(patience)
	} else {
		go w.drive()
		<-w.over
	}
	w.sortRecords(from)
	r.last = w.numberCauses(from)
	for _, i := range w.left {
		op := &pl.Ops[i]
		r.touched[op.Key] = true
		if op.Base != "" { // the value itself may not be known yet
			r.touched[op.Base] = true
		}
	}
	if r.txn.Revert {
		for i := range pl.Ops {
			r.touched[pl.Ops[i].Key] = true
		}
	}
	slices.Sort(w.failed)
	return w.failed, w.unknown, w.expired
}

// calls tells whether the operation runs a callback.
func (r *run) calls(op *plan.Op) bool {
	if op.Kind != plan.Up && op.Kind != plan.Down && op.Kind != plan.Update || op.Desc.IsProperty() {
		return false
	}
	_, notified := r.txn.Notified[op.Key]
	if op.Base != "" && op.Have != nil && op.Have.FromSB { // came with its base, and goes with it
		_, notified = r.txn.Notified[op.Base]
	}
	return !op.Lost && (!notified || r.reverted)
}

type previous struct {
	state api.ValueState
	value proto.Message
	err   error
}

// begin brings the new wish into the graph.
func (r *run) begin(op *plan.Op) (*graph.Node, previous) {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	var base *graph.Node
	if op.Base != "" {
		base = r.node(op.BaseSelf, op.Base)
	}
	var prev previous
	n := op.Self.Node
	if n != nil && n.Gone() {
		n = nil
	}
	if n != nil { // as it is before it gets a descriptor
		prev = previous{state: plan.State(n), err: n.Err}
		if v := shown(n); v != nil {
			prev.value = v.Msg
		}
	}
	if n == nil || n.Desc == nil || n.Base != base {
		n = r.Graph.Ensure(op.Key, op.Desc, base)
		op.Self.Node = n
	}
	if op.SetWant {
		r.Graph.SetWant(n, op.Want)
		if base == nil {
			n.Revision++
			r.takeOver(n)
		}
	}
	if base == nil && op.Changed {
		if !r.txn.KeepRetry {
			n.Retry = r.txn.Retry
		}
	}
	if !idle(op, n) {
		n.LastTxn = r.txn.Seq
	}
	if root, last := n.Root().Key, len(r.res.Changed)-1; last < 0 || r.res.Changed[last] != root {
		r.res.Changed = append(r.res.Changed, root)
	}
	return n, prev
}

// takeOver makes what others made the scheduler's own as soon as the northbound wants
// it: if its operation fails, or is not begun, it is still the scheduler's to change
// and to remove.
func (r *run) takeOver(n *graph.Node) {
	if v := n.Desired(); n.Owner() != graph.Foreign || v == nil || v.Invalid != nil {
		return
	}
	have := &registry.Value{Msg: n.Have.Msg, Derived: n.Have.Derived}
	_ = r.Graph.SetHave(n, have, n.Meta, graph.TakenOver) // known to be usable
}

// node returns the node of a key, or nil.
func (r *run) node(h *plan.Handle, key string) *graph.Node {
	if h.Node == nil || h.Node.Gone() {
		h.Node = r.Graph.Node(key)
	}
	return h.Node
}

// finish brings the outcome into the graph, and drops the node if it has nothing
// more to tell.
func (r *run) finish(op *plan.Op, n *graph.Node, meta api.Metadata, err error) {
	r.Progress.done.Add(1)
	r.Lock.Lock()
	defer r.Lock.Unlock()
	r.outcome(op, n, meta, err)
	r.Graph.Wait(n)
	r.Graph.Forget(n)
}

// idle tells that a value was found as it should be: its last operation stays the last.
func idle(op *plan.Op, n *graph.Node) bool {
	return op.Kind == plan.Adopt && op.Silent() && op.Before == op.After && n.LastOp != kvscheduler.TxnOperation_UNDEFINED
}

func (r *run) outcome(op *plan.Op, n *graph.Node, meta api.Metadata, err error) {
	if !idle(op, n) {
		n.LastOp = operation(op)
	}
	n.Missing = false
	r.Graph.SetKnot(op.Key, op.Knot)
	if err != nil {
		r.fail(op, n, err)
		return
	}
	if op.Kind == plan.Note && r.pinned[op.Key] {
		postponed(op, n)
		return
	}
	r.succeeded(op, n)
	switch op.Kind {
	case plan.Note:
		if op.Held != nil {
			r.fail(op, n, Held(op, n))
			n.Held = true
		} else if n.Want != nil && n.Want.Invalid != nil && op.SetWant && !r.reverted {
			r.res.Invalid = append(r.res.Invalid, api.KeyWithError{Key: op.Key, TxnOperation: n.LastOp, Error: n.Want.Invalid})
		}
	case plan.Down:
		n.Missing = op.Lost && n.Want != nil && n.Want.Invalid == nil
		r.Graph.Remove(n, ownership(op, n, r.calls(op)))
	case plan.Adopt:
		err = r.Graph.SetHave(n, op.Target, n.Meta, ownership(op, n, r.calls(op)))
	default:
		if op.Desc != nil && !op.Desc.WithMetadata {
			meta = nil
		}
		err = r.Graph.SetHave(n, op.Target, meta, ownership(op, n, r.calls(op)))
	}
	if err != nil {
		// The value is there, its metadata is not usable: the callback broke its
		// contract.
		r.fail(op, n, api.Permanent(fmt.Errorf("descriptor %q: %w", op.Desc.Name, err)))
	}
}

func (r *run) fail(op *plan.Op, n *graph.Node, err error) {
	n.Err, n.Held = err, false
	retry := n.Root().Retry
	switch {
	case retry == nil && !r.txn.KeepRetry:
		retry = r.txn.Retry
		if n.Root().Want == nil { // nobody named it: its retries go on as this one
			n.Root().Retry = retry
		}
	case retry == nil && r.txn.RetryLeft != nil && (r.txn.Repair || n.Root().Want == nil):
		n.Root().Retry = r.txn.RetryLeft
		retry = r.txn.RetryLeft
	}
	if retry != nil && (!retriable(op, err) || retry.MaxCount > 0 && r.txn.Attempt >= retry.MaxCount) {
		retry = nil
	}
	if r.txn.Revert && !r.reverted {
		retry = nil // about to be undone
	}
	n.Retrying = retry != nil
	r.failures[n.Key] = Failure{Key: n.Key, Base: n.Root().Key, Op: n.LastOp, Err: err, Retry: retry, Hangs: hangs(err)}
}
