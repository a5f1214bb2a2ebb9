package engine

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

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
