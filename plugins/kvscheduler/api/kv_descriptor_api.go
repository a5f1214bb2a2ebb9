// Package api is the interface of the KV Scheduler: to the authors of
// descriptors (Descriptor, Adapt, Dependency), to the northbound (KVScheduler,
// Txn and its options) and to everyone who looks at what happened
// (BaseValueStatus, RecordedTxn).
package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
)

// Metadata is additional run-time information about a value that its callbacks need,
// such as the index that VPP assigned to an interface. The descriptor chooses its type.
type Metadata = any

// IndexedMetadata is metadata with fields that /scheduler/graph-snapshot and
// /scheduler/key-timeline show beside those of its JSON: the indexes under the names
// that programs know.
type IndexedMetadata interface {
	IndexFields() map[string][]string
}

// KeySelector reports whether a key belongs to a set of keys. It must be pure.
type KeySelector func(key string) bool

// Selects calls the selector of an AnyOfDependency. Without a selector every key is
// selected. A selector that panics selects none, so its dependency is not met.
func (s KeySelector) Selects(key string) (takes bool) {
	if s == nil {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			takes = false
		}
	}()
	return s(key)
}

// MetadataMapFactory creates the map for the metadata of a descriptor. It is only
// necessary for a title other than the descriptor's name; secondary indexes do not
// require a factory (see idxmap.Index).
type MetadataMapFactory func() *idxmap.Store

// KVDescriptor is a descriptor of values whose type is unknown at compile time, as
// the scheduler uses it. Write a Descriptor of your own message type and convert it
// with Adapt.
type KVDescriptor = Descriptor[proto.Message, Metadata]

// KVWithMetadata is KV for any type of values.
type KVWithMetadata = KV[proto.Message, Metadata]

