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

// Metadata is additional run-time information of a value, of a type chosen by
// the descriptor: whatever its callbacks need and the value itself does not
// tell (the index that VPP gave to an interface, say).
type Metadata = any

// KeySelector reports whether a key belongs to a set of keys. It must be pure.
type KeySelector func(key string) bool

// Selects asks the selector of an AnyOfDependency. No selector takes every key; one
// that panics takes none, so that its dependency is not met.
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

// MetadataMapFactory makes the map for the metadata of a descriptor. It is
// only needed for a title other than the descriptor's name; secondary indexes
// need no factory (see idxmap.Index).
type MetadataMapFactory func() *idxmap.Store

// KVDescriptor is a descriptor of values whose type is not known at compile
// time; it is what the scheduler works with. Write a Descriptor of your own
// message type and convert it with Adapt.
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
// Create, Update, Delete and Retrieve do the work; they may block, must return
// what really happened, and are never called concurrently for the same key.
// A callback must not change the messages it is given.
//
// CreateContext, UpdateContext, DeleteContext, RetrieveContext and
// RetrieveValueContext take the place of the callbacks with the shorter names; a
// descriptor must not give both. Their context is canceled when the scheduler gives
// the callback up (see Timeout), when the session of the Southbound ends, and 2 seconds
// after the scheduler begins to stop. context.Cause then is, in the sense of
// errors.Is, ErrCallbackTimeout, ErrSessionEnded or ErrClosedScheduler. A callback
// should end what it waits for and return an error; what it did by then is read back.
// The context has no deadline, and is valid until the callback returns.
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

	// KeySelector tells which keys are described. Mandatory. Two descriptors
	// must not select the same key.
	KeySelector KeySelector

	// KeyLabel shortens a key to an identifier that is unique among the values
	// of this descriptor; it is the label in the metadata map and the graph.
	// Default: the key itself.
	KeyLabel func(key string) string

	// WithMetadata reports whether Create, Update and Retrieve return metadata.
	WithMetadata bool

	// MetadataMapFactory makes the metadata map. Default: a map of M named
	// after the descriptor.
	MetadataMapFactory MetadataMapFactory

	// ValueComparator reports whether two values are equivalent, so that going
	// from one to the other needs no operation. Default: proto.Equal.
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

	// Delete removes the value. Mandatory beside Create. If the value is already
	// gone from the southbound that is a success.
	Delete func(key string, value V, metadata M) error

	// DeleteContext is Delete with a context.
	DeleteContext func(ctx context.Context, key string, value V, metadata M) error

	// UpdateWithRecreate reports whether this change cannot be made in place.
	// Default: false if Update is given.
	UpdateWithRecreate func(key string, oldValue, newValue V, metadata M) bool

	// Retrieve reads all values that exist in the southbound. An error means
	// "state unknown", never "nothing there". Origin FromNB says that the value has the
	// mark of the agent. That alone does not get it removed: the scheduler removes
	// what it made in this process, or has on record in its state-dir, and lists other
	// marked values that are not desired as orphans. Default: the state cannot be
	// read and is assumed to be what the scheduler did last.
	//
	// correlate serves to recognise names, references and attributes that the
	// southbound does not return, and objects without a mark of the agent. When
	// everything is read it has every value that may exist: what is desired, what
	// was created and not removed, and what an operation of unknown outcome was to
	// create, change or remove, desired or not. The outcome of an operation is
	// unknown if its callback timed out, if it failed and could not be read back,
	// and if the session or the process ended meanwhile. It stays unknown until
	// the callback has returned and a Retrieve after that succeeded; with a
	// state-dir also across restarts. Return what was found as the value (Origin
	// FromNB): the scheduler adopts it if it is desired, and removes it if not.
	//
	// A key occurs more than once if different values of it may exist: first what
	// an operation of unknown outcome was about, then what was created, last what
	// is desired. Return each key once. When only some values are read again (a
	// single operation failed) correlate has those, and all of unknown outcome.
	Retrieve func(correlate []KV[V, M]) ([]KV[V, M], error)

	// RetrieveContext is Retrieve with a context.
	RetrieveContext func(ctx context.Context, correlate []KV[V, M]) ([]KV[V, M], error)

	// IsRetriableFailure reports whether repeating an operation that failed with
	// err may help. Default: every error except Permanent ones.
	IsRetriableFailure func(err error) bool

	// DerivedValues breaks the value into pieces that are handled on their own,
	// by descriptors of their own and with dependencies of their own. A derived
	// value exists only while its base exists. Only values that are not derived
	// themselves can have derived values.
	DerivedValues func(key string, value V) []KeyValuePair

	// Without returns a value without some of its derived values, named by their keys,
	// as Retrieve returns it while those wait for something. Without it such a value
	// takes an update with every resync, and counts as drifted, if ValueComparator
	// minds what is missing. It must not change the value that it is handed. Optional.
	Without func(key string, value V, derived []string) V

	// Dependencies lists what must exist before the value can be created; all
	// of them must be met. Labels must be unique within the list.
	Dependencies func(key string, value V) []Dependency

	// RetrieveDependencies names the descriptors that must be retrieved before
	// this one, because Retrieve uses their metadata.
	RetrieveDependencies []string

	// ConcurrentRetrieve allows Retrieve to run beside Create, Update and Delete of this
	// and of other descriptors, and beside itself. Drift detection uses that to read
	// without delaying transactions. It needs metadata maps and a connection that are
	// safe for concurrent use. Default: a transaction waits until Retrieve returns.
	ConcurrentRetrieve bool

	// RetrieveValue reads one value, where Retrieve of everything is dear. last
	// is what the scheduler believes to exist; exists reports whether anything
	// was found. Optional.
	RetrieveValue func(key string, last V, metadata M) (value V, newMetadata M, exists bool, err error)

	// RetrieveValueContext is RetrieveValue with a context.
	RetrieveValueContext func(ctx context.Context, key string, last V, metadata M) (value V, newMetadata M, exists bool, err error)

	// Absent explains, to people, why the southbound does not have the value that a
	// key names; "" adds nothing. It is for descriptors whose values only come from
	// the southbound. It must not block, nor call the scheduler, and may be called
	// at any time. Optional.
	Absent func(key string) string

	// Concurrency is how many callbacks of this descriptor may run at once, each
	// for another key; 0 and 1 mean one at a time. With 1 and more they also run
	// beside callbacks of other descriptors; those of all descriptors with 0 run
	// one after the other, in the order of the plan.
	Concurrency int

	// Timeout is how long Create, Update, Delete and the Retrieve callbacks are
	// waited for; 0 is what the scheduler is configured with (callback-timeout),
	// less than 0 is without end. A callback that takes longer fails, and its
	// outcome is unknown until it returns. Until then the key is not touched
	// again; values of other keys continue, so such a callback may run beside later
	// ones in spite of Concurrency, and a Retrieve beside everything. After 4 of
	// them (or Concurrency, if that is more) no further one is begun until one
	// returns. The pure functions have no time limit.
	Timeout time.Duration

	// Southbound names the session that the values live in ("vpp"). While that
	// session is down no callback runs and the values are PENDING. Empty: the
	// southbound is always there.
	Southbound string

	// newMap makes a metadata map of the M of the typed descriptor; set by Adapt.
	newMap func(title string) *idxmap.Store

	// keyOf tells the key of a value; set by Describe, nil without a model.
	keyOf func(value V) (string, bool)
}

// KV is a value with its key, metadata and origin.
type KV[V proto.Message, M any] struct {
	Key      string
	Value    V
	Metadata M
	Origin   ValueOrigin
	// Unconfirmed is set in what Retrieve gets: an operation on Value was begun and its
	// outcome is unknown. A descriptor that marks objects in a second step recognises
	// by it the object that has no mark yet. A value that is only desired, which
	// nothing was begun for, is not unconfirmed.
	Unconfirmed bool
}

// KeyValuePair is a key with its value.
type KeyValuePair struct {
	Key   string
	Value proto.Message
}

// ValueOrigin says who created a value, as far as its southbound tells.
type ValueOrigin int

// The origins. FromNB: marked as made by an agent with this configuration, FromSB: made
// by the southbound itself. A descriptor that cannot tell returns UnknownOrigin from
// Retrieve. The scheduler decides from its own records. Recorded: the southbound itself
// is such a record, because no other process can make values in it; what is not desired
// is removed.
const (
	UnknownOrigin ValueOrigin = iota
	FromNB
	FromSB
	Recorded
)

// Marked reports whether the southbound says that an agent made the value.
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
