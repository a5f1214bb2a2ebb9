package record_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// heap is the memory in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // of what had a finalizer
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Large transactions that were dropped from the history are not in memory. No parallel test: it
// measures the heap of the process.
func TestDroppedTransactionsAreFreed(t *testing.T) {
	const limit = 1 << 20
	r := record.NewRing(record.Options{MaxBytes: limit, MaxEntries: 10_000})
	before := heap()
	for seq := range uint64(200) {
		txn := txnAt(seq, time.Duration(seq)*time.Second)
		txn.PreRecord = true
		for i := range 1500 {
			txn.Values = append(txn.Values, api.RecordedKVPair{Key: fmt.Sprintf("key/%d", i), Value: wrapperspb.UInt64(seq)})
		}
		r.PreRecord(txn, nil)
		done := *txn
		done.PreRecord = false
		r.CompleteAsPlanned(&done)
	}
	grown := heap() - before
	runtime.KeepAlive(r)
	if grown > 3*limit { // the newest transaction keeps its values
		t.Errorf("a history of at most %d bytes keeps %d", limit, grown)
	}
	t.Logf("%d transactions, %d bytes by the estimate, %d on the heap", r.Len(), r.Bytes(), grown)
}
