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

// retryPause is after how long spans that could not be exported are tried again,
// if no others came. So health tells that it works again when nothing happens, too.
const retryPause = 15 * time.Second

// retryTime bounds such an attempt, in which the exporter tries several times.
const retryTime = 30 * time.Second

// watched tells health whether exporting works, and the log when that changes. It
// is called by whoever collects the spans, so nothing waits for it but further
// spans, which are dropped when there are too many.
type watched struct {
	sdktrace.SpanExporter
	where  string // it exports to
	log    logging.Logger
	health health.Reporter

	mu     sync.Mutex // one export at a time; over the fields below
	failed []sdktrace.ReadOnlySpan
	lost   int           // spans, since exporting fails
	wake   chan struct{} // has room for one: exporting began to fail
}

func newWatched(exporter sdktrace.SpanExporter, where string, log logging.Logger, h health.Reporter) *watched {
	h.OK("spans go to " + where)
	return &watched{SpanExporter: exporter, where: where, log: log, health: h, wake: make(chan struct{}, 1)}
}

// ExportSpans exports spans. Of those that cannot be exported the latest are kept
// for another attempt, and the others are lost. It never fails.
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
			w.log.Warn("spans are not exported; health tells when they are again", "to", w.where, "spans", len(spans), "error", err)
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
		w.lost += len(w.failed)
		w.failed = slices.Clone(spans) // whoever collects them uses the slice again
		return
	}
	if !failing {
		return
	}
	w.lost += len(w.failed)
	w.log.Info("spans are exported again", "to", w.where, "lost", w.lost)
	w.health.OK("spans go to " + w.where)
	w.failed, w.lost = nil, 0
}

// retry tries again what could not be exported, until ctx ends.
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

// again waits, and tries again if nothing was exported meanwhile; false if there
// is nothing left to try.
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
