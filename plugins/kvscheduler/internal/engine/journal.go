package engine

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Journal stores the records of the values that the scheduler created, and other
// state such as suspects, beyond the life of the process. Lookup may be called
// concurrently; the worker calls the other methods.
type Journal interface {
	// Load returns all records, each in memory of its own, and the transaction that was
	// in execution when the previous process ended, or nil.
	Load() ([]*ownership.Record, *ownership.Interrupted, error)
	// Write executes a batch atomically. After an error the records are unchanged,
	// and the next batch has All set.
	Write(b *ownership.Batch) error
	// Lookup returns the record of a key.
	Lookup(key string) (ownership.Record, bool)
	// LoadState returns the state that SaveState stored under a name, by key.
	LoadState(name string) (map[string][]byte, error)
	// SaveState changes the state stored under a name atomically. A nil value deletes
	// its key. With all, keys that are not in put are deleted.
	SaveState(name string, put map[string][]byte, all bool) error
}

// journalRetry is the delay before a failed write is retried, unless a transaction
// writes earlier.
const journalRetry = 10 * time.Second

// journal keeps the persistent records consistent with the graph. It belongs to the
// worker.
type journal struct {
	*shared

	store Journal // nil: nothing is stored

	kinds       map[string]*ownership.Kind // of records, by descriptor
	unconfirmed *refresh.Unconfirmed
	// intended holds the values written ahead for the running transaction.
	intended  []intent
	seq       uint64          // of the last transaction
	left      map[string]bool // the values of it whose Delete left the object in the southbound
	running   bool            // the journal records that a transaction is in execution
	stale     bool            // a write failed: the next one has to replace all records
	undecided map[string]bool // the undecided keys in the journal
	former    int             // number of former values in the journal
	retrying  bool
}

// open loads the records of the previous process.
func (j *journal) open() {
	if j.store == nil {
		return
	}
	j.state.graph.Track()
	records, interrupted, err := j.store.Load()
	if err != nil {
		j.log.Error("what an earlier run made is not known", "error", err)
		return
	}
	j.remember(records, interrupted)
	if len(records) > 0 || interrupted != nil {
		j.log.Info("values of an earlier run are on record", "values", len(records))
	}
	if interrupted != nil {
		j.log.Warn("the earlier run ended during a transaction; what it left behind is completed or removed",
			"seq-num", interrupted.Txn, "begun", interrupted.Time)
	}
}

// load returns the state stored under a name; see Journal.LoadState.
func (j *journal) load(name string) (map[string][]byte, error) {
	if j.store == nil {
		return nil, nil
	}
	return j.store.LoadState(name)
}

type intent struct {
	key    string
	self   *plan.Handle
	former *registry.Value // what is on record before; nil: nothing
	target *registry.Value
}

// recorded reports whether the scheduler created a value that is not desired: it is in
// the journal or, without a journal, a transaction of this process created it.
func (j *journal) recorded(n *graph.Node) bool {
	if j.store == nil {
		return n.LastOp != kvscheduler.TxnOperation_UNDEFINED
	}
	return n.Kept != nil
}

// intentsAtOnce is the size of a batch of intents. The intents of a large plan need not
// be in memory together, nor be written atomically: they only precede its execution.
const intentsAtOnce = 1 << 14

// intend writes ahead the values that a plan will create and change. If the plan only
// removes values or changes derived ones, it records just that a transaction is in
// execution: if the process ends in between, the next process needs that to recognise the
// remains.
func (j *journal) intend(pl *plan.Plan) {
	b := &ownership.Batch{Txn: j.seq, Running: true}
	written, changes := true, false
	now := j.clock.Now()
	for i := range pl.Ops {
		changes = j.addIntent(b, &pl.Ops[i], now) || changes
		if len(b.Put) == intentsAtOnce {
			written = written && j.writeIntents(b)
			b.Put, b.Former = b.Put[:0], nil
		}
	}
	if written && (len(b.Put) > 0 || changes && !j.running) {
		j.writeIntents(b)
	}
}

// addIntent adds an operation to a batch of intents. changes reports that it removes
// something, or changes a derived value.
func (j *journal) addIntent(b *ownership.Batch, op *plan.Op, now time.Time) (changes bool) {
	creates := op.Kind == plan.Up || op.Kind == plan.Update
	switch {
	case op.Notified || op.Desc.IsProperty():
	case op.Base != "": // its base has the record
		return creates || op.Kind == plan.Down
	case op.Kind == plan.Down && op.Have != nil && !op.Have.FromSB:
		if op.Recreate {
			b.Former = append(b.Former, j.replacedBy(op, now))
		}
		return true
	case creates && !ofOthers(op, op.Target):
		if replaces(op) {
			b.Former = append(b.Former, j.replacedBy(op, now))
		}
		j.intended = append(j.intended, intent{op.Key, op.Self, onRecord(op.Self.Node), op.Target})
		b.Put = append(b.Put, j.made(op.Key, op.Desc, op.Target, j.seq, now))
	}
	return false
}

