// Package kv is the abstraction of key-value stores: what a connector offers
// so that everything above it can use any store, be it a server or files on
// disk. Store is for those who follow the content, Writer for those who publish
// values, DB for those who read and write entries themselves; a server's
// connector implements all three, see package follow.
package kv

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Store is a connection to a key-value store. A new connector implements it,
// and kvdbsync does the rest. All methods may be called concurrently.
type Store interface {
	// String is the name of the store ("filedb"), unique within an agent.
	fmt.Stringer
	// Disabled tells that the store is not configured; it is known when Init of
	// the connector has run.
	Disabled() bool
	// Watch tells handle the whole content below the prefix as soon as it can be
	// read, and then everything that changes, without a gap between the two. It
	// returns when ctx ends. handle is called from one goroutine at a time, and
	// what changes meanwhile is told afterwards; its error is what the receiver
	// makes of the update, for the status of the store.
	Watch(ctx context.Context, prefix string, handle func(Update) error) error
}

// Update is what became different at once: one transaction of a server, or
// one save of a file.
type Update struct {
	// Resync tells that Changes are the whole content, and what is not among
	// them does not exist.
	Resync  bool
	Changes []Change
	// Incomplete names, for people, what of the store's content could not be
	// read and was never known ("net.yaml"): the store may have more entries than
	// it has told. Empty: all of the content is known, as of this update. When
	// that alone changes, there is an update without Changes.
	Incomplete []string
}

// Change is a key that was put or deleted.
type Change struct {
	Entry
	Deleted bool // Value is nil
}

// Entry is a key with its value.
type Entry struct {
	Key      string // without the prefix that is watched
	Value    Value
	Revision int64 // grows with each change of the key; 0 if the store has none
	Location Location
}

// Value is a value as the store holds it.
type Value interface {
	// Decode reads it into a message of the type that belongs to the key.
	Decode(into proto.Message) error
}

// Refuser is implemented by stores that read their values themselves.
type Refuser interface {
	// Refused says what is wrong, and where, with a value that the store has of a
	// key and does not give away; nil: nothing. It may be called at any time.
	Refused(key string) error
}

// Decoded is the Value of a store that knows the types of its values.
type Decoded struct{ Message proto.Message }

// Decode copies the message; into must be of the same type.
func (d Decoded) Decode(into proto.Message) error {
	have, want := d.Message.ProtoReflect().Descriptor(), into.ProtoReflect().Descriptor()
	if have != want {
		return fmt.Errorf("value is %s, expected %s", have.FullName(), want.FullName())
	}
	proto.Reset(into)
	proto.Merge(into, d.Message)
	return nil
}

// Format reads the entries of a text, such as a configuration file.
type Format interface {
	// Read reads what belongs below the prefix; file is the name of the text in
	// errors and locations. It is called concurrently.
	Read(file string, text []byte, prefix string) Content
}

// Content is what a text says.
type Content struct {
	Entries []Entry // sorted by key, without duplicates
	Foreign int     // entries below other prefixes
	Errs    []error // one for everything that is wrong, with file, line and field
	Broken  bool    // the text could not be read at all, so that nothing is known of its entries
}

// Writer is implemented by stores that values can be published to.
type Writer interface {
	// Put stores the value of a key, prefix included; nil removes it. A store
	// that cannot do what an option says returns ErrNotSupported.
	Put(key string, value proto.Message, opts ...PutOption) error
	// Delete removes a key, or with WithPrefix all that begin with it, and tells
	// whether there was any.
	Delete(key string, opts ...DelOption) (existed bool, err error)
}

// BulkWriter is implemented by a Writer for which many values cost little more
// than one, such as a file, which is always written as a whole.
type BulkWriter interface {
	Writer
	// PutAll is Put of all values, by key; nil removes one. If it fails, any of
	// them may be stored.
	PutAll(values map[string]proto.Message, opts ...PutOption) error
}
