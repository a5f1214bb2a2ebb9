package api

import (
	"context"
	"errors"
	"time"
)

// ErrNoOrphan: the value is desired, or the scheduler did not create it.
var ErrNoOrphan = errors.New("not a leftover of the scheduler")

// OrphanFinder lists the values that exist in the southbound and are not desired.
type OrphanFinder interface {
	// Orphans lists such values, sorted by key, as of the last reading of the southbound.
	// Properties are none.
	Orphans() []Orphan
	// ReadOrphans reads the southbound, so that Orphans lists the current values. Values that
	// the southbound makes itself, and values that could not be read, are listed as of the last
	// resync. The error is the cause of the context, or ErrClosedScheduler.
	ReadOrphans(ctx context.Context) error
	// RemoveOrphans removes values that are Ours or Marked in one transaction, and waits for
	// it, bounded by ctx. If one of the keys is another value, nothing is done and the error
	// is an ErrNoOrphan; else it is a *TransactionError.
	RemoveOrphans(ctx context.Context, keys []string, opts ...TxnOption) (seqNum uint64, err error)
}

// Orphan is a value that exists and is not desired.
type Orphan struct {
	Key        string
	Descriptor string
	// Ours reports that this process made it, or that the state-dir names it. Other values
	// are foreign and left alone.
	Ours bool
	// Marked reports of a foreign value that it has the mark of an agent: of another one, or
	// of an earlier process that kept no record. It is left alone until RemoveOrphans names it.
	Marked bool      `json:",omitempty"`
	Value  JSONValue `json:",omitzero"` // zero if its type is not known
	// Txn is the last transaction that changed the value, as numbered by its process, and
	// Since is its time. Both are unset if the time is not known.
	Txn   *uint64   `json:",omitempty"`
	Since time.Time `json:",omitzero"`
	// Problem says why it cannot be removed.
	Problem string `json:",omitempty"`
	// Unread reports that the scheduler does not know whether the value still exists.
	Unread bool `json:",omitempty"`
}
