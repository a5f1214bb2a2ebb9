package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
)

// KVScheduler is the complete interface of the scheduler. Clients should depend on
// the embedded interface that they use.
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
	// RegisterKVDescriptor registers the valid descriptors, and returns the joined errors of
	// the others.
	RegisterKVDescriptor(descriptors ...*KVDescriptor) error
	// GetRegisteredNBKeyPrefixes returns the NBKeyPrefix of all descriptors, sorted.
	GetRegisteredNBKeyPrefixes() []string
	// GetMetadataMap returns the metadata map of a descriptor; nil if there is none. Use
	// idxmap.Of for a typed view.
	GetMetadataMap(descriptor string) idxmap.Reader
	// WatchNBKeyPrefixRegistration returns a channel that is closed when a descriptor with
	// the prefix is registered. If there is one already, the error is ErrDescriptorExists.
	WatchNBKeyPrefixRegistration(prefix string) (<-chan struct{}, error)
}

// Committer is used by the northbound.
type Committer interface {
	// StartNBTransaction returns an empty transaction. It has no effect before Commit.
	StartNBTransaction() Txn
	// Apply commits the values of a plan made by Txn.Plan, in this or an earlier process, if
	// that executes exactly the operations of the plan; otherwise it returns ErrPlanStale.
	// The plan decides whether it is a resync.
	Apply(ctx context.Context, plan *Plan, opts ...TxnOption) (seqNum uint64, err error)
}

// Txn collects changes. It must not be used concurrently nor after Commit.
type Txn interface {
	// SetValue sets the desired value of a key; nil deletes it. The last call for a key
	// wins. The caller must not change the message afterwards.
	SetValue(key string, value proto.Message) Txn
	// Commit queues the transaction and, unless WithoutBlocking, waits until it is executed.
	// Transactions are executed in the order of their commits. If ctx ends while the
	// transaction is queued, nothing of it is executed (ErrTxnCanceled); if it ends later,
	// the execution continues (ErrTxnWaitCanceled), see WithDeadline. seqNum identifies the
	// transaction in the history. The error is a *TransactionError.
	Commit(ctx context.Context, opts ...TxnOption) (seqNum uint64, err error)
	// Plan returns the operations that Commit would execute now. ctx limits the time in the
	// queue.
	Plan(ctx context.Context, opts ...TxnOption) (*Plan, error)
}

// NoSeqNum is the sequence number of a transaction that has not started.
const NoSeqNum = ^uint64(0)

// Notifier receives changes in the southbound.
type Notifier interface {
	// PushSBNotification reports, without waiting, values that appeared or changed in the
	// southbound or, with a nil Value, disappeared. Keys that the northbound manages are
	// ignored. A later notification of a key replaces a queued one. Later transactions may
	// overtake notifications for a short time, unless they name one of the keys, name many,
	// or are a resync; see TransactionBarrier.
	PushSBNotification(notifications ...KVWithMetadata) error
	// ReportLost reports, without waiting, values of the northbound, base or derived, that
	// the southbound may have lost. The scheduler reads them, and ignores those that exist
	// or that it does not manage. For a property, which cannot be read, it reads the
	// dependents and the other values derived from the same base. It deletes the dependents
	// of a lost value, which is MISSING until it is created again: immediately if that is
	// configured, and after growing delays if the same value is lost repeatedly.
	ReportLost(keys ...string) error
	// TransactionBarrier returns when all tasks that were queued before the call have been
	// executed.
	TransactionBarrier()
	// WaitForTransactions is TransactionBarrier with a context. The error is the cause of
	// its end, or ErrClosedScheduler.
	WaitForTransactions(ctx context.Context) error
}

// View selects the state that a dump shows.
type View string

// The views: the actual state read now, the desired state, and the last known actual state.
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

// Inspector reads the state of the scheduler. Except dumps of the SBView, its methods do not
// wait for the running transaction, and may see a part of its operations. What they return
// about one key is consistent.
type Inspector interface {
	// GetValueStatus returns the status of a base value with its derived values, or of a
	// derived value; NONEXISTENT if the key is unknown.
	GetValueStatus(key string) *BaseValueStatus
	// ListValueStatus returns the status of the base values with the prefix, sorted by key.
	ListValueStatus(keyPrefix string) []*BaseValueStatus
	// SummarizeStates counts all values by state, derived ones included, and returns the
	// status of the worst that are not in effect, at most so many.
	SummarizeStates(worst int) StateSummary
	// WatchValueStatus sends the status of the selected base values (nil: all) after every
	// transaction that changed it. A slow receiver gets the latest status of each key.
	WatchValueStatus(channel chan<- *BaseValueStatus, selector KeySelector) (cancel func())
	// DumpValuesByDescriptor returns the values of a descriptor, sorted by key.
	DumpValuesByDescriptor(descriptor string, view View) ([]KVWithMetadata, error)
	// DumpValuesByKeyPrefix is the same for all values with the NB key prefix.
	DumpValuesByKeyPrefix(prefix string, view View) ([]KVWithMetadata, error)
	// GetTransactionHistory returns the transactions that started between since and
	// until; a zero time disables that limit.
	GetTransactionHistory(since, until time.Time) []*RecordedTxn
	// GetRecordedTransaction returns one transaction, or nil.
	GetRecordedTransaction(seqNum uint64) *RecordedTxn
	// ValidateSemantically validates the messages and their derived values; the error is an
	// *InvalidMessagesError.
	ValidateSemantically(messages []proto.Message) error
	// GraphSnapshot returns all values and their relations, sorted by key.
	GraphSnapshot() []GraphNode
	// ListDescriptors returns the registered descriptors, sorted by name.
	ListDescriptors() []*KVDescriptor
	// Explain returns the tree of the dependencies of a value, down to the blocking ones.
	Explain(key string) *Explanation
}

// StateSummary is the result of Inspector.SummarizeStates.
type StateSummary struct {
	Counts map[ValueState]int
	// Items counts the items: each in the worst state of its value and those derived from it.
	Items    map[ValueState]int
	Groups   []ValueGroup // only of Browser.SummarizeValues; sorted by descriptor
	Troubles int          // number of items that are not in effect
	// Worst are some of them, each with the value that says why: FAILED ones first, and within a
	// state those that do not wait for another trouble; sorted by key.
	Worst []*ValueStatus
}

// Sessions is for the plugin that holds the connection to a southbound.
type Sessions interface {
	// SouthboundUp reports that a southbound named in Descriptor.Southbound is connected.
	// With a new epoch it may have lost its state: the scheduler drops the metadata, reads
	// the actual state and converges it. Without a SouthboundDown before, that is no crash.
	SouthboundUp(name string, epoch uint64)
	// SouthboundDown reports that a southbound is disconnected, and why. Its values become
	// PENDING, and no callback of its descriptors runs.
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
	Value      proto.Message // actual value, otherwise the desired one
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
	// Undescribed reports that there is no such value, and no descriptor for the key.
	Undescribed bool `json:",omitempty"`
	// NotConfigured reports that there is no such value because no source configures it.
	NotConfigured bool `json:",omitempty"`
}

// Refusals returns why the northbound rejected a value of a key before it reached the
// scheduler, or "". asked reports whether the key has a value. It may be called concurrently.
type Refusals func(key string, asked bool) string

// RelationDependsOn and RelationDerives are the relations of GraphEdge.
const (
	RelationDependsOn = "depends-on"
	RelationDerives   = "derives"
)
