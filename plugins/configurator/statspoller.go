package configurator

import (
	"context"
	"fmt"
	"slices"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
)

// statsPollerService is the service for what VPP and Linux count.
type statsPollerService struct {
	pb.UnimplementedStatsPollerServiceServer
	p *Plugin
}

// PollStats sends the counters of every interface, each as a message, every
// period_sec seconds, the first time at once; poll_seq counts from 1. Without a
// period there is one poll, and with num_polls there are as many. A poll that
// fails ends the stream with the reason (Unavailable). Clients that know no sources
// get the counters of VPP.
func (s *statsPollerService) PollStats(req *pb.PollStatsRequest, stream rpc.ServerStreamingServer[pb.PollStatsResponse]) error {
	polls, period := req.GetNumPolls(), time.Duration(req.GetPeriodSec())*time.Second
	switch err := s.checkSources(req.GetSources()); {
	case err != nil:
		return err
	case period == 0 && polls > 1:
		return status.Errorf(codes.InvalidArgument, "period_sec: expected more than 0, as num_polls is %d", polls)
	case period == 0:
		polls = 1
	}
	tick := time.NewTicker(max(period, time.Second))
	defer tick.Stop()
	for seq := uint32(1); ; seq++ {
		all, err := s.poll(stream.Context(), req, period/2)
		if err != nil {
			return status.Error(codes.Unavailable, err.Error())
		}
		for _, st := range all {
			if err := stream.Send(&pb.PollStatsResponse{PollSeq: seq, Stats: st}); err != nil {
				return err
			}
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

// checkSources rejects sources that do not exist, or have no counters in this agent.
func (s *statsPollerService) checkSources(sources []pb.PollStatsRequest_Source) error {
	for i, source := range sources {
		if _, known := pb.PollStatsRequest_Source_name[int32(source)]; !known {
			return status.Errorf(codes.InvalidArgument, "sources[%d]: %d: expected VPP or LINUX", i, source)
		}
	}
	switch {
	case has(sources, pb.PollStatsRequest_VPP) && s.p.Stats == nil:
		return status.Error(codes.Unimplemented, "this agent reads no counters of VPP")
	case has(sources, pb.PollStatsRequest_LINUX) && s.p.LinuxStats == nil:
		return status.Error(codes.Unimplemented, "this agent reads no counters of Linux")
	}
	return nil
}

// has reports whether a request is for a source; without any it is for VPP.
func has(sources []pb.PollStatsRequest_Source, source pb.PollStatsRequest_Source) bool {
	return slices.Contains(sources, source) || len(sources) == 0 && source == pb.PollStatsRequest_VPP
}

// poll reads the counters. The counters of VPP are no older than maxAge, and newer
// than the previous poll.
func (s *statsPollerService) poll(ctx context.Context, req *pb.PollStatsRequest, maxAge time.Duration) (all []*pb.Stats, err error) {
	if has(req.GetSources(), pb.PollStatsRequest_VPP) {
		list, err := s.p.Stats.InterfaceStats(maxAge)
		if err != nil {
			return nil, err
		}
		for _, st := range list {
			all = append(all, &pb.Stats{Stats: &pb.Stats_VppStats{VppStats: &vpp.Stats{Interface: st}}})
		}
	}
	if has(req.GetSources(), pb.PollStatsRequest_LINUX) {
		list, err := s.p.LinuxStats.InterfaceStats(ctx)
		if err != nil {
			return nil, fmt.Errorf("counters of Linux: %w", err)
		}
		for _, st := range list {
			all = append(all, &pb.Stats{Stats: &pb.Stats_LinuxStats{LinuxStats: &linux.Stats{Interface: st}}})
		}
	}
	return all, nil
}
