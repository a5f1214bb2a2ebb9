package api

import (
	"context"
	"time"
)

// DriftDetector detects differences between the southbound and the actual state that the
// scheduler knows. Detection changes neither the state nor the status of any value.
type DriftDetector interface {
	// DetectDrift reads one descriptor after the other and compares its values. Descriptors
	// with ConcurrentRetrieve are read while transactions run, and values that these change
	// are not compared; the others are read between two transactions. One detection runs at
	// a time. The error is the context's error, or ErrClosedScheduler.
	DetectDrift(ctx context.Context) (*DriftReport, error)
	// LastDrift returns the report of the last detection; nil before the first.
	LastDrift() *DriftReport
	// RepairDrift is a downstream resync of the values named by the drifts and of no others, without
	// those that are Foreign.
	// It waits until that is done, bounded by ctx; the error is a *TransactionError. Without
	// drifts it returns NoSeqNum. Of the options those about retries and the description
	// count.
	RepairDrift(ctx context.Context, drifts []Drift, opts ...TxnOption) (seqNum uint64, err error)
}

// DriftKind says in which way the southbound differs.
type DriftKind string

// The kinds of drift.
const (
	// DriftMissing: the value is believed to exist, and does not.
	DriftMissing DriftKind = "missing"
	// DriftDiffers: the value is not equivalent to the one believed to exist.
	DriftDiffers DriftKind = "differs"
	// DriftUnexpected: the value exists, it is not desired (or it waits for
	// something), and it does not belong to the southbound.
	DriftUnexpected DriftKind = "unexpected"
)

// DriftKinds returns all kinds.
func DriftKinds() []DriftKind {
	return []DriftKind{DriftMissing, DriftDiffers, DriftUnexpected}
}

// Drift is one value whose state in the southbound differs from the known actual state.
type Drift struct {
	Key        string
	Descriptor string
	Base       string `json:",omitempty"` // key of the value it is derived from; empty: none
	Kind       DriftKind
	Believed   JSONValue   `json:",omitzero"`  // zero if unexpected
	Found      JSONValue   `json:",omitzero"`  // zero if missing
	Fields     []FieldDiff `json:",omitempty"` // of a value that differs
}

// Foreign reports that the value differs only in additions of another process, which a repair
// leaves as it is.
func (d *Drift) Foreign() bool {
	for _, f := range d.Fields {
		if f.Field != ForeignField {
			return false
		}
	}
	return len(d.Fields) > 0
}

// FieldDiff is a field that differs between two messages, as JSON;
// empty where it is not set. The path is in the names of the protobuf schema:
// "ip_addresses[1]", "link.ring_size".
type FieldDiff struct {
	Field    string
	Believed string `json:",omitempty"`
	Found    string `json:",omitempty"`
}

// DriftReport is the result of one detection.
type DriftReport struct {
	Start, Stop time.Time
	// Values is the number of values that were compared, with derived ones.
	Values int
	// Drifts are sorted by key.
	Drifts []Drift `json:",omitempty"`
	// Unread are the descriptors that could not be read, sorted by name.
	Unread []DriftUnread `json:",omitempty"`
	// Repairs are the transactions that repaired drifts of this report.
	Repairs []uint64 `json:",omitempty"`
}

// DriftUnread is a descriptor that could not be read, and why.
type DriftUnread struct {
	Descriptor string
	Reason     string
	// Never is set if the descriptor has no Retrieve. It is listed only if it has values.
	Never bool `json:",omitempty"`
}

// Count is the number of drifts of a kind.
func (r *DriftReport) Count(kind DriftKind) int {
	n := 0
	for i := range r.Drifts {
		if r.Drifts[i].Kind == kind {
			n++
		}
	}
	return n
}
