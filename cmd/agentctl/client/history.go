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

// History returns the transactions in the history of the agent.
func (c *Client) History(ctx context.Context) (Answer[[]*api.RecordedTxn], error) {
	return get[[]*api.RecordedTxn](ctx, c, historyPath, url.Values{"format": {"json"}})
}

// Transaction returns one transaction.
func (c *Client) Transaction(ctx context.Context, seq uint64) (Answer[*api.RecordedTxn], error) {
	return get[*api.RecordedTxn](ctx, c, historyPath, parameters("format", "json", "seq-num", number(&seq)))
}

// LastTransactions returns the last transactions, at most so many, without the bulk of their
// operations.
func LastTransactions(ctx context.Context, c *Client, most int) ([]*response.BriefTxn, error) {
	return value[[]*response.BriefTxn](ctx, c, historyPath, parameters("brief", "1", "limit", strconv.Itoa(most)))
}

// BriefHistory returns the transactions, or one of them, without the bulk of their
// operations.
func (c *Client) BriefHistory(ctx context.Context, seq *uint64) ([]*response.BriefTxn, error) {
	return value[[]*response.BriefTxn](ctx, c, historyPath, parameters("brief", "1", "seq-num", number(seq)))
}

// HistoryText returns one transaction, or all of them if seq is nil, in the
// form of the log.
func (c *Client) HistoryText(ctx context.Context, seq *uint64) (string, error) {
	return text(ctx, c, historyPath, parameters("format", "text", "seq-num", number(seq)))
}

// CriticalPath explains the duration of a transaction with at most limit steps; 0 asks
// for all.
func (c *Client) CriticalPath(ctx context.Context, seq uint64, limit uint) (Answer[response.CriticalPath], error) {
	return get[response.CriticalPath](ctx, c, historyPath, criticalPath(seq, limit, "json"))
}

// CriticalPathText is CriticalPath as text.
func (c *Client) CriticalPathText(ctx context.Context, seq uint64, limit uint) (string, error) {
	return text(ctx, c, historyPath, criticalPath(seq, limit, "text"))
}

func criticalPath(seq uint64, limit uint, format string) url.Values {
	return url.Values{
		"seq-num": {number(&seq)}, "critical-path": {"1"}, "format": {format}, "limit": {strconv.FormatUint(uint64(limit), 10)},
	}
}

// Queue returns the state of the queues of the agent.
func (c *Client) Queue(ctx context.Context) (api.QueueStatus, error) {
	return value[api.QueueStatus](ctx, c, "/scheduler/queue", nil)
}
