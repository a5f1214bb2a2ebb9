// Package record keeps the history of transactions in memory, limited in entries,
// bytes and age, and formats a recorded transaction as the text of the log. Records
// are data: text and JSON are made on demand.
package record

import (
	"slices"
	"sync"
	"time"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Options bound a Ring. The zero value of a field is no bound.
type Options struct {
	// MaxEntries is the number of transactions kept.
	MaxEntries int
	// MaxBytes is the approximate heap that the records may hold. The operations of
	// the largest transactions are dropped first, then their values, then the oldest
	// transactions. The newest record keeps its values even if it is larger.
	MaxBytes int64
	// AgeLimit drops transactions that ended longer ago than this, measured
	// when a later one is recorded.
	AgeLimit time.Duration
	// InitPeriod is the time after the first transaction whose records are kept
	// regardless of AgeLimit; they are kept regardless of MaxEntries and
	// MaxBytes too, as long as they fill no more than half of either.
	InitPeriod time.Duration
}

// Ring is the history of transactions. All methods may be called concurrently.
// Records belong to the ring once they are given to it: they are never changed
// afterwards, so what the methods return can be read without a lock.
type Ring struct {
	opts Options

	mu      sync.RWMutex
	bySeq   map[uint64]*entry
	init    []*entry // recorded within the init period, exempt from the limits
	rest    []*entry // from head on; oldest first
	head    int
	large   []*entry // that summarise could make smaller, in the order in which they came
	bytes   int64    // of all entries
	initLen int64    // bytes of init
	first   time.Time
	stats   Stats
}

// entry is a record. The plan most often equals the executed operations, and is
// seldom looked at while it is executed, so it is not kept twice.
type entry struct {
	txn   *api.RecordedTxn
	bytes int64
	plan  func() []api.RecordedTxnOp // makes txn.Planned on demand; nil: it is there
	// dropped reports that the entry is no longer in the ring.
	dropped bool
}

// load returns the record as it is to be read.
func (e *entry) load() *api.RecordedTxn {
	if e.plan == nil {
		return e.txn
	}
	txn := *e.txn
	txn.Planned = e.plan()
	return &txn
}

// NewRing returns an empty history.
func NewRing(opts Options) *Ring {
	return &Ring{opts: opts, bySeq: map[uint64]*entry{}, stats: newStats()}
}

// PreRecord adds a transaction that is about to be executed, so that it can be
// looked up while it runs. The record must not be changed afterwards: Complete
// it with another one. plan makes the planned operations, perhaps concurrently, when a
// caller asks for them; nil: the record has them.
func (r *Ring) PreRecord(txn *api.RecordedTxn, plan func() []api.RecordedTxnOp) { r.put(txn, plan) }

// Complete replaces the record of the same sequence number, or adds it if
// there is none, and counts it in the statistics.
func (r *Ring) Complete(txn *api.RecordedTxn) { r.complete(txn, nil) }

// CompleteAsPlanned is Complete for a transaction whose executed operations are
// just those that were planned; the record comes without the latter.
func (r *Ring) CompleteAsPlanned(txn *api.RecordedTxn) {
	r.complete(txn, func() []api.RecordedTxnOp { return planOf(txn.Executed) })
}

// planOf returns executed operations as they were planned.
func planOf(executed []api.RecordedTxnOp) []api.RecordedTxnOp {
	planned := slices.Clone(executed)
	for i := range planned {
		planned[i].Ran(time.Time{}, time.Time{})
		planned[i].After, planned[i].Waited = 0, api.OpWaitNone
	}
	return planned
}

func (r *Ring) complete(txn *api.RecordedTxn, plan func() []api.RecordedTxnOp) {
	r.put(txn, plan)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.add(txn)
}

func (r *Ring) put(txn *api.RecordedTxn, plan func() []api.RecordedTxnOp) {
	size := sizeOf(txn)
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.bySeq[txn.SeqNum]
	if e == nil {
		e = &entry{}
		r.bySeq[txn.SeqNum] = e
		r.place(e, txn)
	}
	r.account(e, size)
	e.txn, e.plan = txn, plan
	if !txn.PreRecord {
		r.summarise(e)
	}
	r.trim(latest(txn))
}

// place decides for a new entry whether it belongs to the init period.
func (r *Ring) place(e *entry, txn *api.RecordedTxn) {
	if r.first.IsZero() {
		r.first = txn.Start
	}
	if r.opts.InitPeriod > 0 && txn.Start.Sub(r.first) < r.opts.InitPeriod && r.initHasRoom() {
		r.init = append(r.init, e)
		return
	}
	r.rest = append(r.rest, e)
}

func (r *Ring) initHasRoom() bool {
	entries := r.opts.MaxEntries == 0 || 2*(len(r.init)+1) <= r.opts.MaxEntries
	bytes := r.opts.MaxBytes == 0 || 2*r.initLen < r.opts.MaxBytes
	return entries && bytes && len(r.rest) == r.head // no gap between init and rest
}

func (r *Ring) account(e *entry, size int64) {
	r.bytes += size - e.bytes
	if len(r.init) > 0 && r.init[len(r.init)-1] == e {
		r.initLen += size - e.bytes
	}
	e.bytes = size
}

// trim drops the oldest entries that exceed a limit, but never the newest.
func (r *Ring) trim(now time.Time) {
	before := r.head
	for len(r.rest)-r.head > 1 && r.over(now) {
		old := r.rest[r.head]
		r.rest[r.head] = nil
		r.head++
		r.bytes -= old.bytes
		old.dropped = true
		delete(r.bySeq, old.txn.SeqNum)
	}
	if r.head > before { // else they would stay in memory until the next summary
		r.large = slices.DeleteFunc(r.large, func(e *entry) bool { return e.dropped })
	}
	if r.head > 64 && 2*r.head > len(r.rest) {
		r.rest = append([]*entry(nil), r.rest[r.head:]...)
		r.head = 0
	}
}

func (r *Ring) over(now time.Time) bool {
	count := len(r.init) + len(r.rest) - r.head
	oldest := r.rest[r.head].txn
	return exceeds(count, r.opts.MaxEntries) || exceeds(r.bytes, r.opts.MaxBytes) ||
		exceeds(now.Sub(latest(oldest)), r.opts.AgeLimit)
}

// exceeds compares with a limit; 0 is no limit.
func exceeds[T int | int64 | time.Duration](n, limit T) bool { return limit > 0 && n > limit }

func latest(txn *api.RecordedTxn) time.Time {
	if txn.Stop.After(txn.Start) {
		return txn.Stop
	}
	return txn.Start
}

// Get returns the transaction with the sequence number, or nil if it was never
// recorded or is no longer kept. Finding it takes constant time.
func (r *Ring) Get(seqNum uint64) *api.RecordedTxn {
	r.mu.RLock()
	e := entry{}
	if found := r.bySeq[seqNum]; found != nil {
		e = *found
	}
	r.mu.RUnlock()
	if e.txn == nil {
		return nil
	}
	return e.load()
}

// Start is when the transaction with the sequence number was begun; zero if it is
// not kept. Unlike Get it costs no more for a transaction with many operations, so
// that it can be asked for each of them.
func (r *Ring) Start(seqNum uint64) time.Time {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.bySeq[seqNum]; e != nil && e.txn != nil {
		return e.txn.Start
	}
	return time.Time{}
}

// Window returns the transactions that started at or after since and not
// after until, oldest first; a zero time is no bound.
func (r *Ring) Window(since, until time.Time) []*api.RecordedTxn {
	entries := r.window(since, until)
	found := make([]*api.RecordedTxn, len(entries))
	for i := range entries {
		found[i] = entries[i].load()
	}
	return found
}

func (r *Ring) window(since, until time.Time) (found []entry) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, part := range [][]*entry{r.init, r.rest[r.head:]} {
		for _, e := range part {
			start := e.txn.Start
			if !start.Before(since) && (until.IsZero() || !start.After(until)) {
				found = append(found, *e)
			}
		}
	}
	return found
}

