package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

const historyPath = "/scheduler/txn-history"

// number returns a number as the value of a parameter; empty if it is not given.
func number(n *uint64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(*n, 10)
}

// All returns the transactions in the history of the agent.
func (s HistoryService) All(ctx context.Context) (Answer[[]*api.RecordedTxn], error) {
	return get[[]*api.RecordedTxn](ctx, s.c, historyPath, url.Values{"format": {"json"}})
}

// Transaction returns one transaction.
func (s HistoryService) Transaction(ctx context.Context, seq uint64) (Answer[*api.RecordedTxn], error) {
	return get[*api.RecordedTxn](ctx, s.c, historyPath, parameters("format", "json", "seq-num", number(&seq)))
}

// Last returns the last transactions, at most so many, without the bulk of their
// operations.
func (s HistoryService) Last(ctx context.Context, most int) ([]*response.BriefTxn, error) {
	return value[[]*response.BriefTxn](ctx, s.c, historyPath, parameters("brief", "1", "limit", strconv.Itoa(most)))
}

// Brief returns the transactions, or one of them, without the bulk of their
// operations, but with the number of items.
func (s HistoryService) Brief(ctx context.Context, seq *uint64) ([]*response.BriefTxn, error) {
	return value[[]*response.BriefTxn](ctx, s.c, historyPath, parameters("brief", "1", "items", "1", "seq-num", number(seq)))
}

// Text returns one transaction, or all of them if seq is nil, in the
// form of the log.
func (s HistoryService) Text(ctx context.Context, seq *uint64) (string, error) {
	return text(ctx, s.c, historyPath, parameters("format", "text", "seq-num", number(seq)))
}

// CriticalPath explains the duration of a transaction with at most limit steps; 0 asks
// for all.
func (s HistoryService) CriticalPath(ctx context.Context, seq uint64, limit uint) (Answer[response.CriticalPath], error) {
	return get[response.CriticalPath](ctx, s.c, historyPath, criticalPath(seq, limit, "json"))
}

// CriticalPathText is CriticalPath as text.
func (s HistoryService) CriticalPathText(ctx context.Context, seq uint64, limit uint) (string, error) {
	return text(ctx, s.c, historyPath, criticalPath(seq, limit, "text"))
}

func criticalPath(seq uint64, limit uint, format string) url.Values {
	return url.Values{
		"seq-num": {number(&seq)}, "critical-path": {"1"}, "format": {format}, "limit": {strconv.FormatUint(uint64(limit), 10)},
	}
}

// Queue returns the state of the queues of the agent.
func (s SchedulerService) Queue(ctx context.Context) (api.QueueStatus, error) {
	return value[api.QueueStatus](ctx, s.c, "/scheduler/queue", nil)
}
