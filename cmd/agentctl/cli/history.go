package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func (a *app) configHistory() *cobra.Command {
	var details, critical bool
	var limit uint
	cmd := asInLigato(a.formatted(&cobra.Command{
		Use:   "history [SEQ]",
		Short: "Show the transactions of the scheduler",
		Long: "Shows the transactions of the scheduler, or the one with a sequence number; with\n" +
			"--critical-path where its time went: in the queue, in planning, and in the operations\n" +
			"that each had to wait for.",
		Args: args(cobra.MaximumNArgs(1)), ValidArgsFunction: a.completeTxns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if critical {
				return aboutTxn(a.criticalPath(cmd.Context(), args, limit), args)
			}
			var seq *uint64
			if len(args) == 1 {
				n, err := seqNum(args[0])
				if err != nil {
					return err
				}
				seq, details = &n, true
			}
			return aboutTxn(a.history(cmd.Context(), seq, details), args)
		},
	}, "log"))
	cmd.Flags().BoolVar(&critical, "critical-path", false, "show what determined how long the transaction SEQ took")
	cmd.Flags().UintVar(&limit, "limit", 50, "show the longest steps of the critical path only; 0 shows all")
	cmd.Flags().BoolVar(&details, "details", false, "show what failed or waits, operation by operation")
	return cmd
}

// offeredTxns is the maximum number of transactions that a completion offers.
const offeredTxns = 100

// completeTxns completes the number of a transaction, the last one first.
func (a *app) completeTxns(cmd *cobra.Command, args []string, prefix string) (list []string, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) > 0 || a.connect(cmd, nil) != nil {
		return nil, directive
	}
	txns, err := client.LastTransactions(cmd.Context(), a.client, offeredTxns)
	if err != nil {
		return nil, directive
	}
	for _, txn := range slices.Backward(txns) {
		if number := fmt.Sprint(txn.SeqNum); strings.HasPrefix(number, prefix) {
			about := fmt.Sprintf("%s, %s ago, %s", a.txnType(&txn.RecordedTxn), age(a.now(), txn.Start), a.txnResult(txn))
			list = append(list, cobra.CompletionWithDesc(number, about))
		}
	}
	return list, directive
}

// completeTxnFlag completes the number of a transaction in a flag.
func (a *app) completeTxnFlag(cmd *cobra.Command, flag string) {
	// The error is that of an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return a.completeTxns(cmd, nil, prefix)
	})
}

// aboutTxn rephrases the error of a transaction that the agent does not know.
func aboutTxn(err error, args []string) error {
	if len(args) > 0 && notFound(err) {
		return fmt.Errorf("transaction %s is not in the history; 'agentctl config history' lists those that are", args[0])
	}
	return err
}

// notFound reports that the agent does not have the requested data.
func notFound(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && notServed(err) && e.Message != ""
}

// notServed reports that the agent lacks an endpoint: an older one, or one of other plugins.
func notServed(err error) bool { return client.HasStatus(err, http.StatusNotFound) }

func (a *app) criticalPath(ctx context.Context, args []string, limit uint) error {
	if len(args) == 0 {
		return usage("--critical-path is about one transaction: expected its sequence number")
	}
	seq, err := seqNum(args[0])
	if err != nil {
		return err
	}
	if a.format == "" || strings.EqualFold(a.format, "log") {
		return a.printText(a.client.CriticalPathText(ctx, seq, limit))
	}
	path, err := a.client.CriticalPath(ctx, seq, limit)
	if err != nil {
		return err
	}
	a.namesKept = false // Ligato does not have it
	return showAnswer(a, path, nil)
}

func (a *app) history(ctx context.Context, seq *uint64, details bool) error {
	if strings.EqualFold(a.format, "log") {
		return a.printText(a.client.HistoryText(ctx, seq))
	}
	if a.format == "" {
		txns, err := a.client.BriefHistory(ctx, seq)
		if err != nil {
			return err
		}
		return a.printHistory(txns, details)
	}
	txns, err := a.transactions(ctx, seq)
	if err != nil {
		return err
	}
	return showAnswer(a, txns, nil)
}

