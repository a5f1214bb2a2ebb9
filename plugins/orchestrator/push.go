package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/fairqueue"
)

// Errors of PushData.
var (
	// ErrInvalidItems is returned if items are invalid: nothing was done, and
	// the results contain the reasons.
	ErrInvalidItems = errors.New("invalid items")
	// ErrWithdrawn is returned when the configuration was withdrawn because the
	// agent stops.
	ErrWithdrawn = errors.New("the configuration was withdrawn")
)

// Result is the result of one item.
type Result struct {
	Key string
	// Source is the source whose value is in effect; empty if there is none.
	Source string
	// Status is the state of the value in the scheduler after the change; nil
	// if the item is invalid.
	Status *api.BaseValueStatus
	// Err is the reason why the item is invalid, or the error of its operation.
	Err error
}

// PushOption is an option of PushData.
type PushOption func(*pushOptions)

type pushOptions struct {
	resync, revert bool
	description    string
	seqNum         *uint64
	caller         Caller
}

// WithResync replaces all items of the source, and synchronises everything
// with the southbound.
func WithResync() PushOption { return func(o *pushOptions) { o.resync = true } }

// WithRevert reverts the transaction if an item fails. It cannot be combined
// with WithResync.
func WithRevert() PushOption { return func(o *pushOptions) { o.revert = true } }

// WithDescription sets the description of the change in the history.
func WithDescription(text string) PushOption { return func(o *pushOptions) { o.description = text } }

// WithSeqNum stores the sequence number of the transaction in n, unless there is
// no transaction, as before the initial synchronisation.
func WithSeqNum(n *uint64) PushOption { return func(o *pushOptions) { o.seqNum = n } }

// PushData changes items of a source and returns their results in the same
// order. The error is ErrInvalidItems, ErrQueueFull, the *api.TransactionError
// of the scheduler, or ctx's error: api.ErrTxnCanceled if the change was still
// queued, so that it was not executed; a change that has begun continues.
// Changes that wait for the initial synchronisation become a part of it.
func (p *Plugin) PushData(ctx context.Context, source string, items []KeyVal, opts ...PushOption) ([]Result, error) {
	var o pushOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.resync && o.revert {
		return nil, api.ErrRevertNotSupportedWithResync
	}
	if results := p.check(items); results != nil {
		p.noteInvalid(source, items, results)
		return results, ErrInvalidItems
	}
	ch := change{source: source, items: items, resync: o.resync, revert: o.revert, again: true,
		description: o.description, seqNum: o.seqNum, caller: o.caller}
	joined, err := p.apply(ctx, ch)
	p.tellHealth()
	if err == nil && joined {
		mine := sync.OnceValue(func() map[string]bool { return keysOf(items) })
		err = p.waitInitial(ctx, func(key string) bool { return mine()[key] })
	}
	if errors.Is(err, ErrWithdrawn) || errors.Is(err, ErrQueueFull) {
		return nil, err
	}
	return p.results(items, err), err
}

func keysOf(items []KeyVal) map[string]bool {
	keys := make(map[string]bool, len(items))
	for _, it := range items {
		keys[it.Key] = true
	}
	return keys
}

// waitInitial waits for the initial synchronisation and returns its error if it
// concerns one of the keys that mine reports.
func (p *Plugin) waitInitial(ctx context.Context, mine func(key string) bool) error {
	if err := p.waitSynced(ctx); err != nil {
		return err
	}
	p.mu.RLock()
	err := p.syncErr
	p.mu.RUnlock()
	var txn *api.TransactionError
	if !errors.As(err, &txn) || txn.GetTxnInitError() != nil {
		return err
	}
	for _, kv := range txn.GetKVErrors() {
		if mine(kv.Key) {
			return err
		}
	}
	return nil
}

func (p *Plugin) waitSynced(ctx context.Context) error {
	select {
	case <-p.synced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", api.ErrTxnWaitCanceled, context.Cause(ctx))
	case <-p.Context().Done():
		return ErrWithdrawn
	}
}

