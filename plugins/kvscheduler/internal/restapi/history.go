package restapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func (s *server) history(r *http.Request, args arguments) (answer, error) {
	format, err := args.oneOf("format", "json", "text")
	if err != nil {
		return nil, err
	}
	seq, one, err1 := args.number("seq-num")
	brief, err2 := args.flag("brief")
	items, err3 := args.flag("items")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if items && !brief {
		return nil, badRequest(errors.New(`argument "items": expected only with "brief"`))
	}
	if one {
		txn, err := s.transaction("seq-num", seq)
		if err != nil {
			return nil, err
		}
		if brief {
			list := briefed(r, []*api.RecordedTxn{txn}, false)
			addItems(r, &list[0], txn)
			return asJSON(list), nil
		}
		return s.recorded(r, txn, format, args)
	}
	txns, err := s.transactions(args)
	switch {
	case err != nil:
		return nil, err
	case brief:
		return asJSON(briefed(r, txns, items)), nil
	case format == "text":
		return asText(txns), nil
	}
	list := make([]*api.RecordedTxn, len(txns))
	for i, txn := range txns {
		list[i] = shownTxn(r, txn)
	}
	return asJSON(list), nil
}

// transactions returns the transactions of a period, or the last of them.
func (s *server) transactions(args arguments) (api.RecordedTxns, error) {
	if args.has("critical-path") {
		return nil, badRequest(errors.New(`argument "seq-num" is missing: "critical-path" is about one transaction`))
	}
	since, err1 := args.time("since")
	until, err2 := args.time("until")
	limit, limited, err3 := args.number("limit")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if !until.IsZero() && until.Before(since) {
		return nil, badRequest(errors.New(`argument "until" is before "since": expected a later time`))
	}
	txns := s.Scheduler.GetTransactionHistory(since, until)
	if limited {
		txns = txns[uint64(len(txns))-min(limit, uint64(len(txns))):]
	}
	return txns, nil
}

// maxProblems is how many operations of a transaction a brief history has.
const maxProblems = 1000

// briefed returns transactions without the bulk of their values and operations; items counts their
// items as well, which costs more than the rest.
func briefed(r *http.Request, txns []*api.RecordedTxn, items bool) []response.BriefTxn {
	list := make([]response.BriefTxn, len(txns))
	for i, txn := range txns {
		b := response.BriefTxn{RecordedTxn: *txn, Operations: map[string]int{}, States: map[string]int{}}
		b.Executed, b.Planned, b.Values, b.Reasons, b.Forced = nil, nil, nil, nil, nil
		b.OmittedValues += len(txn.Values)
		if items {
			b.ItemCounts = txn.CountItems()
		}
		for n := range txn.Executed {
			op := &txn.Executed[n]
			b.Operations[op.Operation.String()]++
			b.States[op.NewState.String()]++
			if op.NewErrMsg != "" {
				b.Failed++
			}
			if (op.NewErrMsg != "" || !settled(op.NewState)) && len(b.Executed) < maxProblems {
				b.Executed = append(b.Executed, *op)
			}
		}
		b.RecordedTxn = *shownTxn(r, &b.RecordedTxn)
		list[i] = b
	}
	return list
}

// maxItems is how many items of a transaction a brief history has.
const maxItems = 1000

// addItems adds what a transaction did by item.
func addItems(r *http.Request, b *response.BriefTxn, txn *api.RecordedTxn) {
	items := txn.ByItem(maxItems)
	if !rest.ShowSecrets(r) {
		api.HideItemSecrets(items.List)
	}
	api.DescribeItems(items.List)
	b.Effects, b.ItemCounts, b.OmittedItems = items.List, items.Counts, items.Omitted
}

// settled reports whether a value of this state is as it should be.
func settled(state api.ValueState) bool {
	switch state {
	case kvscheduler.ValueState_NONEXISTENT, kvscheduler.ValueState_CONFIGURED, kvscheduler.ValueState_OBTAINED,
		kvscheduler.ValueState_DISCOVERED, kvscheduler.ValueState_REMOVED:
		return true
	}
	return false
}

// shownTxn is the transaction as the request may see it. The text form never has
// secrets.
func shownTxn(r *http.Request, txn *api.RecordedTxn) *api.RecordedTxn {
	if rest.ShowSecrets(r) {
		return txn
	}
	return txn.HideSecrets()
}

// defaultSteps bounds the critical path where no limit is asked for.
const defaultSteps = 50

// recorded answers with one transaction, or where its time went.
func (s *server) recorded(r *http.Request, txn *api.RecordedTxn, format string, args arguments) (answer, error) {
	critical, err1 := args.flag("critical-path")
	limit, given, err2 := args.number("limit")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	switch {
	case !critical && given:
		return nil, badRequest(errors.New(`argument "limit": expected only with "critical-path"`))
	case !critical && format == "text":
		return asText([]*api.RecordedTxn{txn}), nil
	case !critical:
		return asJSON(shownTxn(r, txn)), nil
	case txn.PreRecord:
		return nil, &statusError{http.StatusConflict, fmt.Errorf("transaction %d is still executed: ask again when it has ended", txn.SeqNum)}
	case txn.OmittedOps > 0:
		return nil, &statusError{http.StatusConflict, fmt.Errorf("transaction %d: %d of its operations were dropped because the history has reached its size limit; "+
			"raise transaction-history-max-bytes in kvscheduler.conf to keep them", txn.SeqNum, txn.OmittedOps)}
	case !given:
		limit = defaultSteps
	}
	path := record.Critical(txn, int(min(limit, math.MaxInt32)))
	if format == "json" {
		return asJSON(path), nil
	}
	return stream(plainText, func(w io.Writer) error { return record.FormatCritical(w, path) }), nil
}

func asText(txns []*api.RecordedTxn) answer {
	return stream(plainText, func(w io.Writer) error { return record.FormatAll(w, txns, record.FormatOptions{Planned: true}) })
}

// transaction looks one up; arg is the argument that named it.
func (s *server) transaction(arg string, seq uint64) (*api.RecordedTxn, error) {
	if txn := s.Scheduler.GetRecordedTransaction(seq); txn != nil {
		return txn, nil
	}
	return nil, notFound(fmt.Errorf("argument %q is %d: no such transaction in the history", arg, seq))
}

func (s *server) resync(r *http.Request, args arguments) (answer, error) {
	retry, err1 := args.flag("retry")
	verbose, err2 := args.flag("verbose")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	opts := []api.TxnOption{
		api.WithResync(api.DownstreamResync, verbose),
		api.WithDescription("requested by " + r.RemoteAddr + " over HTTP"),
	}
	if retry {
		opts = append(opts, api.WithRetryDefault())
	}
	seq, err := s.Scheduler.StartNBTransaction().Commit(r.Context(), opts...)
	if _, err := valueErrors(err); err != nil { // errors of single values are in the record
		return nil, unavailable(err)
	}
	txn := s.Scheduler.GetRecordedTransaction(seq)
	if txn == nil { // the history is switched off
		txn = &api.RecordedTxn{SeqNum: seq, TxnType: api.NBTransaction, ResyncType: api.DownstreamResync}
	}
	return asJSON(shownTxn(r, txn)), nil
}
