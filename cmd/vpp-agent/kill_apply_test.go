package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// interruptedRoutes is how many routes the interrupted change has.
const interruptedRoutes = 300

// routesChange is an interface and routes through it.
func routesChange(t *testing.T) *pb.Change {
	t.Helper()
	change := &pb.Change{}
	add := func(msg proto.Message) {
		value, err := anypb.New(msg)
		if err != nil {
			t.Fatal(err)
		}
		change.Items = append(change.Items, &pb.Item{Value: value})
	}
	add(&interfaces.Interface{Name: "loop1", Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true, IpAddresses: []string{"192.168.1.1/24"}})
	for i := range interruptedRoutes {
		add(&l3.Route{DstNetwork: fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), NextHopAddr: "192.168.1.2", OutgoingInterface: "loop1"})
	}
	return change
}

// api connects to the gRPC server of the agent, and then waits until it serves HTTP.
func (p *process) api() pb.AgentServiceClient {
	p.t.Helper()
	_, address, _ := strings.Cut(p.logged("serving gRPC"), `"address": "`)
	conn, err := rpc.NewClient(address[:strings.IndexByte(address, '"')], rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return pb.NewAgentServiceClient(conn)
}

func (s *simulator) routes() (n int) {
	for _, line := range s.ask("dump") {
		if strings.Contains(line, " 10.0.") || strings.Contains(line, " 10.1.") {
			n++
		}
	}
	return n
}

// An agent is killed in the middle of an Apply. The client gets UNAVAILABLE. With a state
// directory the next agent completes the change; without one it forgets the change, and lists
// what exists of it as orphans. In both cases the client repeats the call.
func TestKilledDuringApply(t *testing.T) {
	t.Parallel()
	programs := build(t)
	for name, args := range map[string][]string{"with a state directory": {"--state-dir"}, "without a state directory": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedDuringApply(t, programs, args)
		})
	}
}

func killedDuringApply(t *testing.T, programs string, args []string) {
	t.Helper()
	dir := t.TempDir()
	for _, program := range []string{"vpp-agent", "vpp-sim"} {
		if err := os.Symlink(filepath.Join(programs, program), filepath.Join(dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	kept := len(args) > 0
	if kept {
		args = append(args, filepath.Join(dir, "state"))
	}
	sim := simulate(t, dir)
	for file, text := range map[string]string{
		"govpp.conf": "reply-timeout: 20m\nbinapi-socket-path: " + filepath.Join(dir, "api.sock") + "\n", "kvscheduler.conf": "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begin := func() (*process, pb.AgentServiceClient) {
		p := spawn(t, dir, dir, args...)
		t.Cleanup(func() {
			p.end()
			if t.Failed() {
				t.Logf("log of the agent:\n%s", p.all.String())
			}
		})
		return p, p.api()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req := &pb.ApplyRequest{Change: routesChange(t)}

	agent, client := begin()
	agent.settled()
	sim.ask(fmt.Sprintf("hangat ip_route_add_del %d", interruptedRoutes/2))
	failed := make(chan error, 1)
	go func() {
		_, err := client.Apply(ctx, req)
		failed <- err
	}()
	for sim.ask("hung")[0] != "true" { // each question takes its time
		select {
		case err := <-failed:
			t.Fatalf("the call ended before the agent was killed: %v", err)
		default:
		}
	}
	agent.kill()
	if err := <-failed; status.Code(err) != codes.Unavailable {
		t.Errorf("the client of the killed agent: %v, expected Unavailable", err)
	}
	sim.ask("heal")
	sim.ask("resume")

	agent, client = begin()
	agent.settled()
	existing := sim.routes()
	if existing < interruptedRoutes/2-1 {
		t.Errorf("%d routes exist after the kill in the middle of %d", existing, interruptedRoutes)
	}
	if kept && existing != interruptedRoutes {
		t.Errorf("%d routes exist, expected the next agent to complete the change of %d", existing, interruptedRoutes)
	}
	reported(ctx, t, client, kept, existing)

	before := sim.counts()["ip_route_add_del"]
	resp, err := client.Apply(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resp.Results {
		if r.State != kvspb.ValueState_CONFIGURED {
			t.Errorf("after the repeated call: %v", r)
		}
	}
	if got := sim.routes(); len(resp.Results) != interruptedRoutes+1 || got != interruptedRoutes {
		t.Errorf("the repeated call: %d results, %d routes, expected %d", len(resp.Results), got, interruptedRoutes)
	}
	if again := sim.counts()["ip_route_add_del"] - before; again != interruptedRoutes-existing {
		t.Errorf("the repeated call made %d routes; %d of %d existed before", again, existing, interruptedRoutes)
	}
}

// reported checks that all routes that exist are items of a source, or are orphans.
func reported(ctx context.Context, t *testing.T, client pb.AgentServiceClient, kept bool, existing int) {
	t.Helper()
	items, err := client.ListItems(ctx, &pb.ListItemsRequest{KeyPrefix: "config/vpp/v2/route/"})
	if err != nil {
		t.Fatal(err)
	}
	orphans, err := client.ListOrphans(ctx, &pb.ListOrphansRequest{})
	if err != nil {
		t.Fatal(err)
	}
	routes := 0
	for _, o := range orphans.Orphans {
		if strings.HasPrefix(o.Key, "config/vpp/v2/route/") && strings.Contains(o.Key, "10.") {
			routes++
		}
	}
	wantItems, wantOrphans := existing, 0
	if !kept {
		wantItems, wantOrphans = 0, existing
	}
	if len(items.Items) != wantItems || routes != wantOrphans {
		t.Errorf("%d routes exist: %d are items, %d are orphans, expected %d and %d", existing, len(items.Items), routes, wantItems, wantOrphans)
	}
}
