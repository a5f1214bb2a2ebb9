package kvdbsync

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// event is the common part of changes and resyncs.
type event struct {
	ctx  context.Context // of the watch, for GetContext
	done chan error      // buffered

	incomplete []string
	evidence   kv.Evidence
}

// Evidence returns what the store knows about itself.
func (e event) Evidence() kv.Evidence { return e.evidence }

func (e event) Incomplete() []string { return e.incomplete }

// GetContext ends when the watch ends.
func (e event) GetContext() context.Context { return e.ctx }

// Done reports the result to the store. A second call is ignored.
func (e event) Done(err error) {
	select {
	case e.done <- err:
	default:
	}
}

func (e event) Answer() func(err error) { return e.Done }

type change struct {
	event
	changes []datasync.ProtoWatchResp
}

func (c change) GetChanges() []datasync.ProtoWatchResp { return c.changes }

type resync struct {
	event
	values map[string][]datasync.KeyVal
}

// GetValues returns the values by prefix.
func (r resync) GetValues() map[string]datasync.KeyValIterator {
	its := make(map[string]datasync.KeyValIterator, len(r.values))
	for prefix, vs := range r.values {
		its[prefix] = slices.Values(vs)
	}
	return its
}

// keyVal adapts a change of a store to datasync. It refers to the change instead of copying
// it, because there may be a million of them.
type keyVal struct{ *kv.Change }

// GetKey returns the key without the prefix of the agent.
func (v keyVal) GetKey() string { return v.Key }

// GetRevision returns the revision in the store.
func (v keyVal) GetRevision() int64 { return v.Revision }

// Location reports where the value was written.
func (v keyVal) Location() kv.Location { return v.Entry.Location }

// Disputed reports that the store has several values for the key.
func (v keyVal) Disputed() bool { return v.Entry.Disputed }

// Message returns the value if the store has decoded it.
func (v keyVal) Message() proto.Message {
	if d, ok := v.Value.(kv.Decoded); ok {
		return d.Message
	}
	return nil
}

// GetChangeType returns Put or Delete.
func (v keyVal) GetChangeType() datasync.Op {
	if v.Deleted {
		return datasync.Delete
	}
	return datasync.Put
}

// Inferred reports whether the change is the result of a comparison.
func (v keyVal) Inferred() bool { return v.Change.Inferred }

// GetValue decodes the value. For a deleted key it leaves the message empty.
func (v keyVal) GetValue(into proto.Message) error {
	if v.Value == nil {
		proto.Reset(into)
		return nil
	}
	return v.Value.Decode(into)
}
