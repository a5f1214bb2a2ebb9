package configurator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/client/southbound"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// managerService is the service for items of any model.
type managerService struct {
	generic.UnimplementedManagerServiceServer
	p *Plugin
}

// TypeURLPrefix is what the type URLs of items begin with.
const TypeURLPrefix = "models.ligato.io/"

// SetConfig changes items. What became of each is in the results, in the order
// of the updates; clients of the predecessor do not look there, and get an error if an
// item failed. Theirs have the number of the transaction as the result of the key "seqnum".
func (s *managerService) SetConfig(ctx context.Context, req *generic.SetConfigRequest) (*generic.SetConfigResponse, error) {
	items, err := s.p.updates(req.GetUpdates())
	if err != nil {
		return nil, err
	}
	before := make([]bool, len(items))
	for i, it := range items {
		before[i] = s.p.Orchestrator.Status(it.Key).Source != ""
	}
	results, seqNum, err := s.p.push(ctx, "SetConfig", items, req.GetOverwriteAll())
	txn, part := asFailed(err)
	switch {
	case err != nil && !part:
		return nil, err
	case part && !clientOf(ctx).current:
		return nil, failed(txn, items, results)
	case !clientOf(ctx).current:
		if err := s.p.unimplemented(ctx, items, results); err != nil {
			return nil, err
		}
	}
	resp := &generic.SetConfigResponse{}
	for i, r := range results {
		resp.Results = append(resp.Results, &generic.UpdateResult{
			Id: s.p.idOf(r.Key), Key: r.Key, Op: operation(items[i], before[i]), Status: itemStatus(r),
		})
	}
	if !clientOf(ctx).current && seqNum != api.NoSeqNum {
		resp.Results = append(resp.Results, &generic.UpdateResult{Key: SeqNumHeader, Status: &generic.ItemStatus{
			Status: kvspb.ValueState_NONEXISTENT.String(), Message: strconv.FormatUint(seqNum, 10)}})
	}
	return resp, nil
}

func operation(it item, before bool) generic.UpdateResult_Operation {
	switch {
	case it.Val != nil && before:
		return generic.UpdateResult_UPDATE
	case it.Val != nil:
		return generic.UpdateResult_CREATE
	case before:
		return generic.UpdateResult_DELETE
	}
	return generic.UpdateResult_UNSPECIFIED
}

// itemStatus is the state of a value, with the reason if it is not in place.
func itemStatus(r orchestrator.Result) *generic.ItemStatus {
	st := &generic.ItemStatus{Status: r.Status.GetValue().GetState().String(), Message: r.Status.GetValue().GetError()}
	switch {
	case r.Err != nil:
		st.Message = r.Err.Error()
	case st.Message == "":
		st.Message = strings.Join(r.Status.GetValue().GetDetails(), ", ")
	}
	return st
}

// updates reads the items of a request.
func (p *Plugin) updates(updates []*generic.UpdateItem) ([]item, error) {
	var items []item
	var ps problems
	for i, u := range updates {
		path := fmt.Sprintf("updates[%d].item", i)
		it, err := p.decode(u.GetItem())
		if err != nil {
			ps = append(ps, problem{path, it.Key, "INVALID", err.Error()})
			continue
		}
		it.path, it.Labels = path, u.GetLabels()
		items = append(items, it)
	}
	return items, ps.status(codes.InvalidArgument, "nothing was changed")
}

// decode reads an item; without data it is to be removed.
func (p *Plugin) decode(from *generic.Item) (it item, err error) {
	model, err := p.modelOf(from)
	if err != nil {
		return it, err
	}
	given := from.GetId().GetName()
	body := from.GetData().GetAny()
	if body == nil {
		it.Key = keyFor(model, given)
		if !model.Matches(it.Key) {
			return it, fmt.Errorf("id.name: expected the name of the item to remove, of model %s", model.Spec().ModelName())
		}
		return it, nil
	}
	val := model.NewInstance()
	if err := proto.Unmarshal(body.GetValue(), val); err != nil {
		return it, fmt.Errorf("data.any.value: expected a message %s: %w", model.ProtoName(), err)
	}
	if it.Key, err = model.KeyOf(val); err != nil {
		return it, err
	}
	switch {
	case !model.Matches(it.Key):
		return it, fmt.Errorf("the item has no name; expected the fields that make up its key %s<name>", model.KeyPrefix())
	case given != "" && keyFor(model, given) != it.Key:
		return it, fmt.Errorf("id.name: %q is not the name of the item, which is %q", given, nameOf(model, it.Key))
	}
	it.Val = val
	return it, nil
}

// modelOf finds the model of an item, by its name or by the type of the data.
func (p *Plugin) modelOf(it *generic.Item) (models.Known, error) {
	name, url := it.GetId().GetModel(), it.GetData().GetAny().GetTypeUrl()
	message := url[strings.LastIndexByte(url, '/')+1:]
	byMessage, ofMessage := p.byMessage[message]
	switch {
	case name == "" && url == "":
		return nil, fmt.Errorf("id.model: expected the name of a model, for example vpp.interfaces")
	case url != "" && !ofMessage:
		return nil, fmt.Errorf("data.any.type_url: %q: no model has such messages", url)
	case name == "":
		return byMessage, nil
	}
	model, ok := p.Orchestrator.Models().ForName(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("id.model: %q: no such model; MetaService.KnownModels lists them", name)
	case url != "" && model.ProtoName() != byMessage.ProtoName():
		return nil, fmt.Errorf("data.any.type_url: %q: expected %s%s, as the model is %s", url, TypeURLPrefix, model.ProtoName(), name)
	}
	return model, nil
}

