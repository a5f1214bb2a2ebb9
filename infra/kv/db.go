package kv

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// DB is a key-value store of bytes that gives access to single entries. Keys
// include the prefix. A method that the store does not support (see Features)
// returns ErrNotSupported. All methods may be called concurrently; they return
// when ctx ends.
type DB interface {
	// Features returns the features that the store supports. They never change after Init.
	Features() Features
	// Get returns an entry, or ErrNotFound.
	Get(ctx context.Context, key string) (Item, error)
	// List returns the entries whose keys begin with the prefix. If the store
	// has revisions, all entries are of the same revision.
	List(ctx context.Context, prefix string, opts ...ListOption) (Listing, error)
	// Put stores a value, which may be empty.
	Put(ctx context.Context, key string, value []byte, opts ...PutOption) error
	// Delete removes the entry of the key, or with WithPrefix all entries whose
	// keys begin with it, and returns how many there were.
	Delete(ctx context.Context, key string, opts ...DelOption) (int64, error)
	// Txn applies all changes or none. If several change the same key, the last
	// one wins.
	Txn(ctx context.Context, ops ...Op) error
	// CompareAndSwap stores value if the present value is old, and reports whether
	// it did. A nil old means that there is no entry; a nil value removes the
	// entry.
	CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error)
	// WatchFrom passes all events below the prefix after a revision to handle, in
	// order, until ctx ends (it returns nil), the connection breaks, handle
	// returns an error, or the store does not have the history (ErrCompacted).
	// The events of one transaction are passed together.
	WatchFrom(ctx context.Context, prefix string, revision int64, handle func([]Event) error) error
}

// Directory is implemented by a DB that lists a level of its keys without reading the levels
// below.
type Directory interface {
	// Children returns the parts of keys between the prefix and the next slash, in the order
	// of the keys, such as the labels of the agents below /vnf-agent/.
	Children(ctx context.Context, prefix string) ([]string, error)
}

// Renewer is implemented by a DB that extends the TTL of an entry without writing its value.
type Renewer interface {
	// Renew makes an entry that this client put with a TTL, or claimed, expire after ttl from
	// now. ok is false if it no longer exists.
	Renew(ctx context.Context, key string, ttl time.Duration) (ok bool, err error)
}

// Claimer is implemented by a DB in which one client at a time can hold an entry.
type Claimer interface {
	// Claim stores a value if there is no entry, or if the present value is old; nil: only if
	// there is none. It returns the present value if that is another one, else nil. The
	// entry has the lifetime of this client, or in a store without lifetimes the TTL, which
	// the client has to renew.
	Claim(ctx context.Context, key string, old, value []byte, ttl time.Duration) (present []byte, err error)
}

// Elector is implemented by a DB whose clients can elect one of them as the leader.
type Elector interface {
	// Campaign waits until this client is the leader of an election, whose name is a key without entries
	// of others below it, or until ctx ends. The value is for Leader. A leader that the store does not hear from
	// for the TTL is replaced.
	Campaign(ctx context.Context, name string, value []byte, ttl time.Duration) (Leadership, error)
	// Leader returns the value of the leader of an election, or ErrNotFound.
	Leader(ctx context.Context, name string) ([]byte, error)
}

// Leadership is the right of a leader to write. All methods may be called concurrently.
type Leadership interface {
	// Lost returns a channel that is closed when the leadership has ended.
	Lost() <-chan struct{}
	// CompareAndSwap does the same as DB.CompareAndSwap. It returns ErrNotLeader, and does nothing, if the leadership
	// has ended, even if this client does not know it yet.
	CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error)
	// Delete removes entries in the given order, in several transactions if there are many. It returns the same errors as
	// CompareAndSwap.
	Delete(ctx context.Context, keys ...string) error
	// Resign ends the leadership.
	Resign() error
}

// Connector is a plugin that provides access to the entries of its store.
type Connector interface {
	Store
	Writer
	// DB returns the store, or nil if the connector is disabled. It can be used
	// from Init of the plugins that depend on the connector until their Close.
	DB() DB
}

