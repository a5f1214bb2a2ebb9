// Package datasync defines how plugins receive configuration: as changes and
// as resyncs, each with the values below the watched prefixes, regardless of
// the store. kvdbsync adapts stores to it.
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

// KeyVal is a key with its value, which is decoded on demand.
type KeyVal interface {
	// GetKey returns the key without the prefix of the agent.
	GetKey() string
	// GetValue decodes the value into a message of the key's type.
	GetValue(into proto.Message) error
	// GetRevision grows with each change of the key; 0 if the store has no
	// revisions.
	GetRevision() int64
}

// Located is implemented by values with a known origin.
type Located interface {
	Location() kv.Location
}

// Disputable is implemented by values of stores that may have several values for a key.
type Disputable interface {
	// Disputed reports that this value is one of several: a receiver that already
	// has a value for the key keeps it.
	Disputed() bool
}

// Decoded is implemented by values that may be decoded already.
type Decoded interface {
	// Message returns the value, which must not be changed, or nil if it must
	// be read with GetValue.
	Message() proto.Message
}

// Partial is implemented by events whose store knows whether it could read all
// of its content.
type Partial interface {
	// Incomplete names the parts of the content that could not be read as of
	// this event ("net.yaml"). They may contain more values. It is empty if all
	// content is known.
	Incomplete() []string
}

// Evident is implemented by events whose store says what it knows about itself.
type Evident interface {
	Evidence() kv.Evidence
}

// Inferred is implemented by changes that may be the result of a comparison. The store saw
// no event for them.
type Inferred interface {
	Inferred() bool
}

// Answerable is implemented by events whose Done can be separated from their values.
type Answerable interface {
	// Answer returns Done. Unlike the event it does not keep the values in memory, for
	// receivers that apply them for a while.
	Answer() func(err error)
}

// Op is the kind of a change.
type Op int

// The operations. The zero value is not an operation.
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

// ChangeEvent is a set of changes that were made together.
type ChangeEvent interface {
	GetContext() context.Context
	// GetChanges returns the changes. It is empty if only Partial changed.
	GetChanges() []ProtoWatchResp
	// Done must be called exactly once, when the changes are applied. The error
	// reports the changes that failed.
	Done(err error)
}

// ResyncEvent is the complete content of a store. Keys that are not in it do
// not exist.
type ResyncEvent interface {
	GetContext() context.Context
	// GetValues returns the values by watched prefix, including prefixes without
	// values.
	GetValues() map[string]KeyValIterator
	// Done must be called exactly once, when the values are applied. The error
	// reports the values that failed.
	Done(err error)
}

// KeyValIterator yields the values of one prefix.
type KeyValIterator = iter.Seq[KeyVal]

// KeyValProtoWatcher watches changes of keys.
type KeyValProtoWatcher interface {
	// Watch sends a ResyncEvent with the present content of the prefixes, and
	// then the changes, one event at a time: it waits for Done before it sends
	// the next one. name is the name of the receiver, for logs. The watch lasts
	// until the registration or the watcher is closed.
	Watch(name string, changes chan<- ChangeEvent, resyncs chan<- ResyncEvent, keyPrefixes ...string) (WatchRegistration, error)
}

// WatchRegistration is a watch.
type WatchRegistration interface {
	// Close ends the watch. Nothing is sent after it has returned.
	Close() error
}

// The options of publishing are the options of package kv.
type (
	// PutOption is an option of a Put.
	PutOption = kv.PutOption
	// DelOption is an option of a Delete.
	DelOption = kv.DelOption
)

// WithTTL makes a published value expire, see kv.WithTTL.
func WithTTL(ttl time.Duration) PutOption { return kv.WithTTL(ttl) }

// WithClientLifetimeTTL removes a published value when this agent is closed, see
// kv.WithClientLifetimeTTL.
func WithClientLifetimeTTL() PutOption { return kv.WithClientLifetimeTTL() }

// WithPrefix deletes all values whose keys begin with the key.
func WithPrefix() DelOption { return kv.WithPrefix() }

// KeyProtoValWriter publishes values.
type KeyProtoValWriter interface {
	// Put stores the value of a key; nil removes it.
	Put(key string, value proto.Message, opts ...PutOption) error
	// Delete removes the value of a key, or with WithPrefix all values whose
	// keys begin with it, and reports whether there was any.
	Delete(key string, opts ...DelOption) (existed bool, err error)
}

// KVProtoWriters writes to several stores.
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

// KVProtoWatchers watches several stores. It does not merge their resyncs: a
// receiver that needs the merged content, as the orchestrator does, watches
// each store separately.
type KVProtoWatchers []KeyValProtoWatcher

// Watch watches every store. If one of them fails, it watches none.
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
