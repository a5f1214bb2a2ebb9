// Package history has the command that shows the transactions of the scheduler.
package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

type options struct {
	*cmdutil.Factory
	details, critical bool
	limit             uint
}

// New returns the command "history".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := output.AsInLigato(f.Formatted(&cobra.Command{
		Use:     "history [SEQ]",
		Example: "  agentctl config history\n  agentctl config history 12 --critical-path",
		Short:   "Show the transactions of the scheduler",
		Long: "Shows the transactions of the scheduler, or the one with a sequence number and what it\n" +
			"did by item, as \"agentctl plan\" does; with --critical-path where its time went: in the queue, in planning, and in the operations\n" +
			"that each had to wait for.",
		Args: cmdutil.Args(cobra.MaximumNArgs(1)), ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return Complete(f, cmd, args, prefix)
		},
		RunE: o.run,
	}, "log"))
	cmd.Flags().BoolVar(&o.critical, "critical-path", false, "show what determined how long the transaction SEQ took")
	cmd.Flags().UintVar(&o.limit, "limit", 50, "show this `number` of items of each kind, or of the longest steps of the critical path; 0 shows all")
	cmd.Flags().BoolVar(&o.details, "details", false, "show what failed or waits, operation by operation")
	return cmd
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	if o.critical {
		return Explain(cmd.Context(), o.Factory, o.criticalPath(cmd.Context(), args, o.limit), args)
	}
	var seq *uint64
	if len(args) == 1 {
		n, err := cmdutil.SeqNum(args[0])
		if err != nil {
			return err
		}
		seq, o.details = &n, true
	}
	return Explain(cmd.Context(), o.Factory, o.history(cmd.Context(), seq, o.details), args)
}

// offeredTxns is the maximum number of transactions that a completion offers.
const offeredTxns = 100

// Complete completes the number of a transaction, the last one first.
func Complete(f *cmdutil.Factory, cmd *cobra.Command, args []string, prefix string) (list []string, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) > 0 || f.Connect(cmd, nil) != nil {
		return nil, directive
	}
	txns, err := f.Client.History.Last(cmd.Context(), offeredTxns)
	if err != nil {
		return nil, directive
	}
	for _, txn := range slices.Backward(txns) {
		if number := fmt.Sprint(txn.SeqNum); strings.HasPrefix(number, prefix) {
			about := fmt.Sprintf("%s, %s ago, %s", txnType(f, &txn.RecordedTxn), output.Age(f.Now(), txn.Start), txnResult(f, txn))
			list = append(list, cobra.CompletionWithDesc(number, about))
		}
	}
	return list, directive
}

// CompleteFlag completes the number of a transaction in a flag.
func CompleteFlag(f *cmdutil.Factory, cmd *cobra.Command, flag string) {
	// It fails for an unknown flag only.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return Complete(f, cmd, nil, prefix)
	})
}

// Explain rephrases the error of a transaction that the agent does not know.
func Explain(ctx context.Context, f *cmdutil.Factory, err error, args []string) error {
	if len(args) == 0 || !cmdutil.NotFound(err) {
		return err
	}
	last := ""
	if txns, err := f.Client.History.Last(ctx, 1); err == nil && len(txns) > 0 {
		last = fmt.Sprintf(", the last one is %d", txns[len(txns)-1].SeqNum)
	}
	return fmt.Errorf("transaction %s is not in the history%s; 'agentctl config history' lists those that are", args[0], last)
}

func (o *options) criticalPath(ctx context.Context, args []string, limit uint) error {
	if len(args) == 0 {
		return exit.Usagef("--critical-path is about one transaction: expected its sequence number")
	}
	seq, err := cmdutil.SeqNum(args[0])
	if err != nil {
		return err
	}
	if strings.EqualFold(o.Format, "log") {
		return o.PrintText(o.Client.History.CriticalPathText(ctx, seq, limit))
	}
	path, err := o.Client.History.CriticalPath(ctx, seq, limit)
	if err != nil {
		return err
	}
	o.NamesKept = false // Ligato does not have it
	return output.ShowAnswer(o.Printer, path, o.printCriticalPath)
}

