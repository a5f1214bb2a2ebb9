package control

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// txn collects the changes of one transaction.
type txn struct {
	c      *Control
	values []api.RecordedKVPair
	at     map[string]int // of a key in values; nil while they come in order
}

// StartNBTransaction implements api.Committer.
func (c *Control) StartNBTransaction() api.Txn { return &txn{c: c} }

// SetValue implements api.Txn.
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

// index notes where the keys are, once they do not come in order.
func (t *txn) index() {
	t.at = make(map[string]int, len(t.values)+1)
	for i := range t.values {
		t.at[t.values[i].Key] = i
	}
}

func (t *txn) check(o *api.TxnOptions) error {
	switch {
	case o.Resync == api.DownstreamResync && len(t.values) > 0:
		return api.ErrCombinedDownstreamResyncWithChange
	case o.Resync != api.NotResync && o.Revert:
		return api.ErrRevertNotSupportedWithResync
	}
	return nil
}

// Commit implements api.Txn.
func (t *txn) Commit(ctx context.Context, opts ...api.TxnOption) (seqNum uint64, err error) {
	return t.commit(ctx, &job{typ: api.NBTransaction, values: t.values, opts: api.ApplyTxnOptions(opts)})
}

func (t *txn) commit(ctx context.Context, j *job) (seqNum uint64, err error) {
	fail := func(err error) (uint64, error) {
		return api.NoSeqNum, api.NewTransactionError(err, nil, false)
	}
	if err := t.check(&j.opts); err != nil {
		return fail(err)
	}
	if !j.opts.NonBlocking {
		j.done = make(chan outcome, 1)
	}
	if err := t.c.queue.push(ctx, j); err != nil {
		return fail(err)
	}
	if j.opts.NonBlocking {
		return api.NoSeqNum, nil
	}
	select {
	case out := <-j.done:
		return out.seq, out.err
	case <-ctx.Done():
		return fail(errors.Join(api.ErrTxnWaitCanceled, context.Cause(ctx)))
	}
}

// Plan implements api.Txn.
func (t *txn) Plan(_ context.Context, opts ...api.TxnOption) (*api.Plan, error) {
	o := api.ApplyTxnOptions(opts)
	if err := t.check(&o); err != nil {
		return nil, api.NewTransactionError(err, nil, false)
	}
	var result *api.Plan
	var rejected []api.KeyWithError
	err := t.c.onWorker(func() {
		p, _ := t.c.prepare(&job{typ: api.NBTransaction, values: t.values, opts: o, dry: true})
		rejected = p.rejected
		result = t.c.planned(t.values, &o, plan.Make(t.c.graph, p.request))
	})
	if err != nil {
		return nil, api.NewTransactionError(err, nil, false)
	}
	return result, api.NewTransactionError(nil, rejected, false)
}
