package client

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client/container"
	"github.com/tenuto-dev/tenuto/client/southbound"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// Orchestrator is the part of the orchestrator that a local client uses.
type Orchestrator interface {
	PushData(ctx context.Context, source string, items []orchestrator.KeyVal, opts ...orchestrator.PushOption) ([]orchestrator.Result, error)
	ListData(source string) []orchestrator.KeyVal
	Status(key string) orchestrator.Result
	Models() *models.Set
}

// ErrNoScheduler is the error of DumpState of a local client that was made
// without WithScheduler.
var ErrNoScheduler = errors.New("the client was made without a scheduler, which reads the southbound")

// LocalOption is an option of NewLocal.
type LocalOption func(*local)

// WithScheduler lets the client read the southbound.
func WithScheduler(s southbound.Scheduler) LocalOption { return func(c *local) { c.s = s } }

// local is a client in the process of the agent.
type local struct {
	o Orchestrator
	s southbound.Scheduler
}

// NewLocal returns a client of the agent in the same process. It can be used
// when the orchestrator was initialised. All local clients are one source.
func NewLocal(o Orchestrator, opts ...LocalOption) Client {
	c := local{o: o}
	for _, opt := range opts {
		opt(&c)
	}
	return c
}

func (c local) KnownModels(class string) []models.Known {
	var known []models.Known
	for _, m := range c.o.Models().All() {
		if class == "" || m.Spec().Class == class {
			known = append(known, m)
		}
	}
	return known
}

func (c local) ChangeRequest() *ChangeRequest {
	return NewChangeRequest(func(m proto.Message) (string, error) { return c.o.Models().KeyOf(m) }, c.send)
}

func (c local) ResyncConfig(ctx context.Context, items ...proto.Message) ([]Result, error) {
	return c.ChangeRequest().Update(items...).Replace().Send(ctx)
}

func (c local) send(ctx context.Context, changes Changes) ([]Result, error) {
	items := make([]orchestrator.KeyVal, len(changes.Items))
	for i, ch := range changes.Items {
		items[i] = orchestrator.KeyVal{Key: ch.Key, Val: ch.Value, Labels: ch.Labels}
	}
	var opts []orchestrator.PushOption
	if changes.Resync {
		opts = append(opts, orchestrator.WithResync())
	}
	if changes.Revert {
		opts = append(opts, orchestrator.WithRevert())
	}
	if changes.Description != "" {
		opts = append(opts, orchestrator.WithDescription(changes.Description))
	}
	outcome, err := c.o.PushData(ctx, orchestrator.LocalClient, items, opts...)
	results := make([]Result, len(outcome))
	for i, o := range outcome {
		results[i] = Result(o)
	}
	return results, err
}

func (c local) GetConfig(_ context.Context, dst ...proto.Message) error {
	var items []proto.Message
	for _, kv := range c.o.ListData("") {
		items = append(items, kv.Val)
	}
	return container.Fill(c.o.Models(), items, dst...)
}

func (c local) GetItems(context.Context) ([]Item, error) {
	var items []Item
	for _, kv := range c.o.ListData("") {
		st := c.o.Status(kv.Key)
		items = append(items, Item{Key: kv.Key, Value: kv.Val, Labels: kv.Labels, Source: st.Source, Status: st.Status})
	}
	return items, nil
}

func (c local) DumpState(context.Context) ([]StateItem, error) {
	if c.s == nil {
		return nil, ErrNoScheduler
	}
	found, unread := southbound.Read(c.o.Models(), c.s, nil)
	var items []StateItem
	for _, kv := range found {
		items = append(items, StateItem{Key: kv.Key, Value: kv.Value, Metadata: southbound.Text(kv.Metadata)})
	}
	if len(unread) == 0 {
		return items, nil
	}
	err := &UnreadError{}
	for _, u := range unread {
		err.Reasons = append(err.Reasons, u.Error())
	}
	return items, err
}