// Len is the number of transactions kept.
func (r *Ring) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.bySeq)
}

// Bytes is the approximate heap held by the records, in bytes.
func (r *Ring) Bytes() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bytes
}

// Stats returns a copy of the statistics of all completed transactions,
// including those no longer kept.
func (r *Ring) Stats() Stats {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.stats.clone()
}

const (
	// sampled is how many values of a transaction are measured at most; the
	// size of the others is taken from their average.
	sampled = 32
	// heapPerWireByte is a rule of thumb: a message in memory compared with its
	// encoding.
	heapPerWireByte = 4
	// heapPerMessage is the fixed cost of a message in memory, in bytes.
	heapPerMessage = 64
	// heapPerForced is a rule of thumb for an entry of RecordedTxn.Forced and for each field of it.
	heapPerForced = 48
)

// sizeOf estimates the heap that a record keeps alive. Keys and messages are
// counted once, although the graph usually shares them, so that the bound
// holds even if it does not.
func sizeOf(txn *api.RecordedTxn) int64 {
	var s sampler
	s.step = max(1, (len(txn.Values)+len(txn.Executed)+len(txn.Planned))/sampled)
	for i := range txn.Values {
		s.add(i, txn.Values[i].Key, txn.Values[i].Value)
	}
	for _, ops := range [][]api.RecordedTxnOp{txn.Planned, txn.Executed} {
		for i := range ops {
			s.add(i, ops[i].Key, ops[i].PrevValue)
			s.fixed += int64(len(ops[i].NewErrMsg) + len(ops[i].PrevErrMsg))
		}
	}
	for i := range txn.Reasons {
		s.fixed += int64(unsafe.Sizeof(txn.Reasons[i])) + int64(len(txn.Reasons[i].Reason)) // the operations have the keys already
	}
	for _, fields := range txn.Forced {
		s.fixed += heapPerForced * int64(1+len(fields))
	}
	const op, kv = int64(unsafe.Sizeof(api.RecordedTxnOp{})), int64(unsafe.Sizeof(api.RecordedKVPair{}))
	fixed := int64(unsafe.Sizeof(*txn)) + int64(len(txn.Description)) + s.fixed +
		op*int64(len(txn.Planned)+len(txn.Executed)) + kv*int64(len(txn.Values))
	return fixed + s.total()
}

