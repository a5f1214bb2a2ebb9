// Package api is the interface of the KV Scheduler: to the authors of
// descriptors (Descriptor, Adapt, Dependency), to the northbound (KVScheduler,
// Txn and its options) and to everyone who looks at what happened
// (BaseValueStatus, RecordedTxn).
package api

import (
	"cmp"
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
)

// Metadata is the data that the callbacks of a value need in addition to the value, such as the
// index that VPP assigned to an interface. The descriptor chooses its type.
type Metadata = any

// IndexedMetadata is metadata with indexes that /scheduler/graph-snapshot and
// /scheduler/key-timeline show beside the fields of its JSON.
type IndexedMetadata interface {
	IndexFields() map[string][]string
}

// KeySelector reports whether a key belongs to a set of keys. It must be pure.
type KeySelector func(key string) bool

// Selects calls the selector of an AnyOfDependency; nil selects every key. A selector that
// panics selects none, so its dependency is not met.
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

// MetadataMapFactory creates the map for the metadata of a descriptor, with a title other
// than the descriptor's name; secondary indexes do not require it (see idxmap.Index).
type MetadataMapFactory func() *idxmap.Store

// KVDescriptor is a descriptor as the scheduler uses it. Write a Descriptor of your own
// message type and convert it with Adapt.
type KVDescriptor = Descriptor[proto.Message, Metadata]

// KVWithMetadata is KV for any type of values.
type KVWithMetadata = KV[proto.Message, Metadata]

