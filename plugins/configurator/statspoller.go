package configurator

import (
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
)

// statsPollerService is the service for what VPP counts.
type statsPollerService struct {
	pb.UnimplementedStatsPollerServiceServer
	p *Plugin
}

// PollStats sends the counters of every interface, each as a message, every
// period_sec seconds, the first time at once; poll_seq counts from 1. Without a
// period there is one poll, and with num_polls there are as many. A poll that
// fails ends the stream with the reason (Unavailable).
func (s *statsPollerService) PollStats(req *pb.PollStatsRequest, stream rpc.ServerStreamingServer[pb.PollStatsResponse]) error {
	polls, period := req.GetNumPolls(), time.Duration(req.GetPeriodSec())*time.Second
	switch {
	case s.p.Stats == nil:
		return status.Error(codes.Unimplemented, "this agent reads no counters of VPP")
	case period == 0 && polls > 1:
		return status.Errorf(codes.InvalidArgument, "period_sec: expected more than 0, as num_polls is %d", polls)
	case period == 0:
		polls = 1
	}
	tick := time.NewTicker(max(period, time.Second))
	defer tick.Stop()
	for seq := uint32(1); ; seq++ {
		if err := s.poll(seq, period, stream); err != nil {
			return err
		}
		if seq == polls {
			return nil
		}
		select {
		case <-tick.C:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// poll sends the counters, which must not be those of the poll before.
func (s *statsPollerService) poll(seq uint32, period time.Duration, stream rpc.ServerStreamingServer[pb.PollStatsResponse]) error {
	list, err := s.p.Stats.InterfaceStats(period / 2)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	for _, st := range list {
		resp := &pb.PollStatsResponse{PollSeq: seq, Stats: &pb.Stats{Stats: &pb.Stats_VppStats{VppStats: &vpp.Stats{Interface: st}}}}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
	return nil
}
