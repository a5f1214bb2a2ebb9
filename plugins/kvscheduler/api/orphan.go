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
	// Orphans lists such values, sorted by key, as of the last reading of the
	// southbound. Values without operations (properties, link states) are none.
	Orphans() []Orphan
	// RemoveOrphans removes values that are Ours or Marked, in one transaction. If
	// one of the keys is another value, the error is an ErrNoOrphan and nothing is
	// done; else it is a *TransactionError. It waits until the transaction is
	// executed, bounded by ctx.
	RemoveOrphans(ctx context.Context, keys []string, opts ...TxnOption) (seqNum uint64, err error)
}

// Orphan is a value that exists and is not desired.
type Orphan struct {
	Key        string
	Descriptor string
	// Ours reports that the record says the scheduler made it: this process did, or
	// the state-dir names it. Otherwise it is foreign and is left alone.
	Ours bool
	// Marked reports of a foreign value that its descriptor recognised the mark of an
	// agent. Another agent made it, or an earlier process that kept no record. It is
	// left alone until RemoveOrphans names it.
	Marked bool      `json:",omitempty"`
	Value  JSONValue `json:",omitzero"` // zero if its type is not known
	// Txn is the sequence number of the last transaction that changed the value, in the
	// process of that time. Since is its time. Both are unset if the time is not known.
	Txn   *uint64   `json:",omitempty"`
	Since time.Time `json:",omitzero"`
	// Problem says why it cannot be removed: the error of an attempt, or that its
	// southbound cannot be read, so that it may not even exist.
	Problem string `json:",omitempty"`
	// Unread reports that the scheduler does not know whether the value still exists.
	Unread bool `json:",omitempty"`
}
