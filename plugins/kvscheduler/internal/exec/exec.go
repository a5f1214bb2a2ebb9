package exec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
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
	// Limit is how many callbacks of all descriptors may run at once; 0 means DefaultLimit.
	Limit int
	// Policies determine whether an object that Create found is adopted; nil: none is.
	Policies registry.Policies
	// Refresh reads the given keys from the southbound into the graph. It returns
	// the keys that it could not read.
	Refresh func(keys []string) (unread []string)
	// Doubt, if not nil, is called with operations of unknown outcome: a callback that timed
	// out, or one that failed and whose effect could not be read.
	Doubt func(op *plan.Op)
	// Intend, if not nil, is called with every plan before its first operation.
	Intend func(pl *plan.Plan)
	// CheckContracts makes callbacks fail that modify their arguments.
	CheckContracts bool
	// Crashes determines which callbacks crash southbounds.
	Crashes *Crashes
	// Panicked, if not nil, is called for each callback that panics.
	Panicked func(key string, p *PanicError)
	// Overdue gives up callbacks that exceed their time limit.
	Overdue  *Overdue
	Progress Progress
}

// Txn is a transaction for the executor.
type Txn struct {
	Seq uint64
	// Request is the planning request; Plan is the plan made from it.
	Request plan.Request
	Plan    *plan.Plan
	// Revert undoes the transaction at the first failure.
	Revert bool
	// Refused reports that parts of the transaction were already rejected; with
	// Revert nothing of it is executed.
	Refused bool
	// Alone runs one callback at a time.
	Alone bool
	// Retry becomes the retry options of the changed values, unless KeepRetry is set.
	Retry     *api.RetryOpts
	KeepRetry bool
	// RetryLeft applies to values without retry options that are no longer desired.
	// In a Repair, which creates lost values again, it applies to desired ones as well.
	RetryLeft *api.RetryOpts
	Repair    bool
	// Deadline is the time after which no operation starts; zero means no deadline.
	Deadline time.Time
	// Attempt is the number of this retry; 0 if the transaction is not a retry.
	Attempt int
	// Notified holds the metadata of the values that the southbound notified, by key.
	Notified map[string]api.Metadata
}

// Failure is a value that did not reach its desired state.
type Failure struct {
	Key   string // of the value that failed, which may be derived
	Base  string // of its base value; the same for a base value
	Op    api.TxnOperation
	Err   error
	Retry *api.RetryOpts // nil: no retry
	// Hangs reports that the callback still runs; a retry waits for its return.
	Hangs bool
	// Reverting reports that the value failed during the revert.
	Reverting bool
}

// Left is a value whose Delete left the object in the southbound.
type Left struct {
	Key string
	Why error
}

// Result is the outcome of a transaction.
type Result struct {
	Begun    time.Time // when the first operation could start
	Executed []api.RecordedTxnOp
	Failures []Failure
	Invalid  []api.KeyWithError
	Left     []Left
	Reverted bool
	// ToRevert is how many values the revert had to restore; NotReverted is how many
	// it could not restore.
	ToRevert, NotReverted int
	// Changed lists the keys of the base values whose status may have changed; it
	// may contain duplicates.
	Changed []string
}

// run is the state of one transaction.
type run struct {
	*Executor
	txn      *Txn
	res      *Result
	before   []plan.Change // the desired state that a revert restores
	left     []leftAlone   // see rememberLeft
	pinned   map[string]bool
	touched  map[string]bool // keys with an operation, executed or skipped
	failures map[string]Failure
	unsent   unsent
	reverted bool
	last     int32 // record number of the operation that ended last
}

// Execute executes a transaction. It returns when no operation is left that could
// run now.
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
	r.res.Executed = make([]api.RecordedTxnOp, 0, pl.Recorded())
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
			r.reverted, r.res.Reverted = true, true
			r.takeFailures(false) // the causes
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

// nextRequest returns the planning request for the work that remains after failures.
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

// pass executes one plan. It skips operations whose predecessor failed; with Revert
// it starts none after the first failure. It returns the keys that failed, the failed
// operations whose callback returned, so that the actual state is unknown, and the
// operations that timed out.
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
		if op.Base != "" { // the graph may not have the value yet
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

// calls reports whether the operation runs a callback.
func (r *run) calls(op *plan.Op) bool {
	if op.Kind != plan.Up && op.Kind != plan.Down && op.Kind != plan.Update || op.Desc.IsProperty() {
		return false
	}
	if op.Refused != nil {
		return false
	}
	_, notified := r.txn.Notified[op.Key]
	if op.Base != "" && op.Have != nil && op.Have.FromSB { // observed: exists as long as its base
		_, notified = r.txn.Notified[op.Base]
	}
	return !op.Lost && (!notified || r.reverted)
}

// previous is the status of a value before its operation.
type previous struct {
	state api.ValueState
	value proto.Message
	err   error
}

// previously returns the state of a node, which may be nil, before an operation.
func previously(n *graph.Node) (prev previous) {
	if n == nil {
		return prev
	}
	prev.state, prev.err = plan.State(n), n.Err
	if v := shown(n); v != nil {
		prev.value = v.Msg
	}
	return prev
}

// begin records the new desired state in the graph. It returns the node and the
// previous status of the value.
func (r *run) begin(op *plan.Op) (*graph.Node, previous) {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	var base *graph.Node
	if op.Base != "" {
		base = r.node(op.BaseSelf, op.Base)
	}
	n := op.Self.Node
	if n != nil && n.Gone {
		n = nil
	}
	prev := previously(n) // before Ensure may set another descriptor
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

// takeOver makes a foreign value ours as soon as the northbound desires it. The
// scheduler may then change and remove it even if its operation fails or does not
// start.
func (r *run) takeOver(n *graph.Node) {
	if v := n.Desired(); n.Owner != graph.Foreign || v == nil || v.Invalid != nil || n.Refused() {
		return
	}
	have := &registry.Value{Msg: n.Have.Msg, Derived: n.Have.Derived}
	_ = r.Graph.SetHave(n, have, n.Meta, graph.TakenOver) // known to be usable
}

// node returns the node of a key, or nil.
func (r *run) node(h *plan.Handle, key string) *graph.Node {
	if h.Node == nil || h.Node.Gone {
		h.Node = r.Graph.Node(key)
	}
	return h.Node
}

// finish records the outcome of an operation in the graph, and drops the node if
// nothing refers to it.
func (r *run) finish(op *plan.Op, s *step) {
	r.Progress.done.Add(1)
	r.Lock.Lock()
	defer r.Lock.Unlock()
	r.outcome(op, s)
	r.Graph.Wait(s.n)
	r.Graph.Forget(s.n)
}

// idle reports whether a value was already in its desired state, so that its last
// operation and transaction stay recorded.
func idle(op *plan.Op, n *graph.Node) bool {
	return op.Kind == plan.Adopt && op.Silent() && op.Before == op.After && n.LastOp != kvscheduler.TxnOperation_UNDEFINED
}

func (r *run) outcome(op *plan.Op, s *step) {
	n, meta, err := s.n, s.meta, s.err
	if !idle(op, n) {
		n.LastOp = operation(op)
	}
	n.Missing = false
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
		r.noted(op, n)
	case plan.Down:
		n.Missing = op.Lost && n.Want != nil && n.Want.Invalid == nil
		r.Graph.Remove(n, ownership(op, n, r.calls(op)))
		if s.left != nil {
			r.res.Left = append(r.res.Left, Left{op.Key, s.left})
		}
	case plan.Adopt:
		err = r.Graph.SetHave(n, op.Target, n.Meta, ownership(op, n, r.calls(op)))
	default:
		if op.Desc != nil && !op.Desc.WithMetadata {
			meta = nil
		}
		err = r.Graph.SetHave(n, op.Target, meta, r.created(op, n, r.calls(op), s.found))
	}
	if err != nil {
		// Contract violation: the value exists, but its metadata is unusable.
		r.fail(op, n, api.Permanent(fmt.Errorf("descriptor %q: %w", op.Desc.Name, err)))
	}
}

// noted reports why a value stays as it is, if that is an error.
func (r *run) noted(op *plan.Op, n *graph.Node) {
	if op.Held != nil {
		r.fail(op, n, Held(op, n))
		r.Graph.SetHeld(n, true)
	} else if n.Want != nil && n.Want.Invalid != nil && op.SetWant && !r.reverted {
		r.res.Invalid = append(r.res.Invalid, api.KeyWithError{Key: op.Key, TxnOperation: n.LastOp, Error: n.Want.Invalid})
	}
}

func (r *run) fail(op *plan.Op, n *graph.Node, err error) {
	n.Err = err
	r.Graph.SetHeld(n, false)
	retry := n.Root().Retry
	switch {
	case retry == nil && !r.txn.KeepRetry:
		retry = r.txn.Retry
		if n.Root().Want == nil { // not desired: later retries use the same options
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
		retry = nil // the revert follows
	}
	n.Retrying = retry != nil
	r.failures[n.Key] = Failure{Key: n.Key, Base: n.Root().Key, Op: n.LastOp, Err: err, Retry: retry, Hangs: hangs(err)}
}

// Progress counts the operations of the plan in execution. Get may be called
// concurrently.
type Progress struct{ total, done atomic.Int64 }

// begin starts counting the operations of a plan; 0 ends the count.
func (p *Progress) begin(operations int) {
	p.done.Store(0)
	p.total.Store(int64(operations))
}

// Get returns the numbers of completed and of all operations; both are 0 while no
// plan is in execution.
func (p *Progress) Get() (done, total int64) {
	total = p.total.Load()
	return min(p.done.Load(), total), total
}

// late reports whether the deadline of the transaction has passed, so that no
// operation may start. A revert has no deadline.
func (r *run) late() bool {
	return !r.txn.Deadline.IsZero() && !r.reverted && !r.Now().Before(r.txn.Deadline)
}

// retriable reports whether an operation may be retried after an error. An
// operation that did not start may always be retried; otherwise the descriptor
// decides.
func retriable(op *plan.Op, err error) bool {
	switch err.(type) {
	case *refusedError, *lostError:
		return true
	}
	return errors.Is(err, api.ErrTxnDeadline) || op.Desc.Retriable(err)
}

// refused returns the reason not to start an operation, or nil.
func (r *run) refused(op *plan.Op) error {
	if err := r.Crashes.refuse(op.Desc.Southbound); err != nil {
		return err
	}
	return r.Overdue.refuse(op.Desc)
}

// limit returns how many callbacks of all descriptors may run at once.
func (r *run) limit() int {
	switch {
	case r.txn.Alone:
		return 1
	case r.Limit > 0:
		return r.Limit
	}
	return DefaultLimit
}
