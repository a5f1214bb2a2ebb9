package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
)

// KVScheduler is the whole interface of the scheduler. Depend on the role you
// use instead.
type KVScheduler interface {
	Registrar
	Committer
	Notifier
	Inspector
	Watcher
	Sessions
	DriftDetector
	OrphanFinder
	Quarantine
}

// Registrar is used by plugins in Init, to register descriptors.
type Registrar interface {
	// RegisterKVDescriptor registers descriptors. Each is checked; the joined
	// errors are written for its author. A valid descriptor is registered even
	// if another one in the same call is not.
	RegisterKVDescriptor(descriptors ...*KVDescriptor) error
	// GetRegisteredNBKeyPrefixes returns the NBKeyPrefix of all descriptors, sorted.
	GetRegisteredNBKeyPrefixes() []string
	// GetMetadataMap returns the metadata map of a descriptor; nil if it is not
	// registered or has no metadata. Use idxmap.Of for a typed view.
	GetMetadataMap(descriptor string) idxmap.Reader
	// WatchNBKeyPrefixRegistration returns a channel that is closed when a
	// descriptor with the prefix is registered; it is closed already, with
	// ErrDescriptorExists, if there is one.
	WatchNBKeyPrefixRegistration(prefix string) (<-chan struct{}, error)
}

// Committer is used by the northbound.
type Committer interface {
	// StartNBTransaction returns an empty transaction. Nothing happens until
	// Commit.
	StartNBTransaction() Txn
	// Apply commits the values of a plan made by Txn.Plan, here or in an earlier
	// process, if that does exactly what the plan says; otherwise the error is
	// an ErrPlanStale and nothing is done. Whether it is a resync follows from
	// the plan, not from the options.
	Apply(ctx context.Context, plan *Plan, opts ...TxnOption) (seqNum uint64, err error)
}

// Txn collects changes. It must not be used concurrently nor after Commit.
type Txn interface {
	// SetValue sets the wanted value of a key; nil deletes it. The last call for
	// a key wins. The message must not be changed afterwards.
	SetValue(key string, value proto.Message) Txn
	// Commit queues the transaction and, unless WithoutBlocking, waits until it
	// is executed. Transactions are executed in the order of their commits. If
	// ctx ends while the transaction waits in the queue, nothing of it is
	// executed (ErrTxnCanceled); once it runs, it continues without being waited
	// for (ErrTxnWaitCanceled); WithDeadline bounds the execution. seqNum
	// identifies the transaction in the history. The error is a
	// *TransactionError.
	Commit(ctx context.Context, opts ...TxnOption) (seqNum uint64, err error)
	// Plan returns what Commit would do now, without doing it. ctx bounds the
	// waiting in the queue.
	Plan(ctx context.Context, opts ...TxnOption) (*Plan, error)
}

// NoSeqNum is the sequence number of a transaction that was not started yet or
// not at all.
const NoSeqNum = ^uint64(0)

// Notifier receives what changed in the southbound.
type Notifier interface {
	// PushSBNotification tells values that appeared or changed in the southbound
	// or, with a nil Value, disappeared. It does not block on their processing.
	// Keys that the northbound manages are ignored. News of a key that wait are
	// replaced by later ones. Transactions of the northbound that are committed
	// later may be executed first, for a short while, unless they name one of
	// the keys, name many, or are a resync; see TransactionBarrier.
	PushSBNotification(notifications ...KVWithMetadata) error
	// ReportLost reports values of the northbound, derived ones included, that the
	// southbound may not have any more. It does not block on the processing. The
	// scheduler reads each of them; keys that do not exist, that are not to be
	// managed, or that the southbound still has are ignored, so that a report may be
	// wrong. A property (a value without operations) cannot be read; what depends on it,
	// and what is derived from the same value, is read instead. What is lost goes down
	// with all that stands on it, and is MISSING until it is created again: at once if
	// that is configured, and after growing delays if the same value is lost again and
	// again.
	ReportLost(keys ...string) error
	// TransactionBarrier returns when everything queued before the call, by
	// anyone, has been executed.
	TransactionBarrier()
}

// View selects the side from which values are dumped.
type View string

// The views: what exists in the southbound (read now), what the northbound
// wants, and what the scheduler believes to exist.
const (
	SBView     View = "SB"
	NBView     View = "NB"
	CachedView View = "cached"
)

// ParseView accepts the name of a view in any case.
func ParseView(name string) (View, error) {
	for _, v := range []View{SBView, NBView, CachedView} {
		if strings.EqualFold(name, string(v)) {
			return v, nil
		}
	}
	return "", fmt.Errorf("view %q: expected SB, NB or cached", name)
}

