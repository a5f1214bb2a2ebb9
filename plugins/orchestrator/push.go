package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Errors of PushData. Compare with errors.Is.
var (
	// ErrInvalidItems: an item cannot belong to the configuration, and nothing
	// was done; the results say which.
	ErrInvalidItems = errors.New("invalid items")
	// ErrWithdrawn: the configuration was withdrawn because the agent stops.
	ErrWithdrawn = errors.New("the configuration is withdrawn")
)

// Result is what became of one item.
type Result struct {
	Key string
	// Source is the source whose value is in effect; empty: none has one.
	Source string
	// Status is the state of the value in the scheduler, after the change was
	// executed; nil if the item is invalid.
	Status *api.BaseValueStatus
	// Err says why the item is invalid, or why its operation failed.
	Err error
}

// PushOption is an option of PushData.
type PushOption func(*pushOptions)

type pushOptions struct {
	resync, revert bool
	description    string
	seqNum         *uint64
}

// WithResync makes the items all that the source wants, and synchronises
// everything with the southbound.
func WithResync() PushOption { return func(o *pushOptions) { o.resync = true } }

// WithRevert undoes everything if one item fails. It does not go with
// WithResync.
func WithRevert() PushOption { return func(o *pushOptions) { o.revert = true } }

// WithDescription says what the change is for; it is shown in the history.
func WithDescription(text string) PushOption { return func(o *pushOptions) { o.description = text } }

// WithSeqNum stores the sequence number of the transaction; nothing is stored if
// there is none, as before the initial synchronisation.
func WithSeqNum(n *uint64) PushOption { return func(o *pushOptions) { o.seqNum = n } }

// PushData changes what a source wants and returns, in the order of the items,
// what became of them. The error is ErrInvalidItems, the *api.TransactionError
// of the scheduler, or that ctx ended; a change that has begun goes on then.
// Before the initial synchronisation the items become a part of it.
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
	if o.revert { // only a transaction of its own can be reverted
		if err := p.waitSynced(ctx); err != nil {
			return nil, err
		}
	}
	ch := change{source: source, items: items, resync: o.resync, revert: o.revert, again: true, description: o.description, seqNum: o.seqNum}
	joined, err := p.apply(ctx, ch)
	p.tellHealth()
	if err == nil && joined {
		err = p.waitInitial(ctx, items)
	}
	if errors.Is(err, ErrWithdrawn) {
		return nil, err
	}
	return p.results(items, err), err
}

// waitInitial waits for the initial synchronisation and returns its error if
// that concerns the items.
func (p *Plugin) waitInitial(ctx context.Context, items []KeyVal) error {
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
	mine := map[string]bool{}
	for _, it := range items {
		mine[it.Key] = true
	}
	for _, kv := range txn.GetKVErrors() {
		if mine[kv.Key] {
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
		return fmt.Errorf("wait for the initial synchronisation: %w", ctx.Err())
	case <-p.Context().Done():
		return ErrWithdrawn
	}
}

// check returns nil if all items can belong to the configuration.
func (p *Plugin) check(items []KeyVal) []Result {
	errs := make([]error, len(items))
	inParallel(len(items), func(i int) { errs[i] = p.checkItem(items[i].Key, items[i].Val) })
	seen, good := make(map[string]bool, len(items)), true
	for i, it := range items {
		if errs[i] == nil && seen[it.Key] {
			errs[i] = fmt.Errorf("key %s: given twice", it.Key)
		}
		seen[it.Key] = true
		good = good && errs[i] == nil
	}
	if good {
		return nil
	}
	results := make([]Result, len(items))
	for i, it := range items {
		results[i] = Result{Key: it.Key, Err: errs[i]}
	}
	return results
}

// atOnce is how many items one goroutine deals with at least.
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

// checkItem says what is wrong with an item.
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
	if field := logging.HiddenField(val); field != "" {
		return fmt.Errorf("key %s: %s: %s stands for a secret that is not shown; expected the secret (agentctl --show-secrets)", key, field, logging.Hidden)
	}
	return nil
}