// sampler measures every step-th value.
type sampler struct {
	step     int
	count    int64 // values seen
	measured int64 // values measured
	bytes    int64 // of those measured
	fixed    int64
}

func (s *sampler) add(i int, key string, value proto.Message) {
	s.count++
	if i%s.step != 0 {
		return
	}
	s.measured++
	s.bytes += int64(len(key))
	if value != nil {
		s.bytes += heapPerMessage + heapPerWireByte*int64(proto.Size(value))
	}
}

func (s *sampler) total() int64 {
	if s.measured == 0 {
		return 0
	}
	return s.bytes * s.count / s.measured
}

// keptItems is how many operations and values of a transaction remain when it is
// summarised.
const keptItems = 1000

// summarise makes room for the newest entry: as long as the history is too large, the
// largest transactions lose first their operations, then their values. The newest one
// keeps its values, as clients may still wait for them.
func (r *Ring) summarise(newest *entry) {
	if len(newest.txn.Executed) > keptItems || len(newest.txn.Values) > keptItems {
		r.large = append(r.large, newest)
	}
	if r.opts.MaxBytes == 0 || r.bytes <= r.opts.MaxBytes || len(r.large) == 0 {
		return
	}
	bySize := slices.SortedStableFunc(slices.Values(r.large), func(a, b *entry) int { return int(b.bytes - a.bytes) })
	for _, e := range bySize {
		r.shorten(e, withoutOperations)
	}
	for _, e := range bySize {
		if e != newest {
			r.shorten(e, withoutValues)
		}
	}
	r.large = slices.DeleteFunc(r.large, func(e *entry) bool { return len(e.txn.Executed) <= keptItems && len(e.txn.Values) <= keptItems })
}

// shorten replaces the record of an entry if the history is too large.
func (r *Ring) shorten(e *entry, shorter func(api.RecordedTxn) api.RecordedTxn) {
	if r.bytes <= r.opts.MaxBytes {
		return
	}
	txn := shorter(*e.txn)
	size := sizeOf(&txn)
	r.bytes += size - e.bytes
	if slices.Contains(r.init, e) {
		r.initLen += size - e.bytes
	}
	e.txn, e.bytes = &txn, size
	if e.plan != nil { // it must not keep the longer record alive
		e.plan = func() []api.RecordedTxnOp { return planOf(txn.Executed) }
	}
}

// withoutOperations keeps the first operations and those that failed, as far as the
// limit allows. They no longer say which operation they waited for.
func withoutOperations(txn api.RecordedTxn) api.RecordedTxn {
	all := txn.Executed
	if len(all) <= keptItems {
		return txn
	}
	kept := make([]api.RecordedTxnOp, 0, 2*keptItems)
	for i := range all {
		if failed := all[i].NewErrMsg != ""; i < keptItems || failed && len(kept) < cap(kept) {
			op := all[i]
			op.After, op.Waited = 0, api.OpWaitNone
			kept = append(kept, op)
		}
	}
	txn.Executed, txn.OmittedOps, txn.Reasons, txn.Forced = kept, len(all)-len(kept), nil, nil
	txn.Planned = slices.Clone(txn.Planned[:min(len(txn.Planned), keptItems)])
	return txn
}

func withoutValues(txn api.RecordedTxn) api.RecordedTxn {
	if len(txn.Values) > keptItems {
		txn.OmittedValues = len(txn.Values) - keptItems
		txn.Values = slices.Clone(txn.Values[:keptItems])
	}
	return txn
}