// replaces reports whether an operation changes a value that is ours, so that a read which follows an unknown
// outcome has to expect both values.
func replaces(op *plan.Op) bool {
	return op.Kind == plan.Update && op.Desc.Retrieve != nil && op.Have != nil && !op.Have.FromSB && !proto.Equal(op.Have.Msg, op.Target.Msg)
}

// configured returns kept, a value on record, if have, which the southbound has, is equivalent to it: a read only added
// details that the southbound chose, which are no part of the configuration. Otherwise it returns have.
func configured(d *registry.Descriptor, key string, kept, have *registry.Value) *registry.Value {
	if kept != nil && kept.Msg != nil && d.Equivalent(key, kept.Msg, have.Msg) {
		return kept
	}
	return have
}

// onRecord returns what is on record of a node, which can be nil.
func onRecord(n *graph.Node) *registry.Value {
	if n == nil {
		return nil
	}
	return n.Kept
}

// replacedBy returns the record of what an operation replaces.
func (j *journal) replacedBy(op *plan.Op, now time.Time) ownership.Record {
	return j.made(op.Key, op.Desc, configured(op.Desc, op.Key, onRecord(op.Self.Node), op.Have), j.seq, now)
}

// ofOthers reports whether the value v of an operation is not ours.
func ofOthers(op *plan.Op, v *registry.Value) bool {
	return v.FromSB || op.Self.Node != nil && op.Self.Node.Owner == graph.Adopted
}

// writeIntents writes a batch of intents. It returns false after an error: all records
// have to be written again, so further batches are pointless.
func (j *journal) writeIntents(b *ownership.Batch) (ok bool) {
	b.Delete = j.unconfirmed.TakeGone() // before Put: some of them will be created again
	if j.stale {
		b = j.everything(b)
	}
	j.running = j.write(b)
	j.former += len(b.Former)
	return j.running
}

// made returns the record of a value.
func (j *journal) made(key string, d *registry.Descriptor, v *registry.Value, seq uint64, at time.Time) ownership.Record {
	rec := ownership.Record{Key: key, Kind: j.kind(d), Txn: seq, Value: v.Msg}
	if !at.IsZero() {
		rec.At = at.UnixNano()
	}
	return rec
}

// kind returns what the records of the values of a descriptor have in common.
func (j *journal) kind(d *registry.Descriptor) *ownership.Kind {
	k := j.kinds[d.Name]
	if k == nil {
		k = &ownership.Kind{Descriptor: d.Name, Southbound: d.Southbound}
		j.kinds[d.Name] = k
	}
	return k
}

// keep writes the actual state after a transaction to the journal.
func (j *journal) keep(executed []api.RecordedTxnOp, notified map[string]bool) {
	gone, doubts := j.unconfirmed.TakeGone(), j.unconfirmed.TakeDoubts()
	if j.store == nil {
		j.keepRemovals(executed, notified)
		return
	}
	j.keepUndecided()
	b := &ownership.Batch{Txn: j.seq, Delete: gone, Put: doubts, Former: j.unconfirmed.Formers()} // replaces the intents
	j.left = leftKeys(executed)
	j.settleAll(b)
	if len(b.Put)+len(b.Delete) == 0 && !j.running && j.former == len(b.Former) {
		return
	}
	if j.stale {
		b = j.everything(b)
	}
	j.write(b)
	j.running, j.former = false, len(b.Former)
}

// keepRemovals remembers, without a journal, the values that a transaction removed; see
// refresh.Unconfirmed.Remove. It skips removals that the southbound reported, since another
// process made them.
func (j *journal) keepRemovals(executed []api.RecordedTxnOp, notified map[string]bool) {
	for i := range executed {
		op := &executed[i]
		if notified[op.Key] || !removes(op) {
			continue
		}
		if n := j.state.graph.Node(op.Key); n != nil && n.Have != nil { // created again
			continue
		}
		if d, _ := j.state.registry.Load().Lookup(op.Key); d != nil && d.Retrieve != nil {
			j.unconfirmed.Remove(&ownership.Record{Key: op.Key, Kind: j.kind(d), Value: op.PrevValue})
		}
	}
}

// leftKeys returns the keys of the values whose Delete left the object in the southbound.
func leftKeys(executed []api.RecordedTxnOp) (keys map[string]bool) {
	for i := range executed {
		if op := &executed[i]; op.IsLeft {
			if keys == nil {
				keys = map[string]bool{}
			}
			keys[op.Key] = true
		}
	}
	return keys
}

// removes reports whether the callback of an operation removed a base value.
func removes(op *api.RecordedTxnOp) bool {
	return op.Operation == kvscheduler.TxnOperation_DELETE && !op.IsDerived && !op.NOOP && !op.IsLeft && op.NewErrMsg == ""
}