// Errors of a DB.
var (
	// ErrNotFound is returned if there is no entry with the key.
	ErrNotFound = errors.New("no such key")
	// ErrNotSupported is returned if the store does not support the operation,
	// see Features.
	ErrNotSupported = errors.New("the store does not support this operation")
	// ErrNotLeader is returned for a write of a client whose leadership has ended.
	ErrNotLeader = errors.New("another client is the leader")
	// ErrCompacted is returned if the store does not have the history from that
	// revision on. The caller should list the entries and continue from there.
	ErrCompacted = errors.New("the store has no history from that revision on")
	// ErrDisabled is returned if the connector has no configuration.
	ErrDisabled = errors.New("the store is disabled: its connector has no configuration")
)

// Features are the optional features of a store.
type Features struct {
	// Revisions: entries and listings have revisions, and WatchFrom can continue
	// from any that was not compacted, also after a restart.
	Revisions bool
	// TTL: WithTTL is supported.
	TTL bool
	// MinTTL is the shortest TTL; shorter ones are rejected with ErrNotSupported. 0: any.
	MinTTL time.Duration
	// ClientTTL: WithClientLifetimeTTL is supported.
	ClientTTL bool
	// TxnOps is the maximum number of keys in one Txn; 0 means no limit.
	TxnOps int
	// TextKeys: keys must be UTF-8 and begin with a slash; others are rejected
	// with ErrNotSupported.
	TextKeys bool
	// Shared: several processes can use the store at the same time.
	Shared bool
}

// Item is an entry.
type Item struct {
	Key      string // including the prefix
	Value    []byte // must not be changed
	Revision int64  // of its last change; 0 if the store has no revisions
}

// Listing is the content of a part of a store.
type Listing struct {
	Items    []Item // sorted by key
	Revision int64  // the revision of the listing; 0 if the store has no revisions
	// Identity identifies the store; its Revision may be set although entries have none.
	Identity Identity
}

// Event is a change of one entry.
type Event struct {
	Item          // a deletion has only Key and Revision
	Deleted  bool // the entry was deleted
	Inferred bool // see Change
}

// Op is a change in a Txn.
type Op struct {
	Key   string
	Value []byte // nil deletes; an empty value is not nil
}

// PutOp returns the change that stores a value, which may be nil.
func PutOp(key string, value []byte) Op {
	if value == nil {
		value = []byte{}
	}
	return Op{key, value}
}

// LastOps keeps only the last change of every key, in the order of the keys'
// first appearance, for stores that reject two changes of one key in a
// transaction.
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

// PutOptions are the collected options of a Put.
type PutOptions struct {
	TTL            time.Duration // 0: the entry does not expire
	ClientLifetime bool
}

// PutOption is an option of a Put.
type PutOption func(*PutOptions)

// WithTTL makes the entry expire after the given time, by the clock of the
// store, unless it is put again. Stores may round up to whole seconds.
func WithTTL(ttl time.Duration) PutOption { return func(o *PutOptions) { o.TTL = ttl } }

// WithClientLifetimeTTL removes the entry when this agent is closed, or when
// the store has not heard from it for a while (session-ttl). It takes
// precedence over WithTTL.
func WithClientLifetimeTTL() PutOption { return func(o *PutOptions) { o.ClientLifetime = true } }

// CollectPut collects the options. A TTL that is not positive counts as one
// nanosecond, the shortest TTL.
func CollectPut(opts []PutOption) PutOptions {
	o := collect(PutOptions{TTL: -1}, opts)
	switch {
	case o.TTL == -1:
		o.TTL = 0
	case o.TTL <= 0:
		o.TTL = 1
	}
	return o
}

// DelOptions are the collected options of a Delete.
type DelOptions struct {
	Prefix bool
}

// DelOption is an option of a Delete.
type DelOption func(*DelOptions)

// WithPrefix deletes all entries whose keys begin with the key.
func WithPrefix() DelOption { return func(o *DelOptions) { o.Prefix = true } }

// CollectDel collects the options.
func CollectDel(opts []DelOption) DelOptions { return collect(DelOptions{}, opts) }

// ListOptions are the collected options of a List.
type ListOptions struct {
	KeysOnly bool
}

// ListOption is an option of a List.
type ListOption func(*ListOptions)

// KeysOnly omits the values.
func KeysOnly() ListOption { return func(o *ListOptions) { o.KeysOnly = true } }

// CollectList collects the options.
func CollectList(opts []ListOption) ListOptions { return collect(ListOptions{}, opts) }

func collect[O any, F ~func(*O)](o O, opts []F) O {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// DiskFull reports whether an error of a file-based store is caused by a full disk.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