func (o *options) history(ctx context.Context, seq *uint64, details bool) error {
	if strings.EqualFold(o.Format, "log") {
		return o.PrintText(o.Client.History.Text(ctx, seq))
	}
	if o.Format == "" {
		txns, err := o.Client.History.Brief(ctx, seq)
		if err != nil {
			return err
		}
		return o.printHistory(txns, details)
	}
	txns, err := o.transactions(ctx, seq)
	if err != nil {
		return err
	}
	return output.ShowAnswer(o.Printer, txns, nil)
}

func (o *options) printHistory(txns []*response.BriefTxn, details bool) error {
	headings := []string{"SEQ", "TYPE", "START", "INPUT", "ITEMS", "RESULT", "DESCRIPTION"}
	if details {
		headings = append(headings, "DETAILS")
	}
	t := output.NewTable(headings...)
	for _, txn := range txns {
		items := effects.Executed.Counts(txn.ItemCounts)
		if txn.OmittedOps > 0 {
			items = strings.TrimPrefix(fmt.Sprintf("%s, %s not kept", items, effects.Count(txn.OmittedOps, "operation")), ", ")
		}
		row := []any{
			txn.SeqNum, txnType(o.Factory, &txn.RecordedTxn), output.Age(o.Now(), txn.Start), txnInput(&txn.RecordedTxn),
			items, txnResult(o.Factory, txn), txn.Description,
		}
		if details {
			row = append(row, o.txnDetails(txn))
		}
		t.Row(row...)
	}
	if err := t.Write(o.Printer); err != nil || len(txns) != 1 || len(txns[0].Effects) == 0 {
		return err
	}
	return o.printItems(txns[0])
}

// printItems prints what a transaction did by item.
func (o *options) printItems(t *response.BriefTxn) error {
	w := effects.Writer{Factory: o.Factory, PerKind: o.limit, Rest: "--limit 0 shows them"}
	if o.limit == 0 {
		w.Rest = "-o json has all operations"
	}
	operations := t.OmittedOps
	for _, n := range t.Operations {
		operations += n
	}
	return o.Printf("\n%s\n%s\n", w.Write(t.Effects, t.OmittedItems), effects.Executed.Summary(t.ItemCounts, operations))
}

// transactions returns all transactions, or a list of one.
func (o *options) transactions(ctx context.Context, seq *uint64) (list client.Answer[[]*api.RecordedTxn], err error) {
	if seq == nil {
		return o.Client.History.All(ctx)
	}
	txn, err := o.Client.History.Transaction(ctx, *seq)
	list.Value, list.Raw = []*api.RecordedTxn{txn.Value}, slices.Concat([]byte("["), txn.Raw, []byte("]"))
	return list, err
}

func txnType(f *cmdutil.Factory, t *api.RecordedTxn) string {
	switch {
	case t.TxnType == api.SBNotification:
		return f.Paint(output.Cyan, "status update")
	case t.TxnType == api.RetryFailedOps:
		return f.Paint(output.Magenta, fmt.Sprintf("retry #%d for %d", t.RetryAttempt, t.RetryForTxn))
	case t.TxnType == api.RetryUnimplOps:
		return f.Paint(output.Magenta, fmt.Sprintf("retry impl for %d", t.RetryForTxn))
	case t.ResyncType == api.FullResync:
		return f.Paint(output.Yellow, "config replace")
	case t.ResyncType == api.UpstreamResync:
		return f.Paint(output.Yellow, "config sync")
	case t.ResyncType == api.DownstreamResync:
		return f.Paint(output.Yellow, "status sync")
	}
	return f.Paint(output.Yellow, "config change")
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

func txnResult(f *cmdutil.Factory, t *response.BriefTxn) string {
	switch {
	case t.PreRecord:
		return f.Paint(output.Yellow, "running")
	case t.NotReverted > 0:
		return f.Paint(output.Red, fmt.Sprintf("reverted in part: %d of %d values could not be", t.NotReverted, t.ToRevert))
	case t.Reverted:
		return f.Paint(output.Red, "reverted")
	case t.Failed > 0:
		return f.Paint(output.Red, "error")
	}
	return f.Paint(output.Green, "ok")
}

// txnDetails describes the operations whose values are not configured.
func (o *options) txnDetails(t *response.BriefTxn) string {
	var lines []string
	problems := t.Executed
	if t.Effects != nil {
		problems = nil // printItems prints them
	}
	for i := range problems {
		op := &problems[i]
		line := fmt.Sprintf("[%s] %s -> %s: %s", op.Operation, o.Models.ShortKey(op.Key), cmdutil.StateName(op.NewState), op.NewErrMsg)
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
