package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/pages"
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
			t.values = pages.Append(t.values, pair)
			return t
		}
		t.index()
	}
	if i, ok := t.at[key]; ok {
		t.values[i] = pair
	} else {
		t.at[key] = len(t.values)
		t.values = pages.Append(t.values, pair)
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
	return t.commit(ctx, &job{typ: api.NBTransaction, values: t.values, opts: optionsOf(ctx, opts)})
}

// optionsOf are the options that the context carries, and then those of the call.
func optionsOf(ctx context.Context, opts []api.TxnOption) api.TxnOptions {
	return api.ApplyTxnOptions(slices.Concat(api.ContextOptions(ctx), opts))
}

func (t *txn) commit(ctx context.Context, j *job) (seqNum uint64, err error) {
	if err := t.check(&j.opts); err != nil {
		return api.NoSeqNum, api.NewTransactionError(err, nil, false)
	}
	return t.c.submit(ctx, j)
}

// submit queues a transaction of the northbound and waits for it, if that is
// asked for. When ctx ends the transaction is taken back, unless its turn has
// come.
func (c *Control) submit(ctx context.Context, j *job) (seqNum uint64, err error) {
	fail := func(err error) (uint64, error) {
		return api.NoSeqNum, api.NewTransactionError(err, nil, false)
	}
	if ctx.Err() != nil {
		return fail(canceled(ctx))
	}
	if j.opts.Timeout > 0 {
		if d := c.clock.Now().Add(j.opts.Timeout); j.opts.Deadline.IsZero() || d.Before(j.opts.Deadline) {
			j.opts.Deadline = d
		}
	}
	if !j.opts.NonBlocking {
		j.done = make(chan outcome, 1)
	}
	if err := c.queue.push(ctx, j); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			err = canceled(ctx)
		}
		return fail(err)
	}
	if j.opts.NonBlocking {
		return api.NoSeqNum, nil
	}
	select {
	case out := <-j.done:
		return out.seq, out.err
	case <-ctx.Done():
	}
	if c.queue.cancel(j) {
		return fail(canceled(ctx))
	}
	select { // it may have ended, or been refused, just now
	case out := <-j.done:
		return out.seq, out.err
	default:
		return fail(api.NewUnfinishedError(context.Cause(ctx), j.wait))
	}
}

// wait waits for the end of a transaction that is executed.
func (j *job) wait(ctx context.Context) (seqNum uint64, err error) {
	select {
	case out := <-j.done:
		return out.seq, out.err
	case <-ctx.Done():
		return api.NoSeqNum, context.Cause(ctx)
	}
}

// tooLate tells that the deadline of a transaction passed before its turn.
func (c *Control) tooLate(j *job) error {
	if d := j.opts.Deadline; !d.IsZero() && !j.taken.Before(d) {
		return fmt.Errorf("%w, after %v in the queue", api.ErrTxnDeadline, j.taken.Sub(j.queued).Round(time.Millisecond))
	}
	return nil
}

func canceled(ctx context.Context) error {
	return fmt.Errorf("%w: %w", api.ErrTxnCanceled, context.Cause(ctx))
}

// Plan implements api.Txn.
func (t *txn) Plan(ctx context.Context, opts ...api.TxnOption) (*api.Plan, error) {
	o := optionsOf(ctx, opts)
	if err := t.check(&o); err != nil {
		return nil, api.NewTransactionError(err, nil, false)
	}
	var result *api.Plan
	var rejected []api.KeyWithError
	err := t.c.onWorker(ctx, func() {
		p, _ := t.c.prepare(&job{typ: api.NBTransaction, values: t.values, opts: o, dry: true})
		rejected = p.rejected
		result = t.c.planned(t.values, &o, plan.Make(t.c.graph, p.request))
	})
	if err != nil {
		return nil, api.NewTransactionError(err, nil, false)
	}
	return result, api.NewTransactionError(nil, rejected, false)
}
