// Package genericclient has the generic client of the predecessor, for programs that were
// written for it: requests whose result is an error, and configurations of any model. New
// programs use package client, whose methods take a context and return the result of each
// item.
package genericclient

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/client/container"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

// ConfigClient configures one agent.
type ConfigClient interface {
	// KnownModels returns the models of a class ("config"; empty means all) that the
	// agent serves.
	KnownModels(class string) ([]*ModelInfo, error)
	// ChangeRequest returns an empty change.
	ChangeRequest() ChangeRequest
	// ResyncConfig makes the items all that this client wants.
	ResyncConfig(items ...proto.Message) error
	// GetConfig fills messages, which are proto.Message, with the configuration in
	// effect, see client.Client.
	GetConfig(dsts ...any) error
	// DumpState reads the actual state from the southbound.
	DumpState() ([]*generic.StateItem, error)
}

// GenericClient is a ConfigClient with labels.
type GenericClient interface {
	ConfigClient
	// NewItemChange is ChangeRequest.
	NewItemChange() ChangeRequest
	// GetFilteredConfig is GetConfig with the items that the filter selects.
	GetFilteredConfig(filter Filter, dsts ...any) error
	// GetItems returns the configuration in effect, sorted by key.
	GetItems(ctx context.Context) ([]*generic.ConfigItem, error)
	// UpdateItems puts items; with resync they are all that this client wants.
	UpdateItems(ctx context.Context, items []UpdateItem, resync bool) ([]*UpdateResult, error)
	// DeleteItems removes items; only the fields that make up the key matter.
	DeleteItems(ctx context.Context, items []UpdateItem) ([]*UpdateResult, error)
}

// ChangeRequest collects changes and sends them as one transaction.
type ChangeRequest interface {
	Update(items ...proto.Message) ChangeRequest
	Delete(items ...proto.Message) ChangeRequest
	// Send executes the changes. The error says that the request was rejected, or that
	// items failed, while the others took effect.
	Send(ctx context.Context) error
}

// ModelInfo is a model with its message.
type ModelInfo struct {
	*generic.ModelDetail
	MessageDescriptor protoreflect.MessageDescriptor
	singleton         bool
}

// UpdateItem is an item with its labels.
type UpdateItem struct {
	Message proto.Message
	Labels  map[string]string
}

// UpdateResult is the result of an item.
type UpdateResult struct {
	Key    string
	Status *generic.ItemStatus
}

// Filter selects items. An empty filter selects all of them.
type Filter struct {
	// Ids are the items; nil: no restriction.
	Ids []*generic.Item_ID
	// Labels select items by their labels, see orchestrator.Labelled; nil: no
	// restriction.
	Labels map[string]string
}

// New returns a generic client of the agent that c configures.
func New(c client.Client) GenericClient { return wrapper{c} }

type wrapper struct{ c client.Client }

func (w wrapper) KnownModels(class string) ([]*ModelInfo, error) {
	var infos []*ModelInfo
	for _, m := range w.c.KnownModels(class) {
		infos = append(infos, infoOf(m))
	}
	return infos, nil
}

func infoOf(m models.Known) *ModelInfo {
	s := m.Spec()
	return &ModelInfo{
		ModelDetail: &generic.ModelDetail{
			Spec:      &generic.ModelSpec{Module: s.Module, Version: s.Version, Type: s.Type, Class: s.Class},
			ProtoName: string(m.ProtoName()),
		},
		MessageDescriptor: m.NewInstance().ProtoReflect().Descriptor(),
		singleton:         m.Singleton(),
	}
}

func (w wrapper) ChangeRequest() ChangeRequest { return request{w.c.ChangeRequest()} }
func (w wrapper) NewItemChange() ChangeRequest { return w.ChangeRequest() }

type request struct{ r *client.ChangeRequest }

func (r request) Update(items ...proto.Message) ChangeRequest { r.r.Update(items...); return r }
func (r request) Delete(items ...proto.Message) ChangeRequest { r.r.Delete(items...); return r }

func (r request) Send(ctx context.Context) error {
	_, err := r.r.Send(ctx)
	return err
}

func (w wrapper) ResyncConfig(items ...proto.Message) error {
	_, err := w.c.ResyncConfig(context.Background(), items...)
	return err
}

func (w wrapper) GetConfig(dsts ...any) error {
	messages, err := toMessages(dsts)
	if err != nil {
		return err
	}
	return w.c.GetConfig(context.Background(), messages...)
}

