// Package keyval has the key-value API of cn-infra, for plugins that were written for it:
// brokers, which read and write messages below a prefix, and watchers. Connectors
// implement KvProtoPlugin. New code uses package kv: its calls take a context, and its
// Watch never misses a change.
package keyval

import (
	"context"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// KvProtoPlugin is a connector.
type KvProtoPlugin interface {
	// NewBroker returns a broker whose keys do not include keyPrefix. It can be used
	// from Init of the plugins that depend on the connector until their Close.
	NewBroker(keyPrefix string) ProtoBroker
	// NewWatcher returns a watcher whose keys do not include keyPrefix.
	NewWatcher(keyPrefix string) ProtoWatcher
	// Disabled reports that the connector has no configuration.
	Disabled() bool
	// OnConnect calls the function once, as soon as the store can be read. Its error is
	// logged.
	OnConnect(callback func() error)
	// String returns the name of the connector.
	String() string
}

// ProtoBroker reads and writes messages. Its methods may be called concurrently. They
// return when the timeout of the connector expires, and return kv.ErrDisabled if the
// connector is disabled.
type ProtoBroker interface {
	// Put stores a message as JSON; nil removes the key.
	Put(key string, data proto.Message, opts ...datasync.PutOption) error
	// NewTxn returns an empty transaction.
	NewTxn() ProtoTxn
	// GetValue decodes the value of a key into reqObj, and reports whether there is one.
	GetValue(key string, reqObj proto.Message) (found bool, revision int64, err error)
	// ListValues returns the values whose keys begin with the prefix, sorted by key.
	ListValues(prefix string) (ProtoKeyValIterator, error)
	// ListKeys returns the keys that begin with the prefix, sorted.
	ListKeys(prefix string) (ProtoKeyIterator, error)
	// Delete removes a key, or with datasync.WithPrefix all keys that begin with it.
	Delete(key string, opts ...datasync.DelOption) (existed bool, err error)
}

// ProtoTxn collects changes. It must not be used concurrently.
type ProtoTxn interface {
	Put(key string, data proto.Message) ProtoTxn
	Delete(key string) ProtoTxn
	// Commit applies all changes or none.
	Commit(ctx context.Context) error
}

// ProtoKeyIterator yields keys.
type ProtoKeyIterator interface {
	// GetNext returns the next key; stop reports that there is none.
	GetNext() (key string, rev int64, stop bool)
	io.Closer
}

// ProtoKeyValIterator yields values.
type ProtoKeyValIterator interface {
	// GetNext returns the next value; stop reports that there is none.
	GetNext() (kv ProtoKeyVal, stop bool)
	io.Closer
}

// ProtoKeyVal is a key with its value.
type ProtoKeyVal interface {
	datasync.KeyVal
	// GetPrevValue decodes the value before the change, and reports whether there was
	// one that the watcher knows.
	GetPrevValue(prevValue proto.Message) (prevValueExist bool, err error)
}

// ProtoWatchResp is a change.
type ProtoWatchResp interface {
	ProtoKeyVal
	GetChangeType() datasync.Op
}

// ProtoWatcher watches keys.
type ProtoWatcher interface {
	// Watch calls respChan with every change of the keys that begin with one of the given
	// ones. It waits until the store can be read; values that it has by then are not
	// reported. If that takes longer than the timeout of the connector, Watch returns,
	// and the values that the store turns out to have are reported as changes.
	//
	// The watch ends when closeChan is closed or receives the key, and when the connector
	// is closed. A nil closeChan never ends it. Of several changes of a key during a call
	// of respChan, the last one is reported.
	Watch(respChan func(ProtoWatchResp), closeChan chan string, keys ...string) error
}

// ToChanProto returns a function for Watch that sends the changes to a channel. It waits
// for the receiver until the watch ends. The options are ignored: there is no timeout
// after which a change is dropped.
func ToChanProto(ch chan ProtoWatchResp, _ ...any) func(ProtoWatchResp) {
	return func(resp ProtoWatchResp) {
		var ended <-chan struct{} // of other implementations of ProtoWatchResp: never
		if c, ok := resp.(*change); ok {
			ended = c.ctx.Done()
		}
		select {
		case ch <- resp:
		case <-ended:
		}
	}
}

// Store is what brokers and watchers need of a connector.
type Store struct {
	Name    string
	DB      kv.DB         // nil if the connector is disabled
	Timeout time.Duration // of one request
	Context context.Context
	// Value converts bytes to a value; nil: kv.Encoded.
	Value func([]byte) kv.Value
	// Watch is kv.Store's Watch. Go starts a goroutine that the connector waits for.
	Watch func(ctx context.Context, prefix string, handle func(kv.Update) error) error
	Go    func(func(context.Context))
}

func (s Store) value(data []byte) kv.Value {
	if s.Value != nil {
		return s.Value(data)
	}
	return kv.Encoded(data)
}