// Inspector reads the state of the scheduler. Its methods do not wait for the running
// transaction, except dumps of the SBView, so while one runs they may see some of its
// operations and not yet others. What they return about one key is consistent.
type Inspector interface {
	// GetValueStatus returns the status of a base value with its derived values,
	// or of a single derived value; NONEXISTENT if the key is unknown.
	GetValueStatus(key string) *BaseValueStatus
	// ListValueStatus returns the status of all base values whose key has the
	// prefix, sorted by key.
	ListValueStatus(keyPrefix string) []*BaseValueStatus
	// WatchValueStatus sends the status of base values whose key is selected
	// (all, if the selector is nil) after every transaction that changed it. A
	// slow receiver gets the latest status of each key; none is lost. cancel
	// ends the watch.
	WatchValueStatus(channel chan<- *BaseValueStatus, selector KeySelector) (cancel func())
	// DumpValuesByDescriptor returns the values of a descriptor, sorted by key.
	DumpValuesByDescriptor(descriptor string, view View) ([]KVWithMetadata, error)
	// DumpValuesByKeyPrefix is the same for all values with the NB key prefix.
	DumpValuesByKeyPrefix(prefix string, view View) ([]KVWithMetadata, error)
	// GetTransactionHistory returns the transactions started in the window; a
	// zero time is no bound.
	GetTransactionHistory(since, until time.Time) []*RecordedTxn
	// GetRecordedTransaction returns one transaction, or nil.
	GetRecordedTransaction(seqNum uint64) *RecordedTxn
	// ValidateSemantically runs Validate of the descriptors on the messages and
	// on their derived values; the error is an *InvalidMessagesError.
	ValidateSemantically(messages []proto.Message) error
	// GraphSnapshot returns all values and their relations, sorted by key.
	GraphSnapshot() []GraphNode
	// ListDescriptors returns the registered descriptors, sorted by name.
	ListDescriptors() []*KVDescriptor
	// Reason says why a value, base or derived, is in its state; what a PENDING
	// value waits for is named by key. It is empty if there is nothing to say.
	Reason(key string) string
	// Explain returns the tree of what the value waits for, or stands on, down
	// to what blocks it.
	Explain(key string) *Explanation
}

// Sessions is for the plugin that holds the connection to a southbound.
type Sessions interface {
	// SouthboundUp reports that a southbound named in Descriptor.Southbound can be
	// reached. An epoch other than the last one means that it may have lost its
	// state: metadata is dropped, the state retrieved and converged.
	SouthboundUp(name string, epoch uint64)
	// SouthboundDown reports that it cannot be reached, and why; its values become
	// PENDING and no callback of its descriptors runs.
	SouthboundDown(name string, reason error)
}

// GraphNode is one value in a snapshot of the graph.
type GraphNode struct {
	Key        string
	Label      string
	Descriptor string // empty: none
	Base       string // key of the value it is derived from; empty: none
	State      ValueState
	Error      string
	Value      proto.Message // believed to exist, else wanted
	Exists     bool
	Metadata   Metadata
	Origin     ValueOrigin
	LastTxn    uint64
	Targets    []GraphEdge
}

// GraphEdge is a relation to other values.
type GraphEdge struct {
	Relation  string // "depends-on" or "derives"
	Label     string
	Keys      []string // matching keys; for an exact dependency the key itself
	AnyOf     []string // prefixes of an AnyOf dependency
	Satisfied bool
}

// Explanation is one node of the tree returned by Explain.
type Explanation struct {
	Key      string
	State    ValueState
	Since    time.Time      `json:",omitzero"`  // UTC; when the state was entered, zero if unknown
	Reason   string         `json:",omitempty"` // the error, "waits for ...", or empty
	Label    string         `json:",omitempty"` // the dependency by which the parent refers to this value
	Children []*Explanation `json:",omitempty"`
	// Undescribed: there is no such value, and no descriptor has keys like this.
	Undescribed bool `json:",omitempty"`
	// NotConfigured: there is no such value, because no source asks for it. It is
	// neither derived from another value nor one of the southbound.
	NotConfigured bool `json:",omitempty"`
}

// Refusals returns why the northbound rejected a value of a key before it reached the
// scheduler; empty if it rejected none. asked reports whether the key has a desired or
// an actual value. It may be called concurrently.
type Refusals func(key string, asked bool) string

// RelationDependsOn and RelationDerives are the relations of GraphEdge.
const (
	RelationDependsOn = "depends-on"
	RelationDerives   = "derives"
)