func keyFor(m models.Known, name string) string {
	if m.Singleton() {
		return m.KeyPrefix()
	}
	return m.KeyPrefix() + name
}

func nameOf(m models.Known, key string) string {
	if m.Singleton() {
		return ""
	}
	return m.Label(key)
}

// idOf is the identity of the item with a key.
func (p *Plugin) idOf(key string) *generic.Item_ID {
	model, ok := p.Orchestrator.Models().ForKey(key)
	if !ok {
		return nil
	}
	return &generic.Item_ID{Model: model.Spec().ModelName(), Name: nameOf(model, key)}
}

// encode makes an item of a value.
func (p *Plugin) encode(key string, val proto.Message) (*generic.Item, error) {
	wire, err := proto.Marshal(val)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "%s: %v", key, err)
	}
	url := TypeURLPrefix + string(val.ProtoReflect().Descriptor().FullName())
	return &generic.Item{Id: p.idOf(key), Data: &generic.Data{Union: &generic.Data_Any{Any: &anypb.Any{TypeUrl: url, Value: wire}}}}, nil
}

// GetConfig returns items of the configuration in effect.
func (s *managerService) GetConfig(ctx context.Context, req *generic.GetConfigRequest) (*generic.GetConfigResponse, error) {
	want, err := s.p.selection(req.GetIds())
	if err != nil {
		return nil, err
	}
	resp := &generic.GetConfigResponse{}
	c := clientOf(ctx)
	defer c.reportOmitted(ctx)
	for _, kv := range s.p.Orchestrator.ListData("") {
		if !want.has(kv.Key) || !orchestrator.Labelled(kv.Labels, req.GetLabels()) {
			continue
		}
		val, known := c.item(s.p.Orchestrator.Models(), kv.Val)
		if !known || !c.knows(val) {
			continue
		}
		it, err := s.p.encode(kv.Key, shown(ctx, val))
		if err != nil {
			return nil, err
		}
		resp.Items = append(resp.Items, &generic.ConfigItem{Item: it, Status: itemStatus(s.p.Orchestrator.Status(kv.Key)), Labels: kv.Labels})
	}
	return resp, nil
}

// selection is the items that a request is about.
type selection struct {
	all      bool
	keys     map[string]bool
	prefixes []string        // of the models whose items are all requested
	models   map[string]bool // names of the models of all of them; nil: all
}

func (p *Plugin) selection(ids []*generic.Item_ID) (s selection, err error) {
	if len(ids) == 0 {
		return selection{all: true}, nil
	}
	s = selection{keys: map[string]bool{}, models: map[string]bool{}}
	for i, id := range ids {
		model, ok := p.Orchestrator.Models().ForName(id.GetModel())
		if !ok {
			return s, status.Errorf(codes.InvalidArgument, "ids[%d].model: %q: no such model; MetaService.KnownModels lists them", i, shorten(id.GetModel()))
		}
		s.models[id.GetModel()] = true
		if id.GetName() == "" && !model.Singleton() {
			s.prefixes = append(s.prefixes, model.KeyPrefix())
		} else {
			s.keys[keyFor(model, id.GetName())] = true
		}
	}
	return s, nil
}

func (s selection) has(key string) bool {
	return s.all || s.keys[key] || slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// DumpState reads items from the southbound, with their metadata. What cannot
// be read is named in the trailer, as by ConfiguratorService.Dump; it is an
// error if it was asked for by its model.
func (s *managerService) DumpState(ctx context.Context, req *generic.DumpStateRequest) (*generic.DumpStateResponse, error) {
	want, err := s.p.selection(req.GetIds())
	if err != nil {
		return nil, err
	}
	found, unread := southbound.Read(s.p.Orchestrator.Models(), s.p.Scheduler, want.models)
	if want.models != nil && len(unread) > 0 {
		return nil, status.Error(codes.Unavailable, shorten(unread[0].Error()))
	}
	if err := tellUnread(ctx, len(found), unread); err != nil {
		return nil, err
	}
	resp := &generic.DumpStateResponse{}
	c := clientOf(ctx)
	defer c.reportOmitted(ctx)
	for _, kv := range found {
		if !want.has(kv.Key) {
			continue
		}
		val, known := c.item(s.p.Orchestrator.Models(), kv.Value)
		if !known || !c.knows(val) {
			continue
		}
		it, err := s.p.encode(kv.Key, shown(ctx, val))
		if err != nil {
			return nil, err
		}
		resp.Items = append(resp.Items, &generic.StateItem{Item: it, Metadata: southbound.Text(kv.Metadata)})
	}
	return resp, nil
}
