// Package remote is the client of an agent elsewhere, over gRPC. It has the
// methods of the client in the process of the agent:
//
//	conn, err := grpc.NewClient("127.0.0.1:9111", grpc.WithTransportCredentials(insecure.NewCredentials()))
//	...
//	c, err := remote.New(ctx, conn, set)
//	...
//	results, err := c.ChangeRequest().Update(&interfaces.Interface{Name: "loop1"}).Send(ctx)
package remote

import (
	"context"
	"errors"
	"fmt"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/client/container"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Keys in the metadata of a change, and in the trailer of a dump.
const (
	sourceMetadata      = "datasrc"
	revertMetadata      = "tenuto-revert"
	descriptionMetadata = "tenuto-description-bin"
	unreadTrailer       = "unread-bin"
	showSecrets         = "show-secrets"
	clientMetadata      = "tenuto-client"
)

// typeURLPrefix is the beginning of the type URLs of items.
const typeURLPrefix = "models.ligato.io/"

// maxAnswer bounds an answer, in bytes; configurations are large.
const maxAnswer = 1 << 30

// Option is an option of New.
type Option func(*remote)

// AsSource makes the changes belong to a source of this name, instead of the one that
// all remote clients share ("grpc").
func AsSource(name string) Option { return func(c *remote) { c.source = name } }

// WithSecrets lets GetConfig, GetItems and DumpState have the secrets of values,
// such as keys of tunnels, which are hidden otherwise: for programs that read
// items, change them and send them back. Where the agent knows users, they need
// the permission secrets.
func WithSecrets() Option { return func(c *remote) { c.secrets = true } }

type remote struct {
	manager generic.ManagerServiceClient
	set     *models.Set // models that both sides know
	source  string
	secrets bool
}

// New returns a client of the agent at the other end of a connection, and asks
// it for its models; only those that are in set as well can be used. The
// connection stays the caller's.
//
// Results and items have no Source. Send returns an error that names the fields if
// the agent rejected the request as a whole, or an error with the number of failed
// items; the results of these items have their errors.
func New(ctx context.Context, conn rpc.ClientConnInterface, set *models.Set, opts ...Option) (client.Client, error) {
	resp, err := generic.NewMetaServiceClient(conn).KnownModels(announced(ctx), &generic.KnownModelsRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the agent for its models: %w", err)
	}
	theirs := map[string]bool{}
	for _, m := range resp.GetKnownModels() {
		s := m.GetSpec()
		spec := models.Spec{Module: s.GetModule(), Version: s.GetVersion(), Type: s.GetType(), Class: s.GetClass()}
		theirs[spec.KeyPrefix()+m.GetProtoName()] = true
	}
	var both []models.Known
	for _, m := range set.All() {
		if theirs[m.Spec().KeyPrefix()+string(m.ProtoName())] {
			both = append(both, m)
		}
	}
	c := &remote{manager: generic.NewManagerServiceClient(conn)}
	for _, o := range opts {
		o(c)
	}
	c.set, err = models.NewSet(both...)
	return c, err
}

func (c *remote) KnownModels(class string) []models.Known {
	var known []models.Known
	for _, m := range c.set.All() {
		if class == "" || m.Spec().Class == class {
			known = append(known, m)
		}
	}
	return known
}

func (c *remote) ChangeRequest() *client.ChangeRequest {
	return client.NewChangeRequest(c.set.KeyOf, c.send)
}

func (c *remote) ResyncConfig(ctx context.Context, items ...proto.Message) ([]client.Result, error) {
	return c.ChangeRequest().Update(items...).Replace().Send(ctx)
}

func (c *remote) send(ctx context.Context, changes client.Changes) ([]client.Result, error) {
	req := &generic.SetConfigRequest{OverwriteAll: changes.Resync}
	for _, ch := range changes.Items {
		it, err := c.encode(ch)
		if err != nil {
			return nil, err
		}
		req.Updates = append(req.Updates, &generic.UpdateItem{Item: it, Labels: ch.Labels})
	}
	if c.source != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, sourceMetadata, c.source)
	}
	if changes.Revert {
		ctx = metadata.AppendToOutgoingContext(ctx, revertMetadata, "true")
	}
	if changes.Description != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, descriptionMetadata, changes.Description)
	}
	resp, err := c.manager.SetConfig(announced(ctx), req, rpc.MaxCallRecvMsgSize(maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("change request: %w", err)
	}
	return results(resp.GetResults())
}

func (c *remote) encode(ch client.Change) (*generic.Item, error) {
	model, ok := c.set.ForKey(ch.Key)
	if !ok {
		return nil, fmt.Errorf("change request: key %s: no model has such keys", ch.Key)
	}
	it := &generic.Item{Id: &generic.Item_ID{Model: model.Spec().ModelName()}}
	if !model.Singleton() {
		it.Id.Name = model.Label(ch.Key)
	}
	if ch.Value == nil {
		return it, nil
	}
	wire, err := proto.Marshal(ch.Value)
	if err != nil {
		return nil, fmt.Errorf("change request: key %s: %w", ch.Key, err)
	}
	it.Data = &generic.Data{Union: &generic.Data_Any{Any: &anypb.Any{TypeUrl: typeURLPrefix + string(model.ProtoName()), Value: wire}}}
	return it, nil
}

