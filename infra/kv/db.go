package kv

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// DB is a key-value store of bytes, for whoever reads and writes single
// entries; keys are whole, prefix included. What a store cannot do Features
// tells, and the method returns ErrNotSupported. All methods may be called
// concurrently; they end with ctx.
type DB interface {
	// Features tells what the store can do. It never changes after Init.
	Features() Features
	// Get returns an entry; ErrNotFound: there is none.
	Get(ctx context.Context, key string) (Item, error)
	// List returns the entries whose keys begin with the prefix, as they were at
	// one revision if the store has revisions.
	List(ctx context.Context, prefix string, opts ...ListOption) (Listing, error)
	// Put stores a value, which may be empty.
	Put(ctx context.Context, key string, value []byte, opts ...PutOption) error
	// Delete removes the entry of the key, or with WithPrefix all whose keys
	// begin with it, and tells how many there were.
	Delete(ctx context.Context, key string, opts ...DelOption) (int64, error)
	// Txn makes all changes or none. Of several for one key the last counts.
	Txn(ctx context.Context, ops ...Op) error
	// CompareAndSwap stores value if the present one is old, and tells whether it
	// did. A nil old stands for "there is none", a nil value removes the entry.
	CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error)
	// WatchFrom tells everything that happened below the prefix after a revision,
	// in order, until ctx ends (nil is returned), the connection breaks, handle
	// returns an error, or the store has no such history (any more):
	// ErrCompacted. What happened at once is told at once.
	WatchFrom(ctx context.Context, prefix string, revision int64, handle func([]Event) error) error
}

// Connector is a plugin that gives access to the entries of its store.
type Connector interface {
	Store
	Writer
	// DB returns the store; nil if the connector is disabled. It is usable from
	// Init of the plugins that depend on the connector until their Close.
	DB() DB
}

// Errors of a DB. Compare with errors.Is.
var (
	// ErrNotFound: there is no entry of that key.
	ErrNotFound = errors.New("no such key")
	// ErrNotSupported: the store cannot do it, see Features.
	ErrNotSupported = errors.New("the store cannot do this")
	// ErrCompacted: the store no longer knows, or never knew, what happened after
	// that revision; list, and go on from there.
	ErrCompacted = errors.New("the store has no history from that revision on")
	// ErrDisabled: the connector has no configuration.
	ErrDisabled = errors.New("the store is disabled: its connector has no configuration")
)

// Features is what a store can do.
type Features struct {
	// Revisions: entries and listings have revisions, and WatchFrom goes on from
	// any that was not compacted, also over a restart.
	Revisions bool
	// TTL: WithTTL is possible.
	TTL bool
	// ClientTTL: WithClientLifetimeTTL is possible.
	ClientTTL bool
	// TxnOps is how many keys one Txn may change; 0: any number.
	TxnOps int
	// TextKeys: keys must be UTF-8 and begin with a slash; others are refused
	// with ErrNotSupported.
	TextKeys bool
	// Shared: several processes can use the store at once.
	Shared bool
}

// Item is an entry.
type Item struct {
	Key      string // prefix included
	Value    []byte // must not be changed
	Revision int64  // of its last change; 0 if the store has no revisions
}

// Listing is the content of a part of a store.
type Listing struct {
	Items    []Item // sorted by key
	Revision int64  // as of which they are all there is; 0 if the store has no revisions
}

// Event is a change of one entry.
type Event struct {
	Item         // of a deletion only Key and Revision
	Deleted bool // the entry does not exist any more
}

// Op is a change in a Txn.
type Op struct {
	Key   string
	Value []byte // nil deletes; an empty value is not nil
}

// LastOps leaves the last change of every key, in the order of the keys' first
// appearance, for stores that refuse two changes of one key in a transaction.
func LastOps(ops []Op) []Op {
	at := make(map[string]int, len(ops))
	var last []Op
	for _, op := range ops {
		if i, ok := at[op.Key]; ok {
			last[i] = op
			continue
		}
		at[op.Key] = len(last)
		last = append(last, op)
	}
	return last
}

// PutOptions is what the options of a Put say.
type PutOptions struct {
	TTL            time.Duration // 0: the entry stays
	ClientLifetime bool
}

// PutOption is an option of a Put.
type PutOption func(*PutOptions)

// WithTTL removes the entry when the time has passed, by the clock of the
// store, unless it is put again. Stores may round up to whole seconds.
func WithTTL(ttl time.Duration) PutOption { return func(o *PutOptions) { o.TTL = ttl } }

// WithClientLifetimeTTL removes the entry when this agent is closed, or was not
// heard of for a while (session-ttl). It takes precedence over WithTTL.
func WithClientLifetimeTTL() PutOption { return func(o *PutOptions) { o.ClientLifetime = true } }

// CollectPut returns what the options say. A TTL that is not positive counts as
// one nanosecond, the shortest there is.
func CollectPut(opts []PutOption) PutOptions {
	o := PutOptions{TTL: -1}
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case o.TTL == -1:
		o.TTL = 0
	case o.TTL <= 0:
		o.TTL = 1
	}
	return o
}

// DelOptions is what the options of a Delete say.
type DelOptions struct {
	Prefix bool
}

// DelOption is an option of a Delete.
type DelOption func(*DelOptions)

// WithPrefix deletes all entries whose keys begin with the key.
func WithPrefix() DelOption { return func(o *DelOptions) { o.Prefix = true } }

// CollectDel returns what the options say.
func CollectDel(opts []DelOption) (o DelOptions) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// ListOptions is what the options of a List say.
type ListOptions struct {
	KeysOnly bool
}

// ListOption is an option of a List.
type ListOption func(*ListOptions)

// KeysOnly leaves the values out.
func KeysOnly() ListOption { return func(o *ListOptions) { o.KeysOnly = true } }

// CollectList returns what the options say.
func CollectList(opts []ListOption) (o ListOptions) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// DiskFull tells that an error of a store in a file is for want of room on the disk.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
