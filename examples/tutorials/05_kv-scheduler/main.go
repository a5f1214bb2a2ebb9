// Command 05_kv-scheduler is a plugin that lets the KV Scheduler do its
// thinking: it describes interfaces and routes, and three transactions show
// that their order does not matter.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/tutorials/05_kv-scheduler
//
// Each transaction is printed before and after it is executed, with the planned
// and the executed operations. Look for the order of operations, and for [NOOP
// IS-PENDING] and [WAS-PENDING] in the third case.
//
// The model is in model/, the descriptors are in descriptors.go, and the
// adapters in descriptor/adapter are generated ("go generate" in this folder).
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name Interface --value-type *model.Interface --import "github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model" --output-dir "descriptor"
//go:generate go run github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter --descriptor-name Route --value-type *model.Route --import "github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model" --output-dir "descriptor"

func main() {
	a, _ := newAgent(os.Stdout)
	if err := a.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newAgent returns the agent with its plugin; both print to out.
func newAgent(out io.Writer, opts ...agent.Option) (*agent.Agent, *HelloWorld) {
	p := &HelloWorld{out: out, done: make(chan error, 1)}
	p.SetName("helloworld")
	p.KVScheduler = kvscheduler.NewPlugin(kvscheduler.UseOutput(out))
	return agent.NewAgent(append(opts, agent.AllPlugins(p))...), p
}

// HelloWorld is a plugin that uses the scheduler.
type HelloWorld struct {
	Deps
	out  io.Writer
	done chan error // receives the result of the three cases
}

// Deps is what HelloWorld needs.
type Deps struct {
	infra.PluginDeps
	KVScheduler api.KVScheduler
}

// Init registers the descriptors.
func (p *HelloWorld) Init() error {
	p.Log.Println("Hello World!")
	return p.KVScheduler.RegisterKVDescriptor(
		NewIfDescriptor(p.Log),
		NewRouteDescriptor(p.Log),
	)
}

// AfterInit plays the northbound.
func (p *HelloWorld) AfterInit() error {
	p.Go(func(ctx context.Context) { p.done <- p.threeCases(ctx) })
	return nil
}

func (p *HelloWorld) threeCases(ctx context.Context) error {
	p.say("CASE 1: the interface and the route in a single transaction")
	err := p.commit(ctx, p.KVScheduler.StartNBTransaction().
		SetValue("/interface/if1", &model.Interface{Name: "if1"}).
		SetValue("/route/route1", &model.Route{Name: "route1", InterfaceName: "if1"}))
	if err != nil {
		return err
	}

	p.say("CASE 2: the route and the interface in a single transaction, in this order")
	err = p.commit(ctx, p.KVScheduler.StartNBTransaction().
		SetValue("/route/route2", &model.Route{Name: "route2", InterfaceName: "if2"}).
		SetValue("/interface/if2", &model.Interface{Name: "if2"}))
	if err != nil {
		return err
	}

	p.say("CASE 3: the route, then the interface in another transaction")
	err = p.commit(ctx, p.KVScheduler.StartNBTransaction().
		SetValue("/route/route3", &model.Route{Name: "route3", InterfaceName: "if3"}))
	if err != nil {
		return err
	}
	return p.commit(ctx, p.KVScheduler.StartNBTransaction().
		SetValue("/interface/if3", &model.Interface{Name: "if3"}))
}

func (p *HelloWorld) say(text string) { fmt.Fprintf(p.out, "\n%s\n\n", text) }

// commit waits until the transaction is executed; the option makes the
// scheduler print the plan as well.
func (p *HelloWorld) commit(ctx context.Context, txn api.Txn) error {
	_, err := txn.Commit(ctx, api.WithSimulation())
	return err
}
