package configurator

import (
	"context"
	"errors"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

// Subscribe streams the states of items: first of all that exist, then of every
// one that changes. A client that is slow gets the latest state of each. The
// notifications have no data; GetConfig has it.
func (s *managerService) Subscribe(req *generic.SubscribeRequest, stream rpc.ServerStreamingServer[generic.SubscribeResponse]) error {
	ids := make([]*generic.Item_ID, len(req.GetSubscriptions()))
	for i, sub := range req.GetSubscriptions() {
		ids[i] = sub.GetId()
	}
	want, err := s.p.selection(ids)
	if err != nil {
		return err
	}
	watch := s.p.Scheduler.Watch(api.WatchRequest{Selector: want.has, NoResync: true})
	defer watch.Close()
	c := clientOf(stream.Context())
	for {
		ev, err := watch.Next(stream.Context())
		if err != nil {
			return ended(stream.Context(), err)
		}
		resp := &generic.SubscribeResponse{}
		for _, st := range ev.Values {
			id := s.p.idOf(st.GetValue().GetKey())
			if id == nil { // a value of the southbound, of no model
				continue
			}
			if m, ok := s.p.Orchestrator.Models().ForName(id.GetModel()); ok && !c.knowsModel(m) {
				continue
			}
			resp.Notifications = append(resp.Notifications, &generic.Notification{
				Item: &generic.Item{Id: id}, Status: itemStatus(orchestrator.Result{Status: st}),
			})
		}
		if len(resp.Notifications) == 0 && ev.Kind != api.WatchSnapshot {
			continue
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

// ended is the status of a stream that cannot continue.
func ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, api.ErrClosedScheduler):
		return status.Error(codes.Unavailable, "the agent stops")
	}
	return status.Error(codes.Internal, err.Error())
}
