package kvstest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// cmdCommit commits a transaction and prints what was done:
//
//	commit [--revert] [--retry[=COUNT]] [--resync=full|upstream|downstream] [--verbose]
//	       [--without-removal] [--no-wait] [--verify] [--simulation] [--description=TEXT]
//	       [--timeout=DURATION] [--hang=KEY] VALUE...
//
// With --hang it does not wait for more than that an operation on KEY hangs.
// Further transactions that it caused follow under a title of their own.
func cmdCommit(r *Run, args []string) (string, error) {
	txn, opts, err := r.transaction(args)
	if err != nil {
		return "", err
	}
	flags, _ := options(args)
	if key := flags["hang"]; key != "" {
		if _, err := txn.Commit(r.T.Context(), append(opts, api.WithoutBlocking())...); err != nil {
			return "", err
		}
		return cmdHang(r, []string{key})
	}
	_, err = txn.Commit(r.T.Context(), opts...)
	r.trials()
	var text strings.Builder
	text.WriteString(r.news(api.NBTransaction))
	r.printError(&text, err)
	return text.String(), nil
}

func (r *Run) printError(text *strings.Builder, err error) {
	if err == nil {
		return
	}
	var txnErr *api.TransactionError
	if errors.As(err, &txnErr) && txnErr.Reverted() {
		text.WriteString("reverted\n")
	}
	fmt.Fprintf(text, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
}

func (r *Run) transaction(args []string) (api.Txn, []api.TxnOption, error) {
	flags, rest := options(args)
	opts, err := txnOptions(flags)
	if err != nil {
		return nil, nil, err
	}
	changes, err := r.values(rest)
	if err != nil {
		return nil, nil, err
	}
	txn := r.Scheduler.StartNBTransaction()
	for _, c := range changes {
		txn.SetValue(c.key, c.value)
	}
	return txn, opts, nil
}

func txnOptions(flags map[string]string) (opts []api.TxnOption, err error) {
	resync := api.NotResync
	for name, value := range flags {
		switch name {
		case "revert":
			opts = append(opts, api.WithRevert())
		case "retry":
			count := api.DefaultRetryMaxCount
			if value != "" {
				if count, err = strconv.Atoi(value); err != nil {
					return nil, fmt.Errorf("--retry=%s: expected a number", value)
				}
			}
			opts = append(opts, api.WithRetryMaxCount(count))
		case "resync":
			types := map[string]api.ResyncType{"full": api.FullResync, "upstream": api.UpstreamResync, "downstream": api.DownstreamResync}
			if resync = types[value]; resync == api.NotResync {
				return nil, fmt.Errorf("--resync=%s: expected full, upstream or downstream", value)
			}
		case "timeout":
			d, err := time.ParseDuration(value)
			if err != nil {
				return nil, fmt.Errorf("--timeout: %w", err)
			}
			opts = append(opts, api.WithTimeout(d))
		case "verbose", "hang":
		case "without-removal":
			opts = append(opts, api.WithoutRemoval())
		case "no-wait":
			opts = append(opts, api.WithoutBlocking())
		case "verify":
			opts = append(opts, api.WithVerify())
		case "simulation":
			opts = append(opts, api.WithSimulation())
		case "description":
			opts = append(opts, api.WithDescription(value))
		default:
			return nil, fmt.Errorf("unknown option --%s", name)
		}
	}
	if resync != api.NotResync {
		_, verbose := flags["verbose"]
		opts = append(opts, api.WithResync(resync, verbose))
	}
	return opts, nil
}

// cmdResync is commit with --resync: resync full|upstream|downstream [OPTION...] VALUE...
func cmdResync(r *Run, args []string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("expected full, upstream or downstream")
	}
	return cmdCommit(r, append([]string{"--resync=" + args[0]}, args[1:]...))
}

// cmdOps prints what was done since it was last printed.
func cmdOps(r *Run, _ []string) (string, error) {
	r.Scheduler.TransactionBarrier()
	return r.news(api.NBTransaction), nil
}

// news prints the transactions that were not printed yet. Transactions of the type
// expected have no title.
func (r *Run) news(expected api.TxnType) string {
	var text strings.Builder
	for _, txn := range r.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}) {
		if txn.SeqNum < r.seen || txn.PreRecord {
			continue
		}
		r.seen = txn.SeqNum + 1
		if txn.TxnType != expected {
			fmt.Fprintf(&text, "%s:\n", record.Kind(txn))
		}
		for i := range txn.Executed {
			text.WriteString(operation(&txn.Executed[i]))
		}
	}
	return text.String()
}

// operation is one line: "CREATE route/1 [NOOP IS-PENDING]: error".
func operation(op *api.RecordedTxnOp) string {
	text := op.Operation.String() + " " + op.Key
	if flags := record.Flags(op); len(flags) > 0 {
		text += " [" + strings.Join(flags, " ") + "]"
	}
	if op.NewErrMsg != "" {
		text += ": " + strings.ReplaceAll(op.NewErrMsg, "\n", "; ")
	}
	return text + "\n"
}

// cmdLog prints the last transaction, or the one with the given number, as in
// the transaction log, without its times.
func cmdLog(r *Run, args []string) (string, error) {
	history := r.Scheduler.GetTransactionHistory(time.Time{}, time.Time{})
	if len(history) == 0 {
		return "", errors.New("no transaction yet")
	}
	last := history[len(history)-1]
	if len(args) > 0 {
		n, err := strconv.ParseUint(args[0], 10, 64)
		if err != nil {
			return "", fmt.Errorf("expected the number of a transaction, not %q", args[0])
		}
		if last = r.Scheduler.GetRecordedTransaction(n); last == nil {
			return "no such transaction", nil
		}
	}
	txn := *last
	txn.Start, txn.Stop = time.Time{}, time.Time{}
	var text strings.Builder
	err := record.Format(&text, &txn, record.FormatOptions{Planned: true})
	return text.String(), err
}

// cmdHistory prints one line for every transaction.
func cmdHistory(r *Run, _ []string) (string, error) {
	var text strings.Builder
	for _, txn := range r.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}) {
		fmt.Fprintf(&text, "#%d %s: %d values, %d operations", txn.SeqNum, record.Kind(txn), len(txn.Values), len(txn.Executed))
		if txn.Description != "" {
			fmt.Fprintf(&text, " (%s)", txn.Description)
		}
		text.WriteByte('\n')
	}
	return text.String(), nil
}
