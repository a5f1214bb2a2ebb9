package record

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// keptItems is how many operations and values of a transaction remain when it is
// summarised.
const keptItems = 1000

// summarise makes room for the newest entry: as long as the history is too large, the
// largest transactions lose first their operations, then their values. The newest one
// keeps its values, as clients may still wait for them.
func (r *Ring) summarise(newest *entry) {
	if len(newest.txn.Executed) > keptItems || len(newest.txn.Values) > keptItems {
		r.large = append(r.large, newest)
	}
	if r.opts.MaxBytes == 0 || r.bytes <= r.opts.MaxBytes || len(r.large) == 0 {
		return
	}
	r.large = slices.DeleteFunc(r.large, func(e *entry) bool { return e.dropped })
	bySize := slices.SortedStableFunc(slices.Values(r.large), func(a, b *entry) int { return int(b.bytes - a.bytes) })
	for _, e := range bySize {
		r.shorten(e, withoutOperations)
	}
	for _, e := range bySize {
		if e != newest {
			r.shorten(e, withoutValues)
		}
	}
	r.large = slices.DeleteFunc(r.large, func(e *entry) bool { return len(e.txn.Executed) <= keptItems && len(e.txn.Values) <= keptItems })
}

// shorten replaces the record of an entry if the history is too large.
func (r *Ring) shorten(e *entry, shorter func(api.RecordedTxn) api.RecordedTxn) {
	if r.bytes <= r.opts.MaxBytes {
		return
	}
	txn := shorter(*e.txn)
	size := sizeOf(&txn)
	r.bytes += size - e.bytes
	if slices.Contains(r.init, e) {
		r.initLen += size - e.bytes
	}
	e.txn, e.bytes = &txn, size
	if e.plan != nil { // it must not keep the longer record alive
		e.plan = func() []api.RecordedTxnOp { return planOf(txn.Executed) }
	}
}

// withoutOperations keeps the first operations and those that failed, as far as the
// limit allows. They do not say any more which operation they waited for.
func withoutOperations(txn api.RecordedTxn) api.RecordedTxn {
	all := txn.Executed
	if len(all) <= keptItems {
		return txn
	}
	kept := make([]api.RecordedTxnOp, 0, 2*keptItems)
	for i := range all {
		if failed := all[i].NewErrMsg != ""; i < keptItems || failed && len(kept) < cap(kept) {
			op := all[i]
			op.After, op.Waited = 0, api.OpWaitNone
			kept = append(kept, op)
		}
	}
	txn.Executed, txn.OmittedOps = kept, len(all)-len(kept)
	txn.Planned = slices.Clone(txn.Planned[:min(len(txn.Planned), keptItems)])
	return txn
}

func withoutValues(txn api.RecordedTxn) api.RecordedTxn {
	if len(txn.Values) > keptItems {
		txn.OmittedValues = len(txn.Values) - keptItems
		txn.Values = slices.Clone(txn.Values[:keptItems])
	}
	return txn
}