// change is a change of what one source wants.
type change struct {
	source      string
	items       []KeyVal
	resync      bool
	revert      bool
	again       bool // see store.edit
	keep        bool // a resync does not remove what it finds
	description string
	seqNum      *uint64 // gets the number of the transaction; may be nil

	store      *watched          // where the change comes from; nil: a client
	incomplete []string          // what the store does not know
	state      map[string][]byte // to be kept together with the change
}

// apply makes a change and executes it. joined tells that it will be executed
// by the initial synchronisation.
func (p *Plugin) apply(ctx context.Context, ch change) (joined bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	select {
	case p.busy <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-p.busy }()

	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false, ErrWithdrawn
	}
	before := p.store.source(ch.source).items
	effects, undo := p.edit(ch)
	p.accept(&ch)
	keys := p.changedKeys(ch, before)
	joined = !p.begun
	last := p.learn(&ch)
	state := ch.state
	if state == nil {
		state = p.storeState(ch)
	}
	if last {
		effects = p.store.all()
	}
	p.mu.Unlock()
	p.save(ch.source, keys, state)
	if joined || len(effects) == 0 && !ch.resync {
		p.noteChange(ch.source, nil)
		return joined, nil
	}
	err = p.commit(ctx, effects, ch)
	var txn *api.TransactionError
	undone := errors.As(err, &txn) && (txn.Reverted() || notStarted(txn))
	p.mu.Lock()
	if undone {
		undo()
	} else if last {
		p.keeping = false
		p.Log.Info("all of the configuration is known now; what was found and nobody asks for is removed")
	}
	p.mu.Unlock()
	if undone {
		p.save(ch.source, keys, nil)
	}
	p.noteChange(ch.source, err)
	return false, err
}

// notStarted tells whether a transaction had no effect at all.
func notStarted(txn *api.TransactionError) bool {
	err := txn.GetTxnInitError()
	return err != nil && !errors.Is(err, api.ErrTxnWaitCanceled)
}

// edit changes the store. The lock is held.
func (p *Plugin) edit(ch change) (effects []KeyVal, undo func()) {
	if ch.resync {
		undo = p.store.replace(ch.source, ch.items)
		return p.store.all(), undo
	}
	return p.store.edit(ch.source, ch.items, ch.again)
}

// commit gives values to the scheduler and waits until it is done.
func (p *Plugin) commit(ctx context.Context, effects []KeyVal, ch change) error {
	opts := []api.TxnOption{api.WithRetryDefault(), api.WithDescription(ch.text())}
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

// results says what became of the items of a change that ended with err.
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
	for i, it := range items {
		results[i].Key = it.Key
		if _, owner := p.store.effective(it.Key); owner != nil {
			results[i].Source = owner.name
		}
	}
	p.mu.RUnlock()
	inParallel(len(items), func(i int) {
		results[i].Status, results[i].Err = p.Scheduler.GetValueStatus(items[i].Key), failed[items[i].Key]
	})
	return results
}

// Withdraw removes everything that the plugin asked for, of all sources, and
// makes it deaf to further changes: the clean end of an agent that is to leave
// nothing behind. What was found in the southbound and nobody has asked for is
// removed, too, if all sources have told what they want. An agent that asked for
// nothing yet, as its start failed, has nothing to take back.
func (p *Plugin) Withdraw(ctx context.Context) error {
	select {
	case p.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.busy }()
	p.mu.Lock()
	if !p.begun {
		p.closed = true
		p.mu.Unlock()
		return nil
	}
	keep := p.keeping
	p.closed = true
	p.store.sources, p.unconfirmed = nil, nil
	p.mu.Unlock()
	if p.State != nil {
		p.saveAll()
	}
	return p.commit(ctx, nil, change{resync: true, keep: keep, description: "withdraw the configuration"})
}