// Descriptor teaches the scheduler to handle the values of one kind: which
// keys they have, what they depend on, and how to create, change, delete and
// read them. It is stateless: state belongs into the southbound, the value, or
// the metadata.
//
// KeySelector, KeyLabel, ValueComparator, Validate, UpdateWithRecreate,
// DerivedValues, Dependencies and IsRetriableFailure must be pure functions of
// their arguments; the scheduler may call them at any time and more than once.
// Create, Update, Delete and Retrieve access the southbound. They may block, must
// report their real outcome, and are never called concurrently for the same key.
// A callback must not modify its arguments.
//
// CreateContext, UpdateContext, DeleteContext, RetrieveContext and
// RetrieveValueContext replace the callbacks with the shorter names; a descriptor must
// not set both. Their context is canceled when the callback times out (see Timeout),
// when the session of the Southbound ends, and 2 seconds after the scheduler starts to
// stop. context.Cause then is, in the sense of errors.Is, ErrCallbackTimeout,
// ErrSessionEnded or ErrClosedScheduler. A callback should then return an error; the
// scheduler reads back its effect. The context has no deadline, and is valid until the
// callback returns.
//
// CreateBatch, UpdateBatch and DeleteBatch replace Create, Update and Delete likewise, each
// on its own. They are for a southbound that handles several requests together faster than
// one by one. A batch has the values that are ready at that moment, at most MaxBatch; the
// scheduler never delays an operation to fill a batch. Each value has its own result, retry
// and status, as without batches.
type Descriptor[V proto.Message, M any] struct {
	// Name is unique among all descriptors; it is used in logs, in the REST API
	// and in RetrieveDependencies. Mandatory.
	Name string

	// NBKeyPrefix is the prefix of the keys that the northbound sends for this
	// descriptor. Empty for values that are only derived or only come from the
	// southbound.
	NBKeyPrefix string

	// ValueTypeName is the full name of the message type, for documentation.
	ValueTypeName string

	// KeySelector selects the keys of the descriptor. Mandatory. Two descriptors must
	// not select the same key.
	KeySelector KeySelector

	// KeyLabel shortens a key to an identifier that is unique among the values
	// of this descriptor; it is the label in the metadata map and the graph.
	// Default: the key itself.
	KeyLabel func(key string) string

	// WithMetadata reports whether Create, Update and Retrieve return metadata.
	WithMetadata bool

	// MetadataMapFactory creates the metadata map. Default: a map of M named after
	// the descriptor.
	MetadataMapFactory MetadataMapFactory

	// ValueComparator reports whether two values are equivalent, so that a change from
	// one to the other requires no operation. Default: proto.Equal.
	ValueComparator func(key string, oldValue, newValue V) bool

	// Validate checks a value from the northbound. A value with an error becomes
	// INVALID and is not applied; name the fields with NewInvalidValueError.
	// Default: everything is valid.
	Validate func(key string, value V) error

	// Create creates the value in the southbound. Without Create (and Delete)
	// the values are properties: they exist as soon as their dependencies are
	// met, and are targets for the dependencies of others.
	Create func(key string, value V) (metadata M, err error)

	// CreateContext is Create with a context.
	CreateContext func(ctx context.Context, key string, value V) (metadata M, err error)

	// Update changes the value in place. Without it every change deletes and
	// creates the value again. It returns the new metadata.
	Update func(key string, oldValue, newValue V, oldMetadata M) (newMetadata M, err error)

	// UpdateContext is Update with a context.
	UpdateContext func(ctx context.Context, key string, oldValue, newValue V, oldMetadata M) (newMetadata M, err error)

	// Delete removes the value. Mandatory if Create is set. It must succeed if the
	// southbound does not have the value.
	Delete func(key string, value V, metadata M) error

	// DeleteContext is Delete with a context.
	DeleteContext func(ctx context.Context, key string, value V, metadata M) error

	// CreateBatch, UpdateBatch and DeleteBatch are Create, Update and Delete of several
	// values at once. They return one result per value. If a callback returns too few
	// results or panics, each value without a result fails and is read back. Timeout limits
	// the whole batch. They require a Concurrency of 2 or more, in which each value counts.
	CreateBatch, UpdateBatch, DeleteBatch BatchFunc[V, M]

	// UpdateWithRecreate reports whether a change cannot be made in place. Default:
	// false if Update is set.
	UpdateWithRecreate func(key string, oldValue, newValue V, metadata M) bool

	// Retrieve reads all values that exist in the southbound. An error means that the
	// state is unknown, never that it is empty. Origin FromNB reports that the value has
	// the mark of the agent. The mark alone does not cause a removal: the scheduler
	// removes values that it created in this process or has on record in its state-dir,
	// and lists other marked values that are not desired as orphans. Default: the state
	// cannot be read, and the scheduler assumes the effects of its last operations.
	//
	// correlate helps to recognise names, references and attributes that the southbound
	// does not return, and objects without a mark of the agent. When all values are
	// read, it has every value that may exist: desired values, values that were created
	// and not removed, and the values of operations with an unknown outcome, desired or
	// not. The outcome of an operation is unknown if its callback timed out, if it failed
	// and could not be read back, or if the session or the process ended during it. It
	// stays unknown until the callback has returned and a later Retrieve succeeded; with
	// a state-dir also across restarts. Return the values that you find with Origin
	// FromNB: the scheduler keeps those that are desired and removes the others.
	//
	// A key occurs more than once if different values of it may exist: first the value
	// of an operation with an unknown outcome, then the created one, last the desired
	// one. Return each key once. When only some values are read again, because a single
	// operation failed, correlate has those and all values with an unknown outcome.
	Retrieve func(correlate []KV[V, M]) ([]KV[V, M], error)

	// RetrieveContext is Retrieve with a context.
	RetrieveContext func(ctx context.Context, correlate []KV[V, M]) ([]KV[V, M], error)

	// IsRetriableFailure reports whether to retry an operation that failed with err.
	// Default: true except for Permanent errors.
	IsRetriableFailure func(err error) bool

	// DerivedValues returns the parts of the value that have their own descriptors,
	// dependencies and operations. A derived value exists only while its base exists.
	// A derived value cannot have derived values.
	DerivedValues func(key string, value V) []KeyValuePair

	// Without returns a value without some of its derived values, given by their keys,
	// as Retrieve returns it while those are pending. If ValueComparator compares these
	// parts, a descriptor without this function updates such a value with every resync,
	// and reports it as drifted. It must not modify its argument. Optional.
	Without func(key string, value V, derived []string) V

	// Dependencies lists what must exist before the value can be created; all
	// of them must be met. Labels must be unique within the list.
	Dependencies func(key string, value V) []Dependency

	// RetrieveDependencies names the descriptors that must be retrieved before
	// this one, because Retrieve uses their metadata.
	RetrieveDependencies []string

	// ConcurrentRetrieve allows Retrieve to run concurrently with Create, Update and
	// Delete of this and of other descriptors, and with itself. Drift detection then
	// reads without delaying transactions. It requires metadata maps and a connection
	// that are safe for concurrent use. Default: a transaction waits until Retrieve
	// returns.
	ConcurrentRetrieve bool

	// RetrieveValue reads one value, for descriptors with an expensive Retrieve. last
	// is the last known actual value, or the desired one if none is known; exists reports
	// whether a value was found. Optional.
	RetrieveValue func(key string, last V, metadata M) (value V, newMetadata M, exists bool, err error)

	// RetrieveValueContext is RetrieveValue with a context.
	RetrieveValueContext func(ctx context.Context, key string, last V, metadata M) (value V, newMetadata M, exists bool, err error)

	// Absent explains to users why the southbound does not have the value of a key; ""
	// adds no explanation. It is for descriptors whose values only come from the
	// southbound. It must not block or call the scheduler, and may be called
	// concurrently. Optional.
	Absent func(key string) string

	// Concurrency is how many operations of this descriptor may run at once, each for
	// another key, in callbacks of their own or in batches; 0 and 1 mean one at a time.
	// With 1 and more they also run concurrently with callbacks of other descriptors. The callbacks of all descriptors
	// with 0 run one after the other, in the order of the plan.
	Concurrency int

	// Timeout limits Create, Update, Delete and the Retrieve callbacks; 0 means the
	// configured callback-timeout, a negative value disables it. A callback that takes
	// longer fails, and its outcome is unknown until it returns. Until then no other
	// operation touches its key. Operations on other keys continue, so such a callback
	// may run concurrently with later ones despite Concurrency, and a Retrieve with any
	// callback. While 4 operations hang (or Concurrency, if that is more), no further one
	// starts. The pure functions have no time limit.
	Timeout time.Duration

	// Southbound names the southbound of the values ("vpp"). While that is
	// disconnected, no callback runs and the values are PENDING. Empty: the southbound
	// is always available.
	Southbound string

	// newMap creates a metadata map of the M of the typed descriptor; set by Adapt.
	newMap func(title string) *idxmap.Store

	// keyOf returns the key of a value; set by Describe, nil without a model.
	keyOf func(value V) (string, bool)
}

// KV is a value with its key, metadata and origin.
type KV[V proto.Message, M any] struct {
	Key      string
	Value    V
	Metadata M
	Origin   ValueOrigin
	// Unconfirmed reports, in the correlate argument of Retrieve, that an operation on
	// Value started and its outcome is unknown. A descriptor that marks objects in a
	// second step can so recognise an object without a mark. A desired value without
	// such an operation is not unconfirmed.
	Unconfirmed bool
	// DerivedUnconfirmed reports, in the correlate argument of Retrieve, that an operation
	// on a value derived from Value has an unknown outcome, and that the result of
	// Retrieve decides which of the derived values exist. A descriptor removes what such
	// an operation may have left and its result does not show. It is false if other
	// derived values remain as they are on record.
	DerivedUnconfirmed bool
}

// KeyValuePair is a key with its value.
type KeyValuePair struct {
	Key   string
	Value proto.Message
}

// ValueOrigin is the creator of a value, as reported by its southbound.
type ValueOrigin int

// The origins. FromNB: the value has the mark of an agent with this configuration.
// FromSB: the southbound itself created it. UnknownOrigin: the descriptor does not know,
// and the scheduler decides by its own records. Recorded: the southbound itself is such a
// record, because no other process can create values in it; values that are not desired
// are removed.
const (
	UnknownOrigin ValueOrigin = iota
	FromNB
	FromSB
	Recorded
)

// Marked reports whether the value has the mark of an agent.
func (o ValueOrigin) Marked() bool { return o == FromNB || o == Recorded }

// String returns "unknown", "from-NB", "from-SB" or "recorded".
func (o ValueOrigin) String() string {
	switch o {
	case FromNB:
		return "from-NB"
	case FromSB:
		return "from-SB"
	case Recorded:
		return "recorded"
	default:
		return "unknown"
	}
}
