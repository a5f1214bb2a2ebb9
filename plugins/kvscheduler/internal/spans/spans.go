// Package spans makes OpenTelemetry spans of recorded transactions after their
// execution, with the times of the record. Tracing does not slow the execution down.
package spans

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// maxOperations bounds the spans of one transaction: those that took longest.
const maxOperations = 1000

// Emitter makes the spans. Emit must not be called concurrently.
type Emitter struct {
	tracer       trace.Tracer
	descriptorOf func(key string) string
}

// New returns an emitter; descriptorOf names the descriptor of a key.
func New(provider trace.TracerProvider, descriptorOf func(key string) string) *Emitter {
	return &Emitter{provider.Tracer("github.com/tenuto-dev/tenuto/plugins/kvscheduler"), descriptorOf}
}

// Emit makes a span of an executed transaction, from the time when the change came
// in or it was queued, with a child for every phase before the execution and for every
// operation that ran a callback. Values are no part of it.
func (e *Emitter) Emit(txn *api.RecordedTxn) {
	begin := txn.Start
	for _, t := range []time.Time{txn.Queued, txn.Came} {
		if !t.IsZero() {
			begin = t
		}
	}
	ctx, span := e.tracer.Start(context.Background(), "transaction", trace.WithTimestamp(begin), trace.WithNewRoot())
	defer span.End(trace.WithTimestamp(txn.Stop))
	if !span.IsRecording() {
		return
	}
	failed := 0
	for i := range txn.Executed {
		if txn.Executed[i].NewErrMsg != "" {
			failed++
		}
	}
	shown, called := longest(txn.Executed)
	span.SetAttributes(
		attribute.Int64("txn.seq_num", int64(txn.SeqNum)), attribute.String("txn.type", record.Kind(txn)),
		attribute.String("txn.description", txn.Description), attribute.Int("txn.values", len(txn.Values)),
		attribute.Int("txn.operations", len(txn.Executed)), attribute.Int("txn.failed", failed),
		attribute.Bool("txn.reverted", txn.Reverted), attribute.Int("txn.not_reverted", txn.NotReverted), attribute.Int("txn.operations_without_span", called-len(shown)),
	)
	switch {
	case txn.Reverted:
		span.SetStatus(codes.Error, record.RevertedText(txn))
	case failed > 0:
		span.SetStatus(codes.Error, "operations failed")
	}
	e.phase(ctx, "turn", txn.Came, txn.Turn)
	e.phase(ctx, "merge", txn.Turn, txn.Queued)
	e.phase(ctx, "queue", txn.Queued, txn.Taken)
	e.phase(ctx, "refresh", txn.Taken, txn.Prepared)
	e.phase(ctx, "plan", txn.Prepared, txn.Start)
	e.phase(ctx, "record", txn.Start, txn.Begun)
	for _, i := range shown {
		e.operation(ctx, i+1, &txn.Executed[i])
	}
}

func (e *Emitter) phase(ctx context.Context, name string, from, to time.Time) {
	if from.IsZero() || to.IsZero() {
		return
	}
	_, span := e.tracer.Start(ctx, name, trace.WithTimestamp(from))
	span.End(trace.WithTimestamp(to))
}

func (e *Emitter) operation(ctx context.Context, number int, op *api.RecordedTxnOp) {
	descriptor := e.descriptorOf(op.Key)
	_, span := e.tracer.Start(ctx, op.Operation.String()+" "+descriptor, trace.WithTimestamp(op.Start()), trace.WithAttributes(
		attribute.Int("op.number", number), attribute.String("op.key", op.Key), attribute.String("op.descriptor", descriptor),
		attribute.String("op.operation", op.Operation.String()), attribute.String("op.state", op.NewState.String()),
		attribute.StringSlice("op.flags", record.Flags(op)), attribute.Int("op.after", int(op.After)),
	))
	if op.NewErrMsg != "" {
		span.SetStatus(codes.Error, op.NewErrMsg)
	}
	span.End(trace.WithTimestamp(op.End()))
}

// longest returns the operations that get a span, in their order, and how many
// there would be without the bound.
func longest(ops []api.RecordedTxnOp) (shown []int, called int) {
	for i := range ops {
		if !ops[i].NOOP && ops[i].HasRun() {
			shown = append(shown, i)
		}
	}
	called = len(shown)
	if called <= maxOperations {
		return shown, called
	}
	slices.SortStableFunc(shown, func(a, b int) int {
		return int(ops[b].Took() - ops[a].Took())
	})
	shown = shown[:maxOperations]
	slices.Sort(shown)
	return shown, called
}