func (a *app) printHistory(txns []*response.BriefTxn, details bool) error {
	headings := []string{"SEQ", "TYPE", "START", "INPUT", "OPERATIONS", "RESULT", "SUMMARY"}
	if details {
		headings = append(headings, "DETAILS")
	}
	t := newTable(headings...)
	for _, txn := range txns {
		operations := counted(txn.Operations)
		if txn.OmittedOps > 0 {
			operations += fmt.Sprintf(", %d not kept", txn.OmittedOps)
		}
		row := []any{
			txn.SeqNum, a.txnType(&txn.RecordedTxn), age(a.now(), txn.Start), txnInput(&txn.RecordedTxn),
			operations, a.txnResult(txn), counted(txn.States),
		}
		if details {
			row = append(row, a.txnDetails(txn))
		}
		t.row(row...)
	}
	return t.write(a)
}

// transactions returns all transactions, or a list of one.
func (a *app) transactions(ctx context.Context, seq *uint64) (list client.Answer[[]*api.RecordedTxn], err error) {
	if seq == nil {
		return a.client.History(ctx)
	}
	txn, err := a.client.Transaction(ctx, *seq)
	list.Value, list.Raw = []*api.RecordedTxn{txn.Value}, slices.Concat([]byte("["), txn.Raw, []byte("]"))
	return list, err
}

// stateName is empty for a value that does not exist.
func stateName(s api.ValueState) string {
	if s == kvscheduler.ValueState_NONEXISTENT {
		return ""
	}
	return s.String()
}

func (a *app) txnType(t *api.RecordedTxn) string {
	switch {
	case t.TxnType == api.SBNotification:
		return a.paint(cyan, "status update")
	case t.TxnType == api.RetryFailedOps:
		return a.paint(magenta, fmt.Sprintf("retry #%d for %d", t.RetryAttempt, t.RetryForTxn))
	case t.TxnType == api.RetryUnimplOps:
		return a.paint(magenta, fmt.Sprintf("retry impl for %d", t.RetryForTxn))
	case t.ResyncType == api.FullResync:
		return a.paint(yellow, "config replace")
	case t.ResyncType == api.UpstreamResync:
		return a.paint(yellow, "config sync")
	case t.ResyncType == api.DownstreamResync:
		return a.paint(yellow, "status sync")
	}
	return a.paint(yellow, "config change")
}

func txnInput(t *api.RecordedTxn) string {
	switch n := len(t.Values) + t.OmittedValues; n {
	case 0:
		return "<none>"
	case 1:
		return "1 value"
	default:
		return fmt.Sprintf("%d values", n)
	}
}

func (a *app) txnResult(t *response.BriefTxn) string {
	switch {
	case t.PreRecord:
		return a.paint(yellow, "running")
	case t.NotReverted > 0:
		return a.paint(red, fmt.Sprintf("reverted in part: %d of %d values could not be", t.NotReverted, t.ToRevert))
	case t.Reverted:
		return a.paint(red, "reverted")
	case t.Failed > 0:
		return a.paint(red, "error")
	}
	return a.paint(green, "ok")
}

// counted returns "NAME:n, ..." without what does not exist.
func counted(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if name != kvscheduler.ValueState_NONEXISTENT.String() {
			parts = append(parts, fmt.Sprintf("%s:%d", name, counts[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// txnDetails describes the operations whose values are not configured.
func (a *app) txnDetails(t *response.BriefTxn) string {
	var lines []string
	if t.Description != "" {
		lines = append(lines, t.Description)
	}
	for i := range t.Executed {
		op := &t.Executed[i]
		line := fmt.Sprintf("[%s] %s -> %s: %s", op.Operation, a.shortKey(op.Key), stateName(op.NewState), op.NewErrMsg)
		lines = append(lines, strings.TrimSuffix(line, ": "))
	}
	if t.OmittedOps > 0 {
		lines = append(lines, fmt.Sprintf("%d operations dropped: the history has reached its size limit", t.OmittedOps))
	}
	if d := t.Stop.Sub(t.Start); !t.PreRecord {
		lines = append(lines, "took "+d.Round(10*time.Microsecond).String())
	}
	return strings.Join(lines, "\n")
}