func toMessages(dsts []any) ([]proto.Message, error) {
	messages := make([]proto.Message, len(dsts))
	for i, dst := range dsts {
		m, ok := dst.(proto.Message)
		if !ok {
			return nil, fmt.Errorf("get configuration: destination %d is %T, expected a proto.Message", i, dst)
		}
		messages[i] = m
	}
	return messages, nil
}

func (w wrapper) GetFilteredConfig(filter Filter, dsts ...any) error {
	messages, err := toMessages(dsts)
	if err != nil {
		return err
	}
	set, err := models.NewSet(w.c.KnownModels("")...)
	if err != nil {
		return err
	}
	items, err := w.c.GetItems(context.Background())
	if err != nil {
		return err
	}
	var selected []proto.Message
	for _, it := range items {
		if filter.selects(idOf(set, it.Key), it.Labels) {
			selected = append(selected, it.Value)
		}
	}
	return container.Fill(set, selected, messages...)
}

func (f Filter) selects(id *generic.Item_ID, labels map[string]string) bool {
	if !orchestrator.Labelled(labels, f.Labels) {
		return false
	}
	for _, want := range f.Ids {
		if proto.Equal(id, want) {
			return true
		}
	}
	return len(f.Ids) == 0
}

// idOf returns the identity of the item with a key.
func idOf(set *models.Set, key string) *generic.Item_ID {
	model, ok := set.ForKey(key)
	if !ok {
		return nil
	}
	id := &generic.Item_ID{Model: model.Spec().ModelName()}
	if !model.Singleton() {
		id.Name = model.Label(key)
	}
	return id
}

// typeURLPrefix is the beginning of the type URLs of items.
const typeURLPrefix = "models.ligato.io/"

func itemOf(set *models.Set, key string, value proto.Message) (*generic.Item, error) {
	wire, err := proto.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	data := &anypb.Any{TypeUrl: typeURLPrefix + string(value.ProtoReflect().Descriptor().FullName()), Value: wire}
	return &generic.Item{Id: idOf(set, key), Data: &generic.Data{Union: &generic.Data_Any{Any: data}}}, nil
}

func (w wrapper) GetItems(ctx context.Context) ([]*generic.ConfigItem, error) {
	set, err := models.NewSet(w.c.KnownModels("")...)
	if err != nil {
		return nil, err
	}
	items, err := w.c.GetItems(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*generic.ConfigItem, len(items))
	for i, it := range items {
		item, err := itemOf(set, it.Key, it.Value)
		if err != nil {
			return nil, err
		}
		v := it.Status.GetValue()
		all[i] = &generic.ConfigItem{Item: item, Labels: it.Labels, Status: &generic.ItemStatus{Status: v.GetState().String(), Message: v.GetError()}}
	}
	return all, nil
}

func (w wrapper) DumpState() ([]*generic.StateItem, error) {
	set, err := models.NewSet(w.c.KnownModels("")...)
	if err != nil {
		return nil, err
	}
	found, err := w.c.DumpState(context.Background())
	var all []*generic.StateItem
	for _, it := range found {
		item, itemErr := itemOf(set, it.Key, it.Value)
		if itemErr != nil {
			return all, itemErr
		}
		all = append(all, &generic.StateItem{Item: item, Metadata: it.Metadata})
	}
	return all, err
}

func (w wrapper) UpdateItems(ctx context.Context, items []UpdateItem, resync bool) ([]*UpdateResult, error) {
	r := w.c.ChangeRequest()
	for _, it := range items {
		r.UpdateLabeled(it.Labels, it.Message)
	}
	if resync {
		r.Replace()
	}
	return results(r.Send(ctx))
}

func (w wrapper) DeleteItems(ctx context.Context, items []UpdateItem) ([]*UpdateResult, error) {
	r := w.c.ChangeRequest()
	for _, it := range items {
		r.Delete(it.Message)
	}
	return results(r.Send(ctx))
}

func results(rs []client.Result, err error) ([]*UpdateResult, error) {
	all := make([]*UpdateResult, len(rs))
	for i, r := range rs {
		all[i] = &UpdateResult{Key: r.Key, Status: &generic.ItemStatus{Status: r.State().String()}}
		if r.Err != nil {
			all[i].Status.Message = r.Err.Error()
		}
	}
	return all, err
}