// Descriptor teaches the scheduler to handle the values of one kind: which keys they have,
// what they depend on, and how to create, change, delete and read them. It is stateless:
// state belongs into the southbound, the value, or the metadata.
//
// Create, Update, Delete and Retrieve, in all forms, access the southbound. They may block,
// must report their real outcome, and are never called concurrently for the same key. The
// other functions must be pure; the scheduler may call them at any time. No callback may
// modify its arguments.
//
// The forms with Context replace those without; a descriptor must not set both. The context
// is canceled when the callback times out, when the session of the Southbound ends, and 2
// seconds after the scheduler starts to stop. errors.Is finds ErrCallbackTimeout,
// ErrSessionEnded or ErrClosedScheduler in its cause. The callback should then return an
// error; the scheduler reads back its effect. The context has no deadline.
//
// The forms with Batch are for a southbound that handles several requests together faster
// than one by one. A batch has the values that are ready at that moment, at most MaxBatch;
// no operation is delayed to fill one. Each value has its own result, retry and status.
type Descriptor[V proto.Message, M any] struct {
	// Name is unique among all descriptors. Mandatory.
	Name string

	// NBKeyPrefix is the prefix of the keys that the northbound sends; empty if the values
	// are only derived or only come from the southbound.
	NBKeyPrefix string

	// ValueTypeName is the full name of the message type, for documentation.
	ValueTypeName string

	// KeySelector selects the keys of the descriptor, which no other descriptor may select.
	// Mandatory.
	KeySelector KeySelector

	// KeyLabel returns the label of a key in the metadata map and the graph, which is unique
	// among the values of this descriptor. Default: the key itself.
	KeyLabel func(key string) string

	// WithMetadata reports whether Create, Update and Retrieve return metadata.
	WithMetadata bool

	// Unrecorded reports that the values exist only to order the operations of other values.
	// Plans, the log and the history do not show their operations, and summaries do not count
	// them.
	Unrecorded bool
	// SessionOnly reports whether Retrieve returns only values that were created in the current
	// session, because the southbound does not list them. The scheduler then assumes that values
	// of an earlier run of the agent exist if they are no longer desired, and deletes them: Delete of a
	// value that does not exist has to succeed. It is called after Retrieve. Default: Retrieve
	// returns all values.
	SessionOnly func() bool

	// KeepsShared reports that Delete leaves the object in the southbound while other processes
	// have something in it; see Left. Default: what they have in it is deleted with the object, as
	// plans say.
	KeepsShared bool

	// ForeignParts reports that other processes can have parts in the objects, which Retrieve
	// returns (see ForeignKey). A plan that deletes an object reads them. Default: plans name the
	// parts that the last resync found.
	ForeignParts bool

	// MetadataMapFactory creates the metadata map. Default: a map of M.
	MetadataMapFactory MetadataMapFactory

	// ValueComparator reports whether a change from one value to the other requires no
	// operation. Default: proto.Equal.
	ValueComparator func(key string, oldValue, newValue V) bool

	// Validate checks a value from the northbound. A value with an error is INVALID and not
	// applied; name the fields with NewInvalidValueError. Annotations of fields (ligato_options)
	// have been checked, see Adapt. Default: everything else is valid.
	Validate func(key string, value V) error
	// Partial: values may lack fields that the schema declares required (ligato.required), as for stand-ins
	// of a southbound in tests.
	Partial bool

	// Create creates the value in the southbound. Without Create and Delete the values are
	// properties: they exist as soon as their dependencies are met, and others can depend
	// on them.
	Create func(key string, value V) (metadata M, err error)

	// CreateContext is Create with a context.
	CreateContext func(ctx context.Context, key string, value V) (metadata M, err error)

	// Update changes the value in place. Default: every change is a re-creation.
	Update func(key string, oldValue, newValue V, oldMetadata M) (newMetadata M, err error)

	// UpdateContext is Update with a context.
	UpdateContext func(ctx context.Context, key string, oldValue, newValue V, oldMetadata M) (newMetadata M, err error)

	// Delete removes the value, and succeeds if the southbound does not have it. Mandatory if
	// Create is set.
	Delete func(key string, value V, metadata M) error

	// DeleteContext is Delete with a context.
	DeleteContext func(ctx context.Context, key string, value V, metadata M) error

	// CreateBatch, UpdateBatch and DeleteBatch are Create, Update and Delete of several
	// values, with one result per value. A value without a result fails and is read back.
	// Timeout limits the whole batch. They require a Concurrency of 2 or more, in which each
	// value counts.
	CreateBatch, UpdateBatch, DeleteBatch BatchFunc[V, M]

	// UpdateWithRecreate reports whether a change cannot be made in place. Default:
	// false if Update is set. Without Update it is not called.
	UpdateWithRecreate func(key string, oldValue, newValue V, metadata M) bool

	// Retrieve reads all values that exist in the southbound, each key once. An error means
	// that the state is unknown, never that it is empty. Origin FromNB reports that the value
	// has the mark of the agent. Of the marked values that are not desired, the scheduler
	// removes those that it created in this process or has on record in its state-dir, and
	// lists the others as orphans. Default: the state cannot be read, and the scheduler
	// assumes the effects of its last operations. After a restart it creates the values again;
	// it first deletes values on record that are no longer desired, or desired with another
	// value: Delete of a value that does not exist has to succeed.
	//
	// correlate helps to recognise properties that the southbound does not return, and objects
	// without a mark. When all values are read, it has every value that may exist: desired
	// values, values that were created and not removed, and the values of operations with an
	// unknown outcome: the callback timed out, its effect could not be read back, or the session
	// or the process ended during it. The outcome stays unknown until the callback has returned
	// and a later Retrieve succeeded; with a state-dir also across restarts. Return the values
	// among them that exist, with Origin FromNB. Origin Recorded in correlate means that an
	// earlier session or run of the agent created the value. A key occurs more than once if
	// different values of it may exist: first the value of an operation with an unknown outcome,
	// then the created one, last the desired one. When values are read again because an
	// operation failed, correlate has only those and the values with an unknown outcome.
	Retrieve func(correlate []KV[V, M]) ([]KV[V, M], error)

	// RetrieveContext is Retrieve with a context.
	RetrieveContext func(ctx context.Context, correlate []KV[V, M]) ([]KV[V, M], error)

	// IsRetriableFailure reports whether to retry an operation that failed with err.
	// Default: true except for Permanent errors.
	IsRetriableFailure func(err error) bool

	// DerivedValues returns the parts of the value that have their own descriptors,
	// dependencies and operations, but no derived values. They exist only while the value
	// exists.
	DerivedValues func(key string, value V) []KeyValuePair

	// Without returns a value as Retrieve returns it while some of its derived values, given
	// by their keys, are pending. If ValueComparator compares these parts, a descriptor
	// without this function updates such a value with every resync, and reports it as
	// drifted. Optional.
	Without func(key string, value V, derived []string) V

	// Dependencies lists the conditions for creating the value, with unique labels.
	Dependencies func(key string, value V) []Dependency

	// Identities lists what the value alone can be in its Southbound, whatever its key: the
	// ends and the VNI of a tunnel, the name of a host interface. The southbound refuses a
	// second object with one of them. The scheduler therefore removes or changes the value
	// that has an identity before it creates or changes the one that gets it. Identities are
	// compared among all descriptors of the Southbound, so begin each with its kind
	// ("vxlan/..."). Default: none.
	Identities func(key string, value V) []string

	// Vacate returns the value with temporary identities, unique for its key, such as another
	// host name. Update must be able to change the value to it and from it. The scheduler
	// makes the detour for values that exchange their identities. Default: one of them is
	// created again.
	Vacate func(key string, value V) V

	// RetrieveDependencies names the descriptors whose metadata Retrieve uses.
	RetrieveDependencies []string

	// ConcurrentRetrieve allows Retrieve to run concurrently with all callbacks, so that
	// drift detection does not delay transactions. It requires metadata maps and a
	// connection that are safe for concurrent use.
	ConcurrentRetrieve bool

	// RetrieveValue reads one value, for descriptors with an expensive Retrieve. last is the
	// last known actual value, or the desired one if none is known. Optional.
	RetrieveValue func(key string, last V, metadata M) (value V, newMetadata M, exists bool, err error)

	// RetrieveValueContext is RetrieveValue with a context.
	RetrieveValueContext func(ctx context.Context, key string, last V, metadata M) (value V, newMetadata M, exists bool, err error)

	// Absent explains to users why the southbound does not have a value that only comes from
	// it; "" adds no explanation. It must not block or call the scheduler, and may be called
	// concurrently. Optional.
	Absent func(key string) string

	// Concurrency is how many operations of this descriptor may run at once, each for another
	// key. With 1 and more they also run concurrently with operations of other descriptors.
	// The callbacks of all descriptors with 0 run one after the other, in the order of the
	// plan.
	Concurrency int

	// Timeout limits the callbacks that access the southbound; 0 means the configured
	// callback-timeout, a negative value disables it. A callback that takes longer fails, and
	// its outcome is unknown until it returns; until then no other operation touches its key.
	// Operations on other keys continue, so it may run concurrently with later callbacks
	// despite Concurrency. While 4 operations hang (or Concurrency, if that is more), no
	// further one starts.
	Timeout time.Duration

	// Southbound names the southbound of the values ("vpp"). While that is disconnected, no
	// callback runs and the values are PENDING. Empty: it is always available.
	Southbound string

	// newMap creates a metadata map of the M of the typed descriptor; set by Adapt.
	newMap func(title string) *idxmap.Store

	// keyOf returns the key of a value; set by Describe, nil without a model.
	keyOf func(value V) (string, bool)

	// canonicalKey is models.Model.CanonicalKey; set by Describe, nil for a model whose names have no
	// addresses.
	canonicalKey func(value V) string
}

