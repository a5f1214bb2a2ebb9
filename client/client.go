// Package client is how programs configure an agent in terms of messages: they
// change, replace and read configuration items without knowing their keys.
// The requests of the packages below it are the same with a method for every
// type of item.
package client

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Client configures one agent. All methods may be called concurrently.
type Client interface {
	// KnownModels returns the models of a class ("config"; empty means all) that
	// the agent serves.
	KnownModels(class string) []models.Known
	// ChangeRequest returns an empty change.
	ChangeRequest() *ChangeRequest
	// ResyncConfig makes the items all that this client wants: others that it
	// put before are removed. Everything is synchronised with the southbound.
	ResyncConfig(ctx context.Context, items ...proto.Message) ([]Result, error)
	// GetConfig fills messages with the configuration in effect, regardless of its source
	// for it. A message of a model is looked up by its key; any other message gets all
	// items that its fields can hold, for example configurator.Config.
	GetConfig(ctx context.Context, dst ...proto.Message) error
	// GetItems returns the configuration in effect, sorted by key.
	GetItems(ctx context.Context) ([]Item, error)
	// DumpState reads the actual state from the southbound, regardless of its creator,
	// sorted by model. The error is an *UnreadError if a part of it could not be
	// read; the rest is returned.
	DumpState(ctx context.Context) ([]StateItem, error)
}

// StateItem is an item as it was read from the southbound.
type StateItem struct {
	Key      string
	Value    proto.Message     // must not be changed
	Metadata map[string]string // for example the index of an interface
}

// UnreadError says which models could not be read, and why.
type UnreadError struct{ Reasons []string }

// Error lists the reasons.
func (e *UnreadError) Error() string {
	return "not read from the southbound: " + strings.Join(e.Reasons, "; ")
}

// Item is a configuration item with its state.
type Item struct {
	Key    string
	Value  proto.Message // must not be changed
	Labels map[string]string
	Source string // the source that configured it
	Status *pb.BaseValueStatus
}

// Result is the outcome of one item of a request.
type Result struct {
	Key string
	// Source is whose value is in effect, which is another one's if that has a
	// higher priority; empty: the item was removed.
	Source string
	// Status is the state of the value after the request; nil if the item is
	// invalid.
	Status *pb.BaseValueStatus
	// Err says why the item is invalid, or why its operation failed.
	Err error
}

// State is the state of the value after the request.
func (r Result) State() pb.ValueState { return r.Status.GetValue().GetState() }

// ChangeRequest collects changes and sends them as one transaction. It must
// not be used concurrently.
type ChangeRequest struct {
	send    func(ctx context.Context, c Changes) ([]Result, error)
	keyOf   func(proto.Message) (string, error)
	changes Changes
	err     error
}

// Changes are the collected changes of a ChangeRequest.
type Changes struct {
	Items       []Change // one for each key, in the order of their first mention
	Revert      bool
	Resync      bool
	Description string

	index map[string]int
}

// Change puts an item or, with a nil Value, removes it.
type Change struct {
	Key    string
	Value  proto.Message
	Labels map[string]string
}

// NewChangeRequest returns an empty change for an implementation of Client: keyOf
// names items, and send executes the collected changes.
func NewChangeRequest(keyOf func(proto.Message) (string, error), send func(context.Context, Changes) ([]Result, error)) *ChangeRequest {
	return &ChangeRequest{keyOf: keyOf, send: send}
}

// Update puts items, new ones or ones to change. The messages must not be
// changed afterwards.
func (r *ChangeRequest) Update(items ...proto.Message) *ChangeRequest {
	return r.UpdateLabeled(nil, items...)
}

// UpdateLabeled is Update of items with labels.
func (r *ChangeRequest) UpdateLabeled(labels map[string]string, items ...proto.Message) *ChangeRequest {
	for _, it := range items {
		r.add(it, it, labels)
	}
	return r
}

// Delete removes items; only the fields that make up the key matter.
func (r *ChangeRequest) Delete(items ...proto.Message) *ChangeRequest {
	for _, it := range items {
		r.add(it, nil, nil)
	}
	return r
}

// WithRevert makes the request undo everything if one item fails.
func (r *ChangeRequest) WithRevert() *ChangeRequest {
	r.changes.Revert = true
	return r
}

// Replace makes the updated items all that the client wants, as ResyncConfig
// does.
func (r *ChangeRequest) Replace() *ChangeRequest {
	r.changes.Resync = true
	return r
}

// Describe sets the purpose of the request, which the history of the agent shows.
func (r *ChangeRequest) Describe(text string) *ChangeRequest {
	r.changes.Description = text
	return r
}

// add notes a change; the last one for a key counts.
func (r *ChangeRequest) add(item, value proto.Message, labels map[string]string) {
	if item == nil || !item.ProtoReflect().IsValid() {
		r.fail(fmt.Errorf("item is nil"))
		return
	}
	key, err := r.keyOf(item)
	if err != nil {
		r.fail(err)
		return
	}
	c := Change{Key: key, Value: value, Labels: labels}
	if i, known := r.changes.index[key]; known {
		r.changes.Items[i] = c
		return
	}
	if r.changes.index == nil {
		r.changes.index = map[string]int{}
	}
	r.changes.index[key] = len(r.changes.Items)
	r.changes.Items = append(r.changes.Items, c)
}

func (r *ChangeRequest) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Send executes the changes and returns their results, in the order of the
// items. The error reports that the request could not be made, or that items
// failed; unless the request is to be reverted, the others took effect.
func (r *ChangeRequest) Send(ctx context.Context) ([]Result, error) {
	if r.err != nil {
		return nil, fmt.Errorf("change request: %w", r.err)
	}
	return r.send(ctx, r.changes)
}
