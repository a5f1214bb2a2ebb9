// Command 07_vpp-connection is a plugin that talks to VPP over its binary API: a
// request, two at once, one with many answers, and one that VPP refuses.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/tutorials/07_vpp-connection
//
// It uses the VPP that listens on /run/vpp/api.sock (another one: --vpp-socket
// PATH). Where none does, a simulator takes its place
// (plugins/govppmux/simulator), which answers as VPP does:
//
//	connected to VPP 25.10-simulated
//	one request: created the interface with index 1
//	two at once: created the interfaces with indexes 2 and 3
//	many answers: local0, loop0, loop1, loop2
//	refused: sw_interface_set_flags: VPPApiError: Invalid sw_if_index (-2)
//	removed the interfaces
//
// Messages are Go structs generated from VPP's own description of its API
// (go.fd.io/govpp/binapi): a request CreateLoopback has the reply
// CreateLoopbackReply, a SwInterfaceDump yields any number of SwInterfaceDetails.
//
// The plugin govppmux keeps the connection, for as long as the agent lives: Conn
// leads to whatever VPP is connected now, and while there is none requests fail
// at once with binapi.ErrDisconnected. What is to be done in every VPP that
// comes, a restarted one for example, belongs in OnSession.
//
// This is for what no model covers. Interfaces, routes and so on are better left
// to the KV Scheduler, which also knows what to do when a call fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/simulator"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, opts ...agent.Option) error {
	p := &HelloWorld{out: out}
	p.SetName("helloworld")
	p.GoVPPMux = govppmux.NewPlugin(govppmux.UseDeps(func(d *govppmux.Deps) { d.Local = simulator.NewPlugin() }))
	return agent.NewAgent(append(opts, agent.AllPlugins(p))...).Run()
}

// HelloWorld is a plugin that talks to VPP.
type HelloWorld struct {
	Deps
	out io.Writer
}

// Deps is what HelloWorld needs.
type Deps struct {
	infra.PluginDeps
	GoVPPMux *govppmux.Plugin
}

// Init has nothing to do: VPP is not connected before all plugins are ready.
func (p *HelloWorld) Init() error { return nil }

// AfterInit must not wait for VPP, which may be absent for days. A goroutine does,
// which ends before Close. No caller gets its error, so it is logged for
// the operator.
func (p *HelloWorld) AfterInit() error {
	p.Go(func(ctx context.Context) {
		if err := p.talk(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error("cannot talk to VPP", "error", err)
			p.Health.Failed("cannot talk to VPP", err)
		}
	})
	return nil
}

func (p *HelloWorld) talk(ctx context.Context) error {
	session, err := p.GoVPPMux.WaitSession(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, "connected to VPP", session.Version.Version)

	first, err := p.syncCall(ctx)
	if err != nil {
		return err
	}
	second, third, err := p.asyncCalls(ctx)
	if err != nil {
		return err
	}
	if err := p.multiReplyCall(ctx); err != nil {
		return err
	}
	p.refusedCall(ctx)
	return p.cleanUp(ctx, third, second, first)
}

// syncCall sends a request and waits for its reply. Call also looks at the field
// Retval of the reply; what is not 0 becomes an error.
func (p *HelloWorld) syncCall(ctx context.Context) (index interface_types.InterfaceIndex, err error) {
	reply := &interfaces.CreateLoopbackReply{}
	if err := p.GoVPPMux.Conn().Call(ctx, &interfaces.CreateLoopback{}, reply); err != nil {
		return 0, err
	}
	fmt.Fprintln(p.out, "one request: created the interface with index", reply.SwIfIndex)
	return reply.SwIfIndex, nil
}

// asyncCalls sends two requests before it waits for the first reply. VPP does
// them in this order; a thousand routes take hardly longer than one like this.
func (p *HelloWorld) asyncCalls(ctx context.Context) (a, b interface_types.InterfaceIndex, err error) {
	conn := p.GoVPPMux.Conn()
	replyA, replyB := &interfaces.CreateLoopbackReply{}, &interfaces.CreateLoopbackReply{}
	sentA := conn.Send(ctx, &interfaces.CreateLoopback{}, replyA)
	sentB := conn.Send(ctx, &interfaces.CreateLoopback{}, replyB)
	// Both are waited for, also if the first one failed.
	if err := errors.Join(sentA.Result(), sentB.Result()); err != nil {
		return 0, 0, err
	}
	fmt.Fprintf(p.out, "two at once: created the interfaces with indexes %d and %d\n", replyA.SwIfIndex, replyB.SwIfIndex)
	return replyA.SwIfIndex, replyB.SwIfIndex, nil
}

// multiReplyCall sends a request that has many answers.
func (p *HelloWorld) multiReplyCall(ctx context.Context) error {
	all, err := binapi.Dump[*interfaces.SwInterfaceDetails](ctx, p.GoVPPMux.Conn(), &interfaces.SwInterfaceDump{})
	if err != nil {
		return err
	}
	var names []string
	for _, i := range all {
		names = append(names, i.InterfaceName)
	}
	fmt.Fprintln(p.out, "many answers:", strings.Join(names, ", "))
	return nil
}

// refusedCall asks for what cannot be. Errors name the request; errors.As finds
// what VPP answered in a *binapi.RetvalError, and binapi.OutcomeUnknown
// reports whether the request may have had an effect nevertheless.
func (p *HelloWorld) refusedCall(ctx context.Context) {
	req := &interfaces.SwInterfaceSetFlags{SwIfIndex: 1 << 20, Flags: interface_types.IF_STATUS_API_FLAG_ADMIN_UP}
	err := p.GoVPPMux.Conn().Call(ctx, req, &interfaces.SwInterfaceSetFlagsReply{})
	fmt.Fprintln(p.out, "refused:", err)
}

// cleanUp removes the interfaces again, this time with the client that was
// generated for the messages: it runs on the same connection.
func (p *HelloWorld) cleanUp(ctx context.Context, indexes ...interface_types.InterfaceIndex) error {
	client := interfaces.NewServiceClient(p.GoVPPMux.Conn())
	for _, index := range indexes {
		if _, err := client.DeleteLoopback(ctx, &interfaces.DeleteLoopback{SwIfIndex: index}); err != nil {
			return fmt.Errorf("remove interface %d: %w", index, err)
		}
	}
	fmt.Fprintln(p.out, "removed the interfaces")
	return nil
}