// check returns nil if all items are valid.
func (p *Plugin) check(items []KeyVal) []Result {
	errs := make([]error, len(items))
	inParallel(len(items), func(i int) { errs[i] = p.checkItem(items[i].Key, items[i].Val) })
	twice(items, errs)
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return nil
	}
	results := make([]Result, len(items))
	for i, it := range items {
		results[i] = Result{Key: it.Key, Err: errs[i]}
	}
	return results
}

// twice finds duplicate keys. As long as keys are sorted there are none, and it
// allocates nothing.
func twice(items []KeyVal, errs []error) {
	var seen map[string]bool
	for i, it := range items {
		if seen == nil {
			if i == 0 || items[i-1].Key < it.Key {
				continue
			}
			seen = make(map[string]bool, len(items))
			for _, earlier := range items[:i] {
				seen[earlier.Key] = true
			}
		}
		if errs[i] == nil && seen[it.Key] {
			errs[i] = fmt.Errorf("key %s: duplicate", it.Key)
		}
		seen[it.Key] = true
	}
}

// atOnce is the minimum number of items per goroutine.
const atOnce = 4096

// inParallel calls f for all numbers below n.
func inParallel(n int, f func(i int)) {
	size := max(atOnce, n/runtime.GOMAXPROCS(0)+1)
	if n <= size {
		for i := range n {
			f(i)
		}
		return
	}
	var workers sync.WaitGroup
	for from := 0; from < n; from += size {
		workers.Go(func() {
			for i := from; i < min(from+size, n); i++ {
				f(i)
			}
		})
	}
	workers.Wait()
}

// checkItem returns the error of an invalid item.
func (p *Plugin) checkItem(key string, val proto.Message) error {
	model, ok := p.Codec.Models().ForKey(key)
	if !ok || !model.Matches(key) {
		return fmt.Errorf("key %s: no model has such keys", key)
	}
	if val == nil {
		return nil
	}
	real, err := model.KeyOf(val)
	if err != nil {
		return fmt.Errorf("key %s: %w", key, err)
	}
	if real != key {
		return fmt.Errorf("key %s does not belong to its value, whose key is %s", key, real)
	}
	if field := p.Codec.HiddenField(val); field != "" {
		return fmt.Errorf("key %s: %s: %s", key, field, document.HiddenText)
	}
	return nil
}

// change is a change of one source.
type change struct {
	source      string
	items       []KeyVal
	resync      bool
	revert      bool
	again       bool // see store.edit
	keep        bool // a resync does not remove values that it finds
	description string
	seqNum      *uint64 // receives the number of the transaction; may be nil
	caller      Caller  // the client

	store      *watched          // the store of the change; nil: a client
	incomplete []string          // the unknown parts of the store
	held       bool              // the content of the store is known, though not all of it may be in effect
	state      map[string][]byte // to persist together with the change
}

// apply makes a change and executes it when it is granted. joined reports that
// the initial synchronisation executes it.
func (p *Plugin) apply(ctx context.Context, ch change) (joined bool, err error) {
	req := fairqueue.Request{Source: ch.source, What: ch.text(), Path: ch.caller.path()}
	switch {
	case ch.store != nil:
		req.Class = fairqueue.Source
	case !ch.revert: // only a separate transaction can be reverted
		req.Join = func() { p.join(ch) }
	}
	turn, err := p.takeTurn(ctx, req)
	if err != nil {
		return false, err
	}
	if turn.Joined() {
		return true, nil
	}
	return p.applyInTurn(ctx, turn, ch)
}

// join makes a change that the initial synchronisation will execute.
func (p *Plugin) join(ch change) {
	if _, err := p.make(&ch); err == nil { // otherwise the configuration was withdrawn, which the result will report
		p.noteChange(ch.source, nil)
	}
}

// made is a change of the sources before its execution.
type made struct {
	effects []KeyVal
	keys    []string // to persist
	undo    func()
	joined  bool // the initial synchronisation executes it
	last    bool // see learn

	overridden overridden // changed items without effect
}