// results returns the results of the items.
func results(list []*generic.UpdateResult) ([]client.Result, error) {
	all := make([]client.Result, len(list))
	var first error
	failed, unimplemented := 0, 0
	for i, r := range list {
		all[i] = client.Result{Key: r.GetKey(), Status: statusOf(r.GetKey(), r.GetStatus())}
		switch all[i].State() {
		case kvspb.ValueState_FAILED, kvspb.ValueState_RETRYING, kvspb.ValueState_INVALID, kvspb.ValueState_UNIMPLEMENTED:
			all[i].Err = errors.New(r.GetStatus().GetMessage())
			if failed++; first == nil {
				first = fmt.Errorf("%s: %w", r.GetKey(), all[i].Err)
			}
			if all[i].State() == kvspb.ValueState_UNIMPLEMENTED {
				unimplemented++
			}
		}
	}
	switch {
	case failed == 0:
		return all, nil
	case unimplemented == 1 && failed == 1:
		return all, failedError{fmt.Errorf("accepted, but 1 value is UNIMPLEMENTED: %w", first)}
	case unimplemented == failed:
		return all, failedError{fmt.Errorf("accepted, but %d values are UNIMPLEMENTED: %w", failed, first)}
	}
	return all, failedError{fmt.Errorf("%d of %d items failed: %w", failed, len(list), first)}
}

// failedError is the error of a change with items that failed. It has the same gRPC code
// as the same change by a client of the predecessor.
type failedError struct{ error }

func (e failedError) Unwrap() error { return e.error }

// GRPCStatus returns the status for status.FromError.
func (e failedError) GRPCStatus() *status.Status {
	return status.New(codes.FailedPrecondition, e.Error())
}

// statusOf reads a state.
func statusOf(key string, st *generic.ItemStatus) *kvspb.BaseValueStatus {
	v := &kvspb.ValueStatus{Key: key, State: kvspb.ValueState(kvspb.ValueState_value[st.GetStatus()])}
	switch v.State {
	case kvspb.ValueState_PENDING:
		v.Details = []string{st.GetMessage()}
	default:
		v.Error = st.GetMessage()
	}
	return &kvspb.BaseValueStatus{Value: v}
}

func (c *remote) GetConfig(ctx context.Context, dst ...proto.Message) error {
	items, err := c.GetItems(ctx)
	if err != nil {
		return err
	}
	values := make([]proto.Message, len(items))
	for i, it := range items {
		values[i] = it.Value
	}
	return container.Fill(c.set, values, dst...)
}

// announced is the context of a call: this client knows all fields and models, and looks
// for failures in the results.
func announced(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, clientMetadata, "1")
}

// reading is the context of a call that asks for values.
func (c *remote) reading(ctx context.Context) context.Context {
	ctx = announced(ctx)
	if !c.secrets {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, showSecrets, "true")
}

// GetItems leaves out items of models that are not known here.
func (c *remote) GetItems(ctx context.Context) ([]client.Item, error) {
	resp, err := c.manager.GetConfig(c.reading(ctx), &generic.GetConfigRequest{}, rpc.MaxCallRecvMsgSize(maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("get configuration: %w", err)
	}
	var items []client.Item
	for _, it := range resp.GetItems() {
		key, val, err := c.decode(it.GetItem())
		if err != nil {
			return nil, fmt.Errorf("get configuration: %w", err)
		}
		if val != nil {
			items = append(items, client.Item{Key: key, Value: val, Labels: it.GetLabels(), Status: statusOf(key, it.GetStatus())})
		}
	}
	return items, nil
}

// decode reads an item; nil: its model is not known here.
func (c *remote) decode(it *generic.Item) (key string, val proto.Message, err error) {
	model, ok := c.set.ForName(it.GetId().GetModel())
	if !ok {
		return "", nil, nil
	}
	val = model.NewInstance()
	if err := proto.Unmarshal(it.GetData().GetAny().GetValue(), val); err != nil {
		return "", nil, fmt.Errorf("%s %s: %w", it.GetId().GetModel(), it.GetId().GetName(), err)
	}
	key, err = model.KeyOf(val)
	return key, val, err
}

func (c *remote) DumpState(ctx context.Context) ([]client.StateItem, error) {
	var trailer metadata.MD
	resp, err := c.manager.DumpState(c.reading(ctx), &generic.DumpStateRequest{}, rpc.MaxCallRecvMsgSize(maxAnswer), rpc.Trailer(&trailer))
	if err != nil {
		return nil, fmt.Errorf("dump state: %w", err)
	}
	var items []client.StateItem
	for _, it := range resp.GetItems() {
		key, val, err := c.decode(it.GetItem())
		if err != nil {
			return nil, fmt.Errorf("dump state: %w", err)
		}
		if val != nil {
			items = append(items, client.StateItem{Key: key, Value: val, Metadata: it.GetMetadata()})
		}
	}
	if unread := trailer.Get(unreadTrailer); len(unread) > 0 {
		return items, &client.UnreadError{Reasons: unread}
	}
	return items, nil
}
