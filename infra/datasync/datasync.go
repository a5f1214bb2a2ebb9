// Package datasync is how plugins receive configuration: as changes and as
// resyncs, each with the values of the keys that were asked for, from whatever
// store the data come. Stores are adapted to it by kvdbsync.
package datasync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// KeyVal is a key with its value, not decoded yet.
type KeyVal interface {
	// GetKey returns the key without the prefix of the agent.
	GetKey() string
	// GetValue decodes the value into a message of the type that belongs to the
	// key.
	GetValue(into proto.Message) error
	// GetRevision grows with each change of the key; 0 if the store has none.
	GetRevision() int64
}

// Located is implemented by values that know where they were written.
type Located interface {
	Location() kv.Location
}

// Decoded is implemented by values that may be decoded already.
type Decoded interface {
	// Message returns the value, which must not be changed, or nil if it has to
	// be read with GetValue.
	Message() proto.Message
}

// Partial is implemented by events, of either kind, whose store knows whether
// it has told all of its content.
type Partial interface {
	// Incomplete names, for people, what of the content is not known as of this
	// event ("net.yaml"), so that there may be more values; empty: all is known.
	Incomplete() []string
}

// Answerable is implemented by events that can be answered without their values.
type Answerable interface {
	// Answer returns Done. Unlike the event it does not keep the values in memory, for
	// receivers that apply them for a while.
	Answer() func(err error)
}

// Op says what happened to a key.
type Op int

// The operations. The zero value is none.
const (
	InvalidOp Op = iota
	Put
	Delete
)

// ProtoWatchResp is one change.
type ProtoWatchResp interface {
	KeyVal
	// GetChangeType returns Put or Delete; a deleted key has no value.
	GetChangeType() Op
}

// ChangeEvent is a set of changes that were made at once.
type ChangeEvent interface {
	GetContext() context.Context
	// GetChanges returns the changes; there are none if only Partial changed.
	GetChanges() []ProtoWatchResp
	// Done must be called once, when the changes are applied; the error says
	// what could not be.
	Done(err error)
}

// ResyncEvent is the whole content of a store; what is not in it does not
// exist.
type ResyncEvent interface {
	GetContext() context.Context
	// GetValues returns the values by watched prefix; a prefix without values is
	// there too.
	GetValues() map[string]KeyValIterator
	// Done must be called once, when the values are applied; the error says what
	// could not be.
	Done(err error)
}

// KeyValIterator yields the values of one prefix.
type KeyValIterator = iter.Seq[KeyVal]

// KeyValProtoWatcher tells changes of keys.
type KeyValProtoWatcher interface {
	// Watch sends a ResyncEvent with the present content of the prefixes, and
	// then what changes, one event at a time: the next one follows after Done.
	// name is the name of the receiver, for logs. The watch lasts until the
	// registration, or what stands behind the watcher, is closed.
	Watch(name string, changes chan<- ChangeEvent, resyncs chan<- ResyncEvent, keyPrefixes ...string) (WatchRegistration, error)
}

// WatchRegistration is a watch.
type WatchRegistration interface {
	// Close ends the watch; nothing is sent after it has returned.
	Close() error
}

// The options of publishing are those of the stores.
type (
	// PutOption is an option of a Put.
	PutOption = kv.PutOption
	// DelOption is an option of a Delete.
	DelOption = kv.DelOption
)

// WithTTL removes the value when the time has passed, unless it is put again.
func WithTTL(ttl time.Duration) PutOption { return kv.WithTTL(ttl) }

// WithClientLifetimeTTL removes the value when this agent is gone.
func WithClientLifetimeTTL() PutOption { return kv.WithClientLifetimeTTL() }

// WithPrefix deletes all values whose keys begin with the key.
func WithPrefix() DelOption { return kv.WithPrefix() }

// KeyProtoValWriter publishes values.
type KeyProtoValWriter interface {
	// Put stores the value of a key; nil removes it.
	Put(key string, value proto.Message, opts ...PutOption) error
	// Delete removes the value of a key, or with WithPrefix all values whose
	// keys begin with it, and tells whether there was any.
	Delete(key string, opts ...DelOption) (existed bool, err error)
}

// KVProtoWriters writes to all of several stores.
type KVProtoWriters []KeyProtoValWriter

// Put stores the value in every store; the errors are joined.
func (ws KVProtoWriters) Put(key string, value proto.Message, opts ...PutOption) error {
	var errs []error
	for _, w := range ws {
		errs = append(errs, w.Put(key, value, opts...))
	}
	return errors.Join(errs...)
}

// Delete removes the values in every store; the errors are joined.
func (ws KVProtoWriters) Delete(key string, opts ...DelOption) (existed bool, err error) {
	var errs []error
	for _, w := range ws {
		existedThere, err := w.Delete(key, opts...)
		existed = existed || existedThere
		errs = append(errs, err)
	}
	return existed, errors.Join(errs...)
}

// KVProtoWatchers watches several stores. Their resyncs are not merged: whoever
// needs one picture of all of them, as the orchestrator does, watches each.
type KVProtoWatchers []KeyValProtoWatcher

// Watch watches every store; if one cannot be, none is.
func (ws KVProtoWatchers) Watch(name string, changes chan<- ChangeEvent, resyncs chan<- ResyncEvent, keyPrefixes ...string) (WatchRegistration, error) {
	var all registrations
	for _, w := range ws {
		r, err := w.Watch(name, changes, resyncs, keyPrefixes...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watch %v: %w", w, err), all.Close())
		}
		all = append(all, r)
	}
	return all, nil
}

type registrations []WatchRegistration

func (rs registrations) Close() error {
	var errs []error
	for _, r := range rs {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
