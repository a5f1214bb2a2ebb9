package app_test

import (
	"context"
	"fmt"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	vppif "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A client with default settings sends 100,000 routes in one request, reads them
// back, and hears of the interface that they go through.
func TestManyRoutesOverGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	const routes = 100_000
	h := newHouse(t, "{}", "--simulate")
	h.start(t)
	conn, err := rpc.NewClient(h.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := configurator.NewConfiguratorServiceClient(conn)
	data := &vpp.ConfigData{Interfaces: []*vppif.Interface{{Name: "loop1", Type: vppif.Interface_SOFTWARE_LOOPBACK, Enabled: true, IpAddresses: []string{"10.1.0.1/24"}}}}
	for i := range routes {
		data.Routes = append(data.Routes, &l3.Route{
			DstNetwork: fmt.Sprintf("%d.%d.%d.0/24", 20+i>>16, i>>8&255, i&255), NextHopAddr: "10.1.0.2", OutgoingInterface: "loop1"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	if _, err := c.Update(ctx, &configurator.UpdateRequest{Update: &configurator.Config{VppConfig: data}, WaitDone: true}); err != nil {
		t.Fatal(err)
	}
	h.await(t, "config/vpp/v2/route/if/loop1/vrf/0/dst/21.134.159.0/24/gw/10.1.0.2", pb.ValueState_CONFIGURED)
	got, err := c.Get(ctx, &configurator.GetRequest{}, rpc.MaxCallRecvMsgSize(64<<20))
	if err != nil || len(got.GetConfig().GetVppConfig().GetRoutes()) != routes {
		t.Errorf("read back: %d routes, %v", len(got.GetConfig().GetVppConfig().GetRoutes()), err)
	}
	notes, err := c.Notify(ctx, &configurator.NotifyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		n, err := notes.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if s := n.GetNotification().GetVppNotification().GetInterface().GetState(); s.GetName() == "loop1" && s.GetOperStatus() == vppif.InterfaceState_UP {
			break
		}
	}
	if _, err := c.Update(ctx, &configurator.UpdateRequest{FullResync: true, WaitDone: true}); err != nil {
		t.Fatal(err)
	}
	h.await(t, loopKey, pb.ValueState_NONEXISTENT)
}

// Clients of gRPC are notified of Linux interfaces with speed and counters, and poll the counters.
func TestLinuxInterfacesOverGRPC(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "{}", "--simulate")
	h.write(t, "linux-nsplugin.conf", "disabled: false\n") // it is simulated
	h.start(t)
	conn, err := rpc.NewClient(h.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	end := func(name, peer string) *linuxif.Interface {
		return &linuxif.Interface{Name: name, Type: linuxif.Interface_VETH, Enabled: true, Link: &linuxif.Interface_Veth{Veth: &linuxif.VethLink{PeerIfName: peer}}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := configurator.NewConfiguratorServiceClient(conn)
	config := &configurator.Config{LinuxConfig: &linux.ConfigData{Interfaces: []*linuxif.Interface{end("x", "y"), end("y", "x")}}}
	if _, err := c.Update(ctx, &configurator.UpdateRequest{Update: config, WaitDone: true}); err != nil {
		t.Fatal(err)
	}
	of := &configurator.Notification{Notification: &configurator.Notification_LinuxNotification{LinuxNotification: &linux.Notification{
		Interface: &linuxif.InterfaceNotification{State: &linuxif.InterfaceState{Name: "x", OperStatus: linuxif.InterfaceState_UP}},
	}}}
	notes, err := c.Notify(ctx, &configurator.NotifyRequest{Filters: []*configurator.Notification{of}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := notes.Recv()
	if s := n.GetNotification().GetLinuxNotification().GetInterface().GetState(); err != nil || s.GetSpeed() != 10_000_000_000 || s.GetStatistics() == nil {
		t.Errorf("notification %v, %v", n, err)
	}
	polls, err := configurator.NewStatsPollerServiceClient(conn).PollStats(ctx, &configurator.PollStatsRequest{Sources: []configurator.PollStatsRequest_Source{configurator.PollStatsRequest_LINUX}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y"} {
		if got, err := polls.Recv(); err != nil || got.GetStats().GetLinuxStats().GetInterface().GetName() != name {
			t.Errorf("counters %v, %v, expected the counters of %s", got, err, name)
		}
	}
}
