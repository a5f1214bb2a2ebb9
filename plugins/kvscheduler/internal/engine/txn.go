package engine

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// txn collects the changes of one transaction.
type txn struct {
	engine *Engine
	values []api.RecordedKVPair
	at     map[string]int // positions of the keys in values; nil while they are sorted
}

// StartNBTransaction implements api.Committer.
func (e *Engine) StartNBTransaction() api.Txn { return &txn{engine: e} }

// Reserve makes room for n values. The transaction is in memory until it leaves the history.
func (t *txn) Reserve(n int) { t.values = slices.Grow(t.values, n) }

func (t *txn) SetValue(key string, value proto.Message) api.Txn {
	if value != nil && !value.ProtoReflect().IsValid() {
		value = nil // a typed nil pointer
	}
	pair := api.RecordedKVPair{Key: key, Value: value, Origin: api.FromNB}
	last := len(t.values) - 1
	if t.at == nil {
		if last < 0 || t.values[last].Key < key {
			t.values = append(t.values, pair)
			return t
		}
		t.index()
	}
	if i, ok := t.at[key]; ok {
		t.values[i] = pair
	} else {
		t.at[key] = len(t.values)
		t.values = append(t.values, pair)
	}
	return t
}

// index records the positions of the keys, once these are not sorted.
func (t *txn) index() {
	t.at = make(map[string]int, len(t.values)+1)
	for i := range t.values {
		t.at[t.values[i].Key] = i
	}
}

func (t *txn) Commit(ctx context.Context, opts ...api.TxnOption) (seqNum uint64, err error) {
	return t.engine.admission.submit(ctx, &northbound{commit: commit{values: t.values, opts: optionsOf(ctx, opts)}})
}

// optionsOf applies the options of the context, then the options of the call.
func optionsOf(ctx context.Context, opts []api.TxnOption) api.TxnOptions {
	return api.ApplyTxnOptions(slices.Concat(api.ContextOptions(ctx), opts))
}

func (t *txn) Plan(ctx context.Context, opts ...api.TxnOption) (*api.Plan, error) {
	what := &northbound{commit: commit{values: t.values, opts: optionsOf(ctx, opts)}}
	if err := what.check(); err != nil {
		return nil, api.NewTransactionError(err, nil, false)
	}
	var result *api.Plan
	var rejected []api.KeyWithError
	err := t.engine.admission.onWorker(ctx, func() {
		defer t.engine.southbound.contracts.DryRun()()
		p := &transaction{entry: entryOf(what), dry: true}
		_, _ = t.engine.prepare(p) // a northbound transaction only fails because of its deadline
		rejected = p.rejected
		result = t.engine.plans.planned(t.values, &what.opts, plan.Make(t.engine.state.graph, p.request))
	})
	if err != nil {
		return nil, api.NewTransactionError(err, nil, false)
	}
	return result, api.NewTransactionError(nil, rejected, false)
}

// Apply implements api.Committer.
func (e *Engine) Apply(ctx context.Context, pl *api.Plan, opts ...api.TxnOption) (seqNum uint64, err error) {
	if api.ValuesDigest(pl.Values) != pl.Digest {
		err := fmt.Errorf("%w: its values do not match their digest", api.ErrPlanVersion)
		return api.NoSeqNum, api.NewTransactionError(err, nil, false)
	}
	o := api.ApplyTxnOptions(opts)
	o.Resync, o.KeepFound = pl.Resync, pl.KeepFound
	if o.Description == "" {
		o.Description = pl.Description
	}
	return e.admission.submit(ctx, &northbound{commit{values: pl.Values, opts: o}, pl})
}

// PushSBNotification implements api.Notifier.
func (e *Engine) PushSBNotification(notifications ...api.KVWithMetadata) error {
	if len(notifications) == 0 {
		return nil
	}
	return e.admission.push(&notification{news: queue.NewNews(notifications)})
}

// ReportLost implements api.Notifier.
func (e *Engine) ReportLost(keys ...string) error { return e.losses.reportLost(keys) }

// TransactionBarrier implements api.Notifier.
func (e *Engine) TransactionBarrier() {
	_ = e.admission.wait(context.Background()) // a closed scheduler executes nothing: no need to wait
}

// WaitForTransactions implements api.Notifier.
func (e *Engine) WaitForTransactions(ctx context.Context) error { return e.admission.wait(ctx) }
