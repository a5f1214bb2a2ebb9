// Package kv abstracts key-value stores. A connector implements its interfaces,
// and everything above it can use any store, such as a server or files on disk.
// Store is for following the content, Writer for publishing values, DB for
// reading and writing entries; the connector of a server implements all three,
// see package follow.
package kv

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Store is a connection to a key-value store. A new connector implements it,
// and kvdbsync does the rest. All methods may be called concurrently.
type Store interface {
	// String returns the name of the store ("filedb"), unique within an agent.
	fmt.Stringer
	// Disabled reports that the store is not configured. It is valid after Init
	// of the connector.
	Disabled() bool
	// Watch passes the whole content below the prefix to handle as soon as it
	// can be read, and then every change, without a gap between the two. It
	// returns when ctx ends. It calls handle from one goroutine at a time, and
	// passes changes that happen meanwhile in the next call. The error of handle
	// is the result of the receiver, for the status of the store.
	Watch(ctx context.Context, prefix string, handle func(Update) error) error
}

// Update is a set of changes that were made together: one transaction of a
// server, or one save of a file.
type Update struct {
	// Resync reports that Changes are the whole content: keys that are not in
	// it do not exist.
	Resync bool
	// Changes belong to the receiver, which may change and keep them.
	Changes []Change
	// Incomplete names the parts of the store's content that could not be read
	// and were never known ("net.yaml"): the store may have more entries than it
	// reported. It is empty if all content is known as of this update. If only
	// Incomplete changes, there is an update without Changes.
	Incomplete []string
	Evidence
}

// Evidence is the information of an update about its store, which distinguishes a request
// from an accident.
type Evidence struct {
	Identity Identity
	// Emptied are places (see Location) that say explicitly that they have no entries.
	Emptied []string
	// Doubtful are places without entries, with the reason: they may be the result of an
	// accident ("net.yaml": "the file is empty"). A place may be a directory.
	Doubtful map[string]string
	// Places are the files and directories that the configuration of the agent names, for a
	// store whose entries have such Locations; nil for other stores. An entry of a place that
	// is no longer named is not wanted.
	Places []string
}

// Identity identifies a store and its history. Empty fields are unknown.
type Identity struct {
	Store    string `json:"store,omitempty"`    // another value: it is another store
	Run      string `json:"run,omitempty"`      // of the server process; another value: it was restarted
	Revision int64  `json:"revision,omitempty"` // a smaller value: the store went back
	Evicted  int64  `json:"evicted,omitempty"`  // entries that the process removed without a request; another value: it did again
	// Put is the key of the newest put that is known, prefix included, and PutRevision its revision: a
	// store that has its history can find out whether that put is part of it.
	Put         string `json:"put,omitempty"`
	PutRevision int64  `json:"put_revision,omitempty"`
}

// Rememberer is implemented by stores that can use what a receiver remembers of them from before a
// restart.
type Rememberer interface {
	// Remember is called before Watch with the last identity that the receiver has recorded. If the
	// store had another history then, the identity that it reports went back.
	Remember(last Identity)
}

// Differs reports whether a later identity names another store, process or history, or evictions.
func (id Identity) Differs(now Identity) bool {
	return id.Other(now) || id.Restarted(now) || id.WentBack(now) || id.HasEvicted(now)
}

// Other reports whether a later identity names another store.
func (id Identity) Other(now Identity) bool {
	return id.Store != "" && now.Store != "" && id.Store != now.Store
}

// Restarted reports whether a later identity names another server process.
func (id Identity) Restarted(now Identity) bool {
	return id.Run != "" && now.Run != "" && id.Run != now.Run
}

// WentBack reports whether a later identity has a smaller revision.
func (id Identity) WentBack(now Identity) bool { return now.Revision > 0 && now.Revision < id.Revision }

// HasEvicted reports whether the process has evicted entries between the two identities.
func (id Identity) HasEvicted(now Identity) bool {
	return now.Evicted > 0 && now.Evicted != id.Evicted && now.Run == id.Run
}

// Then returns the identity after a later one, which may not know all of it.
func (id Identity) Then(now Identity) Identity {
	evicted := now.Evicted
	if !id.Restarted(now) {
		evicted = cmp.Or(now.Evicted, id.Evicted)
	}
	put := now
	if now.Put == "" {
		put = id
	}
	return Identity{cmp.Or(now.Store, id.Store), cmp.Or(now.Run, id.Run), cmp.Or(now.Revision, id.Revision), evicted, put.Put, put.PutRevision}
}

// Change is a key that was put or deleted.
type Change struct {
	Entry
	Deleted bool // Value is nil
	// Inferred reports that no client is known to have requested the change: the store compared
	// its present content with the previous one, or evicted the entry.
	Inferred bool
}

// Entry is a key with its value.
type Entry struct {
	Key      string // without the watched prefix
	Value    Value
	Revision int64 // grows with each change of the key; 0 if the store has none
	Location Location
	// Disputed reports that the store has several values for the key and Value is
	// one of them: a receiver that already has a value, such as one from before a
	// restart, keeps it.
	Disputed bool
}

// Value is a value in the format of the store.
type Value interface {
	// Decode decodes it into a message of the key's type.
	Decode(into proto.Message) error
}

// Refuser is implemented by stores that decode their values themselves.
type Refuser interface {
	// Refused returns the error of a key's value that the store rejects, with its
	// position; nil if there is none. It may be called at any time.
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

// Format parses the entries of a text, such as a configuration file.
type Format interface {
	// Read returns the entries below the prefix. file is the name of the text
	// in errors and locations. It is called concurrently.
	Read(file string, text []byte, prefix string) Content
}

// Content is the result of parsing a text.
type Content struct {
	Entries []Entry // sorted by key, without duplicates
	Foreign int     // entries below other prefixes
	Errs    []error // all errors, with file, line and field
	Broken  bool    // the text could not be parsed, so that its entries are unknown
	Emptied bool    // the text says explicitly that it has no entries
}

// Writer is implemented by stores that values can be published to.
type Writer interface {
	// Put stores the value of a key, prefix included; nil removes it. A store
	// that does not support an option returns ErrNotSupported.
	Put(key string, value proto.Message, opts ...PutOption) error
	// Delete removes a key, or with WithPrefix all keys that begin with it, and
	// reports whether there was any.
	Delete(key string, opts ...DelOption) (existed bool, err error)
}

// BulkWriter is implemented by a Writer for which many values cost little more
// than one, such as a file, which is always written as a whole.
type BulkWriter interface {
	Writer
	// PutAll is Put of all values, by key; nil removes one. If it fails, any of
	// them may have been stored.
	PutAll(values map[string]proto.Message, opts ...PutOption) error
}
