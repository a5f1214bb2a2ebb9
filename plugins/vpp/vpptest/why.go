package vpptest

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// lastTxns is how many transactions why lists at most.
const lastTxns = 15

// why is what the agent knows of a value whose state is not the expected one:
// what it waits for, how VPP is connected, who is suspected of having brought it
// down, and what was done last.
func (b *Harness) why(key string) string {
	var text strings.Builder
	explain(&text, b.Scheduler.Explain(key), "  ")
	s := b.Mux.Session()
	fmt.Fprintf(&text, "  session: epoch %d, up %t, since %s, %v\n", s.Epoch, s.Up, clock(s.Since), s.Err)
	suspects := b.Scheduler.Suspects()
	fmt.Fprintf(&text, "  suspects: %d", len(suspects))
	if len(suspects) > 0 {
		fmt.Fprintf(&text, ", the first %+v", suspects[0])
	}
	fmt.Fprintf(&text, "\n  now %s, transactions:\n", clock(time.Now()))
	all := b.Scheduler.GetTransactionHistory(time.Time{}, time.Time{})
	for _, txn := range all[max(0, len(all)-lastTxns):] {
		fmt.Fprintf(&text, "    #%d %s %q: queued %s, planned %s, ended %s, %d operations%s\n", txn.SeqNum, txn.TxnType, txn.Description,
			clock(txn.Queued), clock(txn.Start), clock(txn.Stop), len(txn.Executed), firstError(txn))
	}
	return text.String()
}

func explain(text *strings.Builder, e *api.Explanation, indent string) {
	if e == nil {
		fmt.Fprintf(text, "%snot known\n", indent)
		return
	}
	fmt.Fprintf(text, "%s%s is %s since %s: %s %s\n", indent, e.Key, e.State, clock(e.Since), e.Reason, e.Label)
	for _, child := range e.Children {
		explain(text, child, indent+"  ")
	}
}

func firstError(txn *api.RecordedTxn) string {
	for _, op := range txn.Executed {
		if op.NewErrMsg != "" {
			return fmt.Sprintf(", %s: %s", op.Key, op.NewErrMsg)
		}
	}
	return ""
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }
