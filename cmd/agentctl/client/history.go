package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

const historyPath = "/scheduler/txn-history"

// History returns the transactions in the history of the agent.
func (c *Client) History(ctx context.Context) (Answer[[]*api.RecordedTxn], error) {
	return get[[]*api.RecordedTxn](ctx, c, historyPath, url.Values{"format": {"json"}})
}

// Transaction returns one transaction.
func (c *Client) Transaction(ctx context.Context, seq uint64) (Answer[*api.RecordedTxn], error) {
	query := url.Values{"format": {"json"}, "seq-num": {strconv.FormatUint(seq, 10)}}
	return get[*api.RecordedTxn](ctx, c, historyPath, query)
}

// BriefHistory returns the transactions, or one of them, without the bulk of their
// operations.
func (c *Client) BriefHistory(ctx context.Context, seq *uint64) (list []*response.BriefTxn, err error) {
	query := url.Values{"brief": {"1"}}
	if seq != nil {
		query.Set("seq-num", strconv.FormatUint(*seq, 10))
	}
	err = c.getJSON(ctx, historyPath, query, &list)
	return list, err
}

// HistoryText returns one transaction, or all of them if seq is nil, in the
// form of the log.
func (c *Client) HistoryText(ctx context.Context, seq *uint64) (string, error) {
	query := url.Values{"format": {"text"}}
	if seq != nil {
		query.Set("seq-num", strconv.FormatUint(*seq, 10))
	}
	body, err := c.get(ctx, historyPath, query)
	return string(body), err
}

// Resync makes the agent read the southbound again and repair what differs.
// With retry, the agent retries failed operations later.
func (c *Client) Resync(ctx context.Context, retry, verbose bool) (Answer[*api.RecordedTxn], error) {
	query := url.Values{}
	for name, set := range map[string]bool{"retry": retry, "verbose": verbose} {
		if set {
			query.Set(name, "1")
		}
	}
	return ask[*api.RecordedTxn](ctx, c, http.MethodPost, "/scheduler/downstream-resync", query)
}

// CriticalPath explains the duration of a transaction with at most limit steps; 0 asks
// for all.
func (c *Client) CriticalPath(ctx context.Context, seq uint64, limit uint) (Answer[response.CriticalPath], error) {
	return get[response.CriticalPath](ctx, c, historyPath, criticalPath(seq, limit, "json"))
}

// CriticalPathText is CriticalPath as text.
func (c *Client) CriticalPathText(ctx context.Context, seq uint64, limit uint) (string, error) {
	body, err := c.get(ctx, historyPath, criticalPath(seq, limit, "text"))
	return string(body), err
}

func criticalPath(seq uint64, limit uint, format string) url.Values {
	return url.Values{
		"seq-num": {strconv.FormatUint(seq, 10)}, "critical-path": {"1"}, "format": {format},
		"limit": {strconv.FormatUint(uint64(limit), 10)},
	}
}

// Queue returns the state of the queues of the agent.
func (c *Client) Queue(ctx context.Context) (q api.QueueStatus, err error) {
	err = c.getJSON(ctx, "/scheduler/queue", nil, &q)
	return q, err
}