// make makes a change without executing it.
func (p *Plugin) make(ch *change) (m made, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return m, ErrWithdrawn
	}
	before := p.store.source(ch.source).items
	m.overridden = p.overriddenBy(ch)
	m.effects, m.undo = p.edit(*ch)
	p.accept(ch)
	m.keys = p.changedKeys(*ch, before)
	m.joined = !p.begun
	m.last = p.learn(ch)
	state := ch.state
	if state == nil {
		state = p.storeState(*ch)
	}
	if m.last {
		m.effects = p.store.all()
	}
	p.mu.Unlock()
	p.tellOverridden(ch.source, m.overridden)
	p.save(ch.source, m.keys, state)
	return m, nil
}

// applyInTurn is apply with the turn granted; it ends the turn.
func (p *Plugin) applyInTurn(ctx context.Context, turn *fairqueue.Turn, ch change) (joined bool, err error) {
	m, err := p.make(&ch)
	if err != nil {
		turn.End()
		return false, err
	}
	if m.joined || len(m.effects) == 0 && !ch.resync {
		p.noteChange(ch.source, nil)
		turn.End()
		return m.joined, nil
	}
	err = p.commit(ctx, turn, m.effects, ch)
	p.afterwards(turn, api.NoSeqNum, err, func(_ uint64, err error) { p.finish(ch, m, err) })
	return false, err
}

// finish handles the result of a change.
func (p *Plugin) finish(ch change, m made, err error) {
	undone := undone(err)
	p.mu.Lock()
	if undone {
		m.undo()
	} else if m.last {
		p.keeping = false
		p.Log.Info("the configuration is complete now; removing values that are not desired")
	}
	p.mu.Unlock()
	if undone {
		p.save(ch.source, m.keys, nil)
	}
	p.noteChange(ch.source, err)
}

// undone reports whether a transaction that ended with err had no effect.
func undone(err error) bool {
	var txn *api.TransactionError
	if !errors.As(err, &txn) {
		return false
	}
	init := txn.GetTxnInitError()
	return txn.Reverted() || init != nil && !errors.Is(init, api.ErrTxnWaitCanceled)
}

// edit changes the store. The lock is held.
func (p *Plugin) edit(ch change) (effects []KeyVal, undo func()) {
	if ch.resync {
		undo = p.store.replace(ch.source, ch.items)
		return p.store.all(), undo
	}
	return p.store.edit(ch.source, ch.items, ch.again)
}

// commit passes values to the scheduler and waits for the transaction.
func (p *Plugin) commit(ctx context.Context, turn *fairqueue.Turn, effects []KeyVal, ch change) error {
	opts := []api.TxnOption{api.WithRetryDefault(), api.WithDescription(ch.text()), api.WithArrival(turn.Times())}
	if ch.resync {
		opts = append(opts, api.WithResync(api.FullResync, false))
	}
	if ch.keep {
		opts = append(opts, api.WithoutRemoval())
	}
	if ch.revert {
		opts = append(opts, api.WithRevert())
	}
	txn := p.Scheduler.StartNBTransaction()
	if r, ok := txn.(interface{ Reserve(n int) }); ok {
		r.Reserve(len(effects))
	}
	for _, kv := range effects {
		txn.SetValue(kv.Key, kv.Val)
	}
	seqNum, err := txn.Commit(ctx, opts...)
	if ch.seqNum != nil {
		*ch.seqNum = seqNum
	}
	return err
}

// text describes the change in the history of transactions.
func (ch change) text() string {
	if ch.description != "" {
		return ch.description
	}
	if ch.resync {
		return "resync of " + ch.source
	}
	return "change from " + ch.source
}

// results returns the results of the items of a change that ended with err.
func (p *Plugin) results(items []KeyVal, err error) []Result {
	failed := map[string]error{}
	var txn *api.TransactionError
	if errors.As(err, &txn) {
		for _, kv := range txn.GetKVErrors() {
			failed[kv.Key] = kv.Error
		}
	}
	results := make([]Result, len(items))
	p.mu.RLock()
	inParallel(len(items), func(i int) {
		results[i].Key = items[i].Key
		if _, owner := p.store.effective(items[i].Key); owner != nil {
			results[i].Source = owner.name
		}
	})
	p.mu.RUnlock()
	inParallel(len(items), func(i int) {
		results[i].Status, results[i].Err = p.Scheduler.GetValueStatus(items[i].Key), failed[items[i].Key]
	})
	return results
}
