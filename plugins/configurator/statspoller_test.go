package configurator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// stats is a VPP that counts how often it is asked.
type stats struct {
	mu   sync.Mutex
	n    uint64
	ages []time.Duration
	fail map[uint64]error // by the number of the question
}

func (s *stats) InterfaceStats(maxAge time.Duration) ([]*interfaces.InterfaceStats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.ages = append(s.ages, maxAge)
	count := func(name string) *interfaces.InterfaceStats {
		return &interfaces.InterfaceStats{Name: name, Drops: s.n}
	}
	return []*interfaces.InterfaceStats{count("a"), count("b")}, s.fail[s.n]
}

// polls reads the stream to its end, as "poll name drops".
func (w *world) polls(req *pb.PollStatsRequest) (string, error) {
	w.t.Helper()
	stream, err := pb.NewStatsPollerServiceClient(w.Conn).PollStats(w.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, ","), nil
		}
		if err != nil {
			return strings.Join(all, ","), err
		}
		if l := resp.GetStats().GetLinuxStats().GetInterface(); l != nil {
			all = append(all, fmt.Sprintf("%d linux %s %d", resp.PollSeq, l.GetName(), l.GetRx().GetPackets()))
			continue
		}
		s := resp.GetStats().GetVppStats().GetInterface()
		all = append(all, fmt.Sprintf("%d %s %d", resp.PollSeq, s.GetName(), s.GetDrops()))
	}
}

func TestPollStats(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, c := range []struct {
		req  *pb.PollStatsRequest
		want string
	}{
		{&pb.PollStatsRequest{}, "1 a 1,1 b 1"},
		{&pb.PollStatsRequest{NumPolls: 1}, "1 a 2,1 b 2"},
		{&pb.PollStatsRequest{NumPolls: 1, PeriodSec: 3600}, "1 a 3,1 b 3"},
		{&pb.PollStatsRequest{NumPolls: 2, PeriodSec: 1}, "1 a 4,1 b 4,2 a 5,2 b 5"},
	} {
		if got, err := w.polls(c.req); err != nil || got != c.want {
			t.Errorf("%v: got %s, %v, want %s", c.req, got, err, c.want)
		}
	}
	if age := w.stats.ages[len(w.stats.ages)-1]; age <= 0 || age >= time.Second {
		t.Errorf("counters may be %v old, expected less than a period", age)
	}
	_, err := w.polls(&pb.PollStatsRequest{NumPolls: 2})
	wantError(t, err, codes.InvalidArgument, "period_sec: expected more than 0, as num_polls is 2")

	// Without an end it continues until a poll fails, or the client or the agent is gone.
	w.stats.fail = map[uint64]error{7: errors.New("VPP is gone")}
	got, err := w.polls(&pb.PollStatsRequest{PeriodSec: 1})
	if got != "1 a 6,1 b 6" {
		t.Errorf("got %s", got)
	}
	wantError(t, err, codes.Unavailable, "VPP is gone")
	stream, err := pb.NewStatsPollerServiceClient(w.Conn).PollStats(w.Context(), &pb.PollStatsRequest{PeriodSec: 3600})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	w.Stop()
	if _, err := stream.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the agent has stopped, and the stream: %v", err)
	}
}

// linuxStats is a Linux that counts how often it is asked.
type linuxStats struct {
	mu  sync.Mutex
	n   uint64
	err error
}

func (s *linuxStats) InterfaceStats(context.Context) ([]*linuxif.InterfaceStats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return []*linuxif.InterfaceStats{{Name: "x", Rx: &linuxif.InterfaceStats_CombinedCounter{Packets: s.n}}}, s.err
}

// The interfaces of Linux have counters for clients that ask for them.
func TestPollLinuxStats(t *testing.T) {
	t.Parallel()
	w := start(t)
	const vpp, linux = pb.PollStatsRequest_VPP, pb.PollStatsRequest_LINUX
	for _, c := range []struct {
		req  *pb.PollStatsRequest
		want string
	}{
		{&pb.PollStatsRequest{}, "1 a 1,1 b 1"},
		{&pb.PollStatsRequest{Sources: []pb.PollStatsRequest_Source{linux}}, "1 linux x 1"},
		{&pb.PollStatsRequest{Sources: []pb.PollStatsRequest_Source{linux, vpp}}, "1 a 2,1 b 2,1 linux x 2"},
		{&pb.PollStatsRequest{Sources: []pb.PollStatsRequest_Source{linux, linux}, NumPolls: 2, PeriodSec: 1}, "1 linux x 3,2 linux x 4"},
		{&pb.PollStatsRequest{Sources: []pb.PollStatsRequest_Source{vpp}}, "1 a 3,1 b 3"},
	} {
		if got, err := w.polls(c.req); err != nil || got != c.want {
			t.Errorf("%v: got %s, %v, want %s", c.req, got, err, c.want)
		}
	}
	_, err := w.polls(&pb.PollStatsRequest{Sources: []pb.PollStatsRequest_Source{vpp, 7}})
	wantError(t, err, codes.InvalidArgument, "sources[1]: 7: expected VPP or LINUX")
	w.linuxStats.err = errors.New("no namespace left")
	_, err = w.polls(&pb.PollStatsRequest{Sources: []pb.PollStatsRequest_Source{linux}})
	wantError(t, err, codes.Unavailable, "counters of Linux: no namespace left")
	if _, err = w.polls(&pb.PollStatsRequest{}); err != nil {
		t.Errorf("counters of VPP: %v", err)
	}
}

// An agent without counters says so.
func TestPollWithoutStats(t *testing.T) {
	t.Parallel()
	w := &world{t: t, Agent: orchtest.New(t)}
	w.Start(configurator.NewPlugin(configurator.UseDeps(func(d *configurator.Deps) {
		d.GRPC, d.Orchestrator, d.Scheduler = w.GRPC, w.Orchestrator, w.Scheduler
	})))
	_, err := w.polls(&pb.PollStatsRequest{})
	wantError(t, err, codes.Unimplemented, "this agent reads no counters of VPP")
	_, err = w.polls(&pb.PollStatsRequest{Sources: []pb.PollStatsRequest_Source{pb.PollStatsRequest_LINUX}})
	wantError(t, err, codes.Unimplemented, "this agent reads no counters of Linux")
}