// KV is a value with its key, metadata and origin.
type KV[V proto.Message, M any] struct {
	Key      string
	Value    V
	Metadata M
	Origin   ValueOrigin
	// Unconfirmed reports, in the correlate argument of Retrieve, that an operation on Value
	// started and its outcome is unknown. A descriptor that marks objects in a second step
	// can so recognise an object without a mark.
	Unconfirmed bool
	// DerivedUnconfirmed reports, in the correlate argument of Retrieve, that an operation
	// on a value derived from Value has an unknown outcome. The result of Retrieve decides
	// which of the derived values exist; a descriptor removes what such an operation may have
	// left and its result does not show.
	DerivedUnconfirmed bool
}

// KeyValuePair is a key with its value.
type KeyValuePair struct {
	Key   string
	Value proto.Message
}

// ValueOrigin is the creator of a value, as reported by its southbound.
type ValueOrigin int

// The origins. FromNB: the value has the mark of an agent with this configuration. FromSB:
// the southbound itself created it. UnknownOrigin: the scheduler decides by its own records.
// Recorded: no other process can create values in the southbound, so values that are not
// desired are removed.
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
	return names{"unknown", "from-NB", "from-SB", "recorded"}.name(int(o))
}

// Dependency is one condition for the existence of a value: that a value with the Key exists
// or, if Key is empty, that any value selected by AnyOf does.
type Dependency struct {
	// Label is shown in the status of a pending value ("interface-exists").
	Label string
	Key   string
	AnyOf AnyOfDependency
	// Accepts returns an error if the value with the Key does not fit: the dependent is INVALID
	// then, with the error, and none of its callbacks is called. It is pure, and must depend
	// only on fields whose change recreates the value with the Key. nil: any value fits. It has
	// no effect without a Key.
	Accepts func(provider proto.Message) error
	// Creation restricts the dependency to the creation of the value: a provider that the agent
	// does not see is no reason to remove an existing value, because it may exist where the agent
	// cannot look. A provider that was seen and disappears is a reason. When a provider appears,
	// an existing value is recreated, since it belongs to an earlier provider. The dependency
	// needs a Key.
	Creation bool
	// Recreates reports whether the update of the value with the Key from oldProvider to newProvider
	// recreates the dependent: it was created with a property that the update changes. It is
	// pure. nil: no update does. It needs a Key.
	Recreates func(oldProvider, newProvider proto.Message) bool
}

