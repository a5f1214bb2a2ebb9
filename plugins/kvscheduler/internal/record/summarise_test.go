package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// largeTxn has n values and operations; operation number failed has an error.
func largeTxn(seq uint64, n, failed int) *api.RecordedTxn {
	txn := txnAt(seq, time.Duration(seq)*time.Second)
	for i := range n {
		key := fmt.Sprintf("key/%d", i)
		txn.Values = append(txn.Values, api.RecordedKVPair{Key: key})
		op := api.RecordedTxnOp{Key: key, After: int32(i), Waited: api.OpWaitDependency}
		if i == failed {
			op.NewErrMsg = "refused"
		}
		txn.Executed = append(txn.Executed, op)
	}
	return txn
}

// TestSummarise: a history that is too large loses the operations of its largest
// transactions, then their values, and only then its oldest transactions.
func TestSummarise(t *testing.T) {
	t.Parallel()
	const n, failed = 100_000, 70_000
	r := record.NewRing(record.Options{MaxBytes: 16 << 20, InitPeriod: time.Hour})
	small := txnAt(0, 0)
	r.Complete(small)
	r.CompleteAsPlanned(largeTxn(1, n, failed))
	txn := r.Get(1)
	if len(txn.Executed)+txn.OmittedOps != n || txn.OmittedOps == 0 || len(txn.Planned) > len(txn.Executed) {
		t.Errorf("%d operations are listed, %d omitted: expected %d, most of them omitted", len(txn.Executed), txn.OmittedOps, n)
	}
	if last := txn.Executed[len(txn.Executed)-1]; last.Key != fmt.Sprintf("key/%d", failed) || last.After != 0 {
		t.Errorf("the last operation kept is %+v, expected the failed one, which waits for none", last)
	}
	if len(txn.Values) != n {
		t.Errorf("the newest transaction has %d values, expected all %d: clients may wait for them", len(txn.Values), n)
	}
	var text strings.Builder
	if err := record.Format(&text, txn, record.FormatOptions{}); err != nil || !strings.Contains(text.String(), fmt.Sprintf("... and %d more operations", txn.OmittedOps)) {
		t.Errorf("the text does not say how many operations are omitted: %v", err)
	}
	for seq := uint64(2); seq < 6; seq++ {
		r.Complete(largeTxn(seq, n, failed))
	}
	if got := all(r); got != "0 1 2 3 4 5" {
		t.Errorf("transactions %s are kept, expected all", got)
	}
	if txn := r.Get(1); len(txn.Values)+txn.OmittedValues != n || txn.OmittedValues == 0 {
		t.Errorf("an old transaction has %d values, %d omitted: expected %d, most of them omitted", len(txn.Values), txn.OmittedValues, n)
	}
	if r.Bytes() > 16<<20 {
		t.Errorf("the history has %d bytes, more than its limit", r.Bytes())
	}
}