// settleAll adds all changes since the last batch to a batch.
func (j *journal) settleAll(b *ownership.Batch) {
	j.state.mu.Lock()
	defer j.state.mu.Unlock()
	now := j.clock.Now()
	for i := range j.intended {
		in := &j.intended[i]
		n := in.self.Node
		if n == nil || n.Gone {
			n = j.state.graph.Node(in.key)
		}
		if n == nil {
			if !j.unconfirmed.Doubted(in.key) {
				b.Delete = append(b.Delete, in.key)
			}
			continue
		}
		n.Kept = in.target
		j.settle(b, n, in.former, now)
	}
	for _, n := range j.state.graph.Tracked() {
		j.settle(b, n, nil, now)
	}
	clear(j.intended)
	j.intended = j.intended[:0]
	if cap(j.intended) > intentsAtOnce { // free the buffer of a large transaction
		j.intended = nil
	}
}

// settle adds the changes of a value since the last batch to a batch. former is what was on record before an
// operation of the transaction; nil: nothing or no operation.
func (j *journal) settle(b *ownership.Batch, n *graph.Node, former *registry.Value, now time.Time) {
	if n.Base != nil || n.Desc.IsProperty() || j.unconfirmed.Doubted(n.Key) { // values that may exist keep their record
		return
	}
	if next := j.state.graph.Node(n.Key); n.Gone && next != nil { // created again
		if next.Kept == nil {
			next.Kept = n.Kept
		}
		n.Kept = nil
		n = next
	}
	switch kept := n.Kept; {
	case !n.Ours():
		j.settleRemoved(b, n, now)
	case kept == n.Have:
	case kept != nil && proto.Equal(kept.Msg, n.Have.Msg):
		n.Kept = n.Have
	case n.Have != n.Want && configured(n.Desc, n.Key, kept, n.Have) == kept:
	default:
		n.Kept = n.Have
		if n.Have != n.Want { // the operation failed
			n.Kept = configured(n.Desc, n.Key, former, n.Have)
		}
		j.unconfirmed.Drop(n.Desc.Name, n.Key)
		b.Put = append(b.Put, j.made(n.Key, n.Desc, n.Kept, j.seq, now))
	}
}

// settleRemoved removes a value from the journal that is no longer the scheduler's.
func (j *journal) settleRemoved(b *ownership.Batch, n *graph.Node, now time.Time) {
	kept := n.Kept
	if kept == nil {
		return
	}
	if n.LastOp == kvscheduler.TxnOperation_DELETE && n.LastTxn == j.seq && n.Desc.Retrieve != nil && !j.left[n.Key] {
		rec := j.made(n.Key, n.Desc, kept, n.LastTxn, now)
		j.unconfirmed.Remove(&rec)
	}
	n.Kept = nil
	b.Delete = append(b.Delete, n.Key)
}

// everything makes the batch replace all records by the records of all values that are
// ours.
func (j *journal) everything(b *ownership.Batch) *ownership.Batch {
	all := &ownership.Batch{Txn: b.Txn, Running: b.Running, All: true, Former: b.Former}
	now := j.clock.Now()
	listed := map[string]bool{}
	for i := range b.Put {
		listed[b.Put[i].Key] = true
	}
	for n := range j.state.graph.Nodes {
		if n.Made() && !listed[n.Key] {
			listed[n.Key] = true
			all.Put = append(all.Put, j.made(n.Key, n.Desc, n.Have, n.LastTxn, now))
		}
	}
	for _, rec := range j.unconfirmed.All() {
		if !listed[rec.Key] {
			all.Put = append(all.Put, *rec)
		}
	}
	all.Put = append(all.Put, b.Put...)
	slices.SortFunc(all.Put, func(a, b ownership.Record) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// write writes a batch. If that fails, the scheduler continues without the journal
// and writes all records as soon as it can.
func (j *journal) write(b *ownership.Batch) (ok bool) {
	if err := j.store.Write(b); err != nil {
		if !j.stale {
			j.log.Error("what was made in the southbound could not be recorded; it is kept in memory until it can be", "error", err)
		}
		j.stale = true
		j.writeLater()
		return false
	}
	if j.stale {
		j.log.Info("what was made in the southbound is on record again", "values", len(b.Put))
	}
	j.stale = false
	return true
}

// writeLater schedules the retry of a failed write.
func (j *journal) writeLater() {
	if !j.retrying {
		j.retrying = true
		j.timers.after(journalRetry, call(j.writeAgain))
	}
}

func (j *journal) writeAgain() {
	j.retrying = false
	j.trials.save()
	if j.stale {
		j.write(j.everything(&ownership.Batch{Txn: j.seq, Former: j.unconfirmed.Formers()}))
	}
}

// lose keeps the record of a value whose existence is unknown.
func (j *journal) lose(n *graph.Node) {
	if !n.Made() {
		return
	}
	if j.unconfirmed.Doubted(n.Key) { // its possible values are remembered
		n.Kept = nil
		return
	}
	rec := j.made(n.Key, n.Desc, configured(n.Desc, n.Key, n.Kept, n.Have), n.LastTxn, j.history.Start(n.LastTxn))
	j.unconfirmed.Lose(&rec)
	n.Kept = nil
}
