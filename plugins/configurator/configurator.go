package configurator

import (
	"context"
	"errors"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client/container"
	"github.com/tenuto-dev/tenuto/client/southbound"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
)

// configuratorService is the service for whole configurations.
type configuratorService struct {
	pb.UnimplementedConfiguratorServiceServer
	p *Plugin
}

// Get returns the configuration in effect, regardless of its source.
func (s *configuratorService) Get(ctx context.Context, _ *pb.GetRequest) (*pb.GetResponse, error) {
	defer s.p.stats.timed("Get")()
	var items []proto.Message
	for _, kv := range s.p.Orchestrator.ListData("") {
		items = append(items, shown(ctx, kv.Val))
	}
	cfg, err := s.p.config(ctx, items)
	return &pb.GetResponse{Config: cfg}, err
}

// shown is a value as the answer to a call may have it.
func shown(ctx context.Context, val proto.Message) proto.Message {
	if !grpc.ShowSecrets(ctx) {
		val, _ = logging.HideSecrets(val)
	}
	return val
}

// config puts items into one message, as far as the client of a call knows them.
func (p *Plugin) config(ctx context.Context, items []proto.Message) (*pb.Config, error) {
	c := clientOf(ctx)
	defer c.reportOmitted(ctx)
	set := p.Orchestrator.Models()
	known := make([]proto.Message, 0, len(items))
	for _, m := range items {
		if m, ok := c.item(set, m); ok {
			known = append(known, m)
		}
	}
	cfg := &pb.Config{}
	if err := container.Fill(set, known, cfg); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return c.reduced(cfg).(*pb.Config), nil
}

// Update adds or changes items.
func (s *configuratorService) Update(ctx context.Context, req *pb.UpdateRequest) (*pb.UpdateResponse, error) {
	defer s.p.stats.timed("Update")()
	items, err := s.p.itemsOf(req.GetUpdate(), "update", false)
	if err == nil {
		err = s.p.change(ctx, "Update", items, req.GetFullResync(), req.GetWaitDone())
	}
	return &pb.UpdateResponse{}, err
}

// Delete removes items.
func (s *configuratorService) Delete(ctx context.Context, req *pb.DeleteRequest) (*pb.DeleteResponse, error) {
	defer s.p.stats.timed("Delete")()
	items, err := s.p.itemsOf(req.GetDelete(), "delete", true)
	if err == nil {
		err = s.p.change(ctx, "Delete", items, false, req.GetWaitDone())
	}
	return &pb.DeleteResponse{}, err
}

// itemsOf finds the items in a message.
func (p *Plugin) itemsOf(cfg *pb.Config, path string, remove bool) ([]item, error) {
	set := p.Orchestrator.Models()
	var items []item
	var ps problems
	for _, f := range container.Extract(set, cfg, path) {
		model, _ := set.ForMessage(f.Item)
		key, err := model.KeyOf(f.Item)
		switch {
		case err != nil:
			ps = append(ps, problem{f.Path, "", "INVALID", err.Error()})
			continue
		case !model.Matches(key):
			ps = append(ps, problem{f.Path, key, "INVALID", "the item has no name; expected the fields that make up its key " + model.KeyPrefix() + "<name>"})
			continue
		}
		it := item{orchestrator.KeyVal{Key: key, Val: f.Item}, f.Path}
		if remove {
			it.Val = nil
		}
		items = append(items, it)
	}
	return items, ps.status(codes.InvalidArgument, "nothing was changed")
}

// change makes a change and, if asked to, waits until it is finished. A value that the
// southbound refuses is an error at once, although the scheduler retries it.
func (p *Plugin) change(ctx context.Context, method string, items []item, resync, waitDone bool) error {
	results, _, err := p.push(ctx, method, items, resync)
	txn, part := asFailed(err)
	switch {
	case part:
		return failed(txn, items, results)
	case err != nil:
		return err
	}
	if err := p.unimplemented(ctx, items, results); err != nil || !waitDone {
		return err
	}
	return p.wait(ctx, items, results)
}

// Dump reads the southbound. What cannot be read is left out and named in the
// trailer ("unread"), unless nothing can.
func (s *configuratorService) Dump(ctx context.Context, _ *pb.DumpRequest) (*pb.DumpResponse, error) {
	defer s.p.stats.timed("Dump")()
	found, unread := southbound.Read(s.p.Orchestrator.Models(), s.p.Scheduler, nil)
	if err := tellUnread(ctx, len(found), unread); err != nil {
		return nil, err
	}
	items := make([]proto.Message, len(found))
	for i, kv := range found {
		items[i] = shown(ctx, kv.Value)
	}
	cfg, err := s.p.config(ctx, items)
	return &pb.DumpResponse{Dump: cfg}, err
}

// UnreadTrailer is in the trailer of dumps, once for every model that could not
// be read, with the reason.
const UnreadTrailer = "unread-bin"

// tellUnread reports what could not be read; it returns an error if nothing could.
func tellUnread(ctx context.Context, found int, unread []error) error {
	if len(unread) == 0 {
		return nil
	}
	if found == 0 {
		return status.Error(codes.Unavailable, shorten(errors.Join(unread...).Error()))
	}
	md := metadata.MD{}
	for _, err := range unread {
		md.Append(UnreadTrailer, shorten(err.Error()))
	}
	_ = rpc.SetTrailer(ctx, md) // it fails where the client has gone
	return nil
}

// Notify streams changes of operational state.
func (s *configuratorService) Notify(req *pb.NotifyRequest, stream rpc.ServerStreamingServer[pb.NotifyResponse]) error {
	c := clientOf(stream.Context())
	return s.p.events.stream(stream.Context(), req, func(resp *pb.NotifyResponse) error {
		return stream.Send(c.reduced(resp).(*pb.NotifyResponse))
	})
}
