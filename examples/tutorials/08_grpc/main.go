// Command 08_grpc shows how a program configures an agent over gRPC, typed: it
// puts a loopback and a route into the configuration, reads back the desired state
// and what is really there, hears how the interface fares, and removes both.
//
// It needs an agent; one with a simulated VPP will do. Run both from the root of
// the repository:
//
//	go run ./cmd/vpp-agent --simulate
//	go run ./examples/tutorials/08_grpc
//
// The address is an argument: "127.0.0.1:9111" if there is none, and
// "unix:/run/agent.sock" for an agent with --grpc-socket /run/agent.sock. An agent
// that asks for tokens finds one in the metadata
// (metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer TOKEN")), and
// one with TLS wants credentials.NewTLS instead of insecure.NewCredentials.
//
// Programs that handle items of any model, without knowing them all, use the
// client in client/remote instead; it has the methods of the client in the
// process of an agent.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func main() {
	address := "127.0.0.1:9111"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout, address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// network is what the agent is asked for.
func network() *configurator.Config {
	return &configurator.Config{VppConfig: &vpp.ConfigData{
		Interfaces: []*interfaces.Interface{{
			Name: "tutorial", Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true, IpAddresses: []string{"10.8.0.1/24"},
		}},
		Routes: []*l3.Route{{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.8.0.2", OutgoingInterface: "tutorial"}},
	}}
}

func run(ctx context.Context, out io.Writer, address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	agent := configurator.NewConfiguratorServiceClient(conn)

	// A mistake changes nothing, and the answer says where it is.
	wrong := network()
	wrong.VppConfig.Interfaces[0].IpAddresses = []string{"10.8.0.1/64"}
	_, err = agent.Update(ctx, &configurator.UpdateRequest{Update: wrong})
	explain(out, err)

	// With WaitDone the answer comes when everything is in place; without, values
	// that wait for others (PENDING) are as good.
	if _, err := agent.Update(ctx, &configurator.UpdateRequest{Update: network(), WaitDone: true}); err != nil {
		return err
	}
	fmt.Fprintln(out, "updated")
	if err := show(ctx, out, agent); err != nil {
		return err
	}
	if err := listen(ctx, out, agent); err != nil {
		return err
	}
	if _, err := agent.Delete(ctx, &configurator.DeleteRequest{Delete: network(), WaitDone: true}); err != nil {
		return err
	}
	fmt.Fprintln(out, "deleted")
	return nil
}

// explain prints what a request was refused for. Programs find the items in the
// details.
func explain(out io.Writer, err error) {
	st := status.Convert(err)
	fmt.Fprintf(out, "%v: %s\n", st.Code(), st.Message())
	for _, detail := range st.Details() {
		if items, ok := detail.(*generic.SetConfigResponse); ok {
			for _, it := range items.Results {
				fmt.Fprintf(out, "  %s is %s\n", it.Key, it.Status.Status)
			}
		}
	}
}

// show prints the desired (Get) and the actual state (Dump).
func show(ctx context.Context, out io.Writer, agent configurator.ConfiguratorServiceClient) error {
	wanted, err := agent.Get(ctx, &configurator.GetRequest{})
	if err != nil {
		return err
	}
	for _, r := range wanted.GetConfig().GetVppConfig().GetRoutes() {
		fmt.Fprintf(out, "wanted: a route to %s via %s\n", r.DstNetwork, r.OutgoingInterface)
	}
	there, err := agent.Dump(ctx, &configurator.DumpRequest{})
	if err != nil {
		return err
	}
	for _, i := range there.GetDump().GetVppConfig().GetInterfaces() {
		if i.Name == "tutorial" {
			fmt.Fprintf(out, "there: interface %s with %v\n", i.Name, i.IpAddresses)
		}
	}
	return nil
}

// listen waits until the interface is up. The stream begins with the oldest
// notification that the agent has; Idx continues from one.
func listen(ctx context.Context, out io.Writer, agent configurator.ConfiguratorServiceClient) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	of := &configurator.Notification{Notification: &configurator.Notification_VppNotification{VppNotification: &vpp.Notification{
		Interface: &interfaces.InterfaceNotification{State: &interfaces.InterfaceState{Name: "tutorial"}},
	}}}
	stream, err := agent.Notify(ctx, &configurator.NotifyRequest{Filters: []*configurator.Notification{of}})
	if err != nil {
		return err
	}
	for {
		n, err := stream.Recv()
		if err != nil {
			return err
		}
		state := n.GetNotification().GetVppNotification().GetInterface().GetState()
		if state.GetOperStatus() == interfaces.InterfaceState_UP {
			fmt.Fprintf(out, "interface %s is UP\n", state.GetName())
			return nil
		}
	}
}
