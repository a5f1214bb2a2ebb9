package tracing

import (
	"context"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// retryPause is the delay of a retry of failed spans if there are no new spans, so
// that the health recovers even without traffic.
const retryPause = 15 * time.Second

// retryTime is the timeout of such a retry, in which the exporter makes
// several attempts.
const retryTime = 30 * time.Second

// watched reports to the health tree whether exporting works, and logs changes.
// The span processor calls it, so only further spans wait for it, and those are
// dropped when there are too many.
type watched struct {
	sdktrace.SpanExporter
	where  string // the destination
	log    logging.Logger
	health health.Reporter

	mu     sync.Mutex // serialises exports; guards the fields below
	failed []sdktrace.ReadOnlySpan
	lost   int           // spans lost since exporting fails
	wake   chan struct{} // buffered: exporting began to fail
}

func newWatched(exporter sdktrace.SpanExporter, where string, log logging.Logger, h health.Reporter) *watched {
	h.OK("spans are exported to " + where)
	return &watched{SpanExporter: exporter, where: where, log: log, health: h, wake: make(chan struct{}, 1)}
}

// ExportSpans exports spans. It keeps the latest failed spans for a retry; the
// others are lost. It never fails.
func (w *watched) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.export(ctx, spans)
	return nil
}

// export exports spans. The lock is held.
func (w *watched) export(ctx context.Context, spans []sdktrace.ReadOnlySpan) {
	failing := w.failed != nil
	if err := w.SpanExporter.ExportSpans(ctx, spans); err != nil {
		w.health.Degraded("spans are not exported", err)
		if !failing {
			w.log.Warn("cannot export spans", "to", w.where, "spans", len(spans), "error", err)
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
		w.lost += len(w.failed)
		w.failed = slices.Clone(spans) // the caller reuses the slice
		return
	}
	if !failing {
		return
	}
	w.lost += len(w.failed)
	w.log.Info("spans are exported again", "to", w.where, "lost", w.lost)
	w.health.OK("spans are exported to " + w.where)
	w.failed, w.lost = nil, 0
}

func (w *watched) retry(ctx context.Context) {
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		for w.again(ctx) {
		}
	}
}

// again waits, and retries if nothing was exported meanwhile. It returns false
// if there is nothing left to retry.
func (w *watched) again(ctx context.Context) bool {
	pause := time.NewTimer(retryPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, retryTime)
	defer cancel()
	if spans := w.failed; spans != nil {
		w.failed = []sdktrace.ReadOnlySpan{} // not lost
		w.export(ctx, spans)
	}
	return w.failed != nil
}