// Name returns the key of the dependency. For any of several values it is the label, if that is
// in words, or the prefixes of their keys ("tap/* or veth/*").
func (d *Dependency) Name() string {
	switch {
	case d.Key != "":
		return d.Key
	case strings.Contains(d.Label, " ") || len(d.AnyOf.KeyPrefixes) == 0:
		return cmp.Or(d.Label, "any of several values")
	}
	return strings.Join(d.AnyOf.KeyPrefixes, "* or ") + "*"
}

// String returns the name, and the label after it ("tap/1 (tap-exists)").
func (d *Dependency) String() string {
	name := d.Name()
	if d.Label == "" || d.Label == name {
		return name
	}
	return name + " (" + d.Label + ")"
}

// DependsOn returns the dependency on the value with the given key, which is its label.
func DependsOn(key string) Dependency { return Dependency{Label: key, Key: key} }

// DependsOnAny returns the dependency on any value whose key has one of the prefixes, at
// least one. Its label lists them ("tap/* or veth/*"). The slice must not be changed.
func DependsOnAny(prefixes ...string) Dependency {
	return Dependency{Label: strings.Join(prefixes, "* or ") + "*", AnyOf: AnyOfDependency{KeyPrefixes: prefixes}}
}

// AnyOfDependency is met by every key that has one of the prefixes, or any without prefixes,
// and is selected by KeySelector. At least one of the two must be given.
type AnyOfDependency struct {
	KeyPrefixes []string
	// KeySelector is pure. Values that share one function (the same variable, or a function
	// with a name) cost what prefixes alone cost. A function made for each value (a closure
	// or a method value) is tried on each key that comes or goes: take a prefix with few
	// keys for those.
	KeySelector KeySelector
}
