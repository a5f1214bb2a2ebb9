package record_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func txnAt(seq uint64, offset time.Duration) *api.RecordedTxn {
	return &api.RecordedTxn{SeqNum: seq, Start: start.Add(offset), Stop: start.Add(offset + time.Millisecond)}
}

func seqs(txns []*api.RecordedTxn) string {
	var b strings.Builder
	for _, txn := range txns {
		fmt.Fprintf(&b, "%d ", txn.SeqNum)
	}
	return strings.TrimSpace(b.String())
}

func all(r *record.Ring) string { return seqs(r.Window(time.Time{}, time.Time{})) }

func TestRingLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		opts record.Options
		want string
	}{
		"none":            {record.Options{}, "0 1 2 3 4 5 6 7 8 9"},
		"entries":         {record.Options{MaxEntries: 3}, "7 8 9"},
		"entries, init":   {record.Options{MaxEntries: 4, InitPeriod: time.Hour}, "0 1 8 9"},
		"age":             {record.Options{AgeLimit: 2 * time.Minute}, "7 8 9"},
		"age, init":       {record.Options{AgeLimit: 2 * time.Minute, InitPeriod: 90 * time.Second}, "0 1 7 8 9"},
		"bytes":           {record.Options{MaxBytes: 1}, "9"},
		"bytes and init":  {record.Options{MaxBytes: 1, InitPeriod: time.Hour}, "0 9"},
		"everything init": {record.Options{AgeLimit: time.Minute, InitPeriod: time.Hour}, "0 1 2 3 4 5 6 7 8 9"},
	} {
		r := record.NewRing(tc.opts)
		for i := range 10 {
			txn := txnAt(uint64(i), time.Duration(i)*time.Minute)
			r.PreRecord(txn, nil)
			r.Complete(txn)
		}
		if got := all(r); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
		for _, txn := range r.Window(time.Time{}, time.Time{}) {
			if r.Get(txn.SeqNum).SeqNum != txn.SeqNum {
				t.Errorf("%s: transaction %d cannot be looked up", name, txn.SeqNum)
			}
		}
		if r.Get(99) != nil {
			t.Errorf("%s: found an unknown transaction", name)
		}
	}
}

func TestRingWindow(t *testing.T) {
	t.Parallel()
	r := record.NewRing(record.Options{})
	for i := range 5 {
		r.Complete(txnAt(uint64(i), time.Duration(i)*time.Minute))
	}
	at := func(m int) time.Time { return start.Add(time.Duration(m) * time.Minute) }
	for want, got := range map[string][]*api.RecordedTxn{
		"3 4":   r.Window(at(3), time.Time{}),
		"0 1":   r.Window(time.Time{}, at(1)),
		"1 2 3": r.Window(at(1), at(3)),
		"":      r.Window(at(3), at(1)),
	} {
		if seqs(got) != want {
			t.Errorf("got %s, want %s", seqs(got), want)
		}
	}
}

// Complete replaces what PreRecord put there and leaves the old record, which
// a reader may hold, alone.
func TestRingComplete(t *testing.T) {
	t.Parallel()
	r := record.NewRing(record.Options{})
	before := bdTxn()
	before.PreRecord, before.Executed = true, nil
	r.PreRecord(before, nil)
	held, bytes := r.Get(4), r.Bytes()
	r.Complete(bdTxn())
	if !held.PreRecord || r.Get(4).PreRecord || len(r.Get(4).Executed) != 2 || r.Len() != 1 {
		t.Errorf("held %+v, now %+v, %d records", held, r.Get(4), r.Len())
	}
	if r.Bytes() <= bytes {
		t.Errorf("bytes were %d, with operations %d", bytes, r.Bytes())
	}
	s := r.Stats()
	if s.Transactions != 1 || s.Operations[pb.TxnOperation_CREATE] != 2 || s.States[pb.ValueState_PENDING] != 1 {
		t.Errorf("stats %+v", s)
	}
}

// The size of a large transaction is estimated from a sample of its values.
func TestRingBytes(t *testing.T) {
	t.Parallel()
	size := func(n int) int64 {
		txn := bdTxn()
		txn.Planned = nil
		for range n {
			txn.Executed = append(txn.Executed, txn.Executed[0])
		}
		r := record.NewRing(record.Options{})
		r.Complete(txn)
		return r.Bytes()
	}
	if small, large := size(1000), size(10_000); large < 9*small || large > 11*small {
		t.Errorf("1000 operations: %d bytes, 10000: %d", small, large)
	}
}

func TestRingConcurrently(t *testing.T) {
	t.Parallel()
	r := record.NewRing(record.Options{MaxEntries: 10})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				if txn := r.Get(uint64(i)); txn != nil && txn.SeqNum != uint64(i) {
					t.Errorf("asked for %d, got %d", i, txn.SeqNum)
				}
				r.Window(time.Time{}, time.Time{})
				r.Stats()
			}
		})
	}
	for i := range 500 {
		r.PreRecord(txnAt(uint64(i), time.Duration(i)), nil)
		r.Complete(txnAt(uint64(i), time.Duration(i)))
	}
	wg.Wait()
	if r.Len() != 10 {
		t.Errorf("%d entries", r.Len())
	}
}
