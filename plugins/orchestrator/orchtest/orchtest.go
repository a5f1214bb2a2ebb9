// Package orchtest runs agents in tests that have a scheduler, an orchestrator, a gRPC server, and
// descriptors of a mock southbound. It is for tests of plugins that serve clients.
package orchtest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Patience is how long a test waits for what must come; it is no measure.
const Patience = 2 * time.Minute

// Agent is an agent whose southbound, named "mock", is connected from the start.
type Agent struct {
	SB           *kvstest.MockSB
	Scheduler    *kvscheduler.Scheduler
	Orchestrator *orchestrator.Plugin
	// GRPC serves on a free port of the loopback interface.
	GRPC *grpc.Plugin
	// Conn is a connection to GRPC, after Start.
	Conn *rpc.ClientConn

	t           testing.TB
	running     *agent.Agent
	descriptors descriptors
}

// New returns an agent that is not started. It handles interfaces, and routes that need them; an
// interface is invalid if its MTU is larger than 9000.
func New(t testing.TB, opts ...orchestrator.Option) *Agent {
	sb := kvstest.NewMockSB()
	return NewWith(t, sb, []*api.KVDescriptor{
		Describe(sb, "interface", ifmodel.InterfaceModel, nil),
		Describe(sb, "route", l3model.RouteModel, func(r *l3.Route) []api.Dependency {
			return []api.Dependency{{Label: "interface", Key: ifmodel.InterfaceModel.KeyFor(r.OutgoingInterface)}}
		}),
	}, opts...)
}

// NewWith is New with other descriptors.
func NewWith(t testing.TB, sb *kvstest.MockSB, list []*api.KVDescriptor, opts ...orchestrator.Option) *Agent {
	a := &Agent{t: t, SB: sb, Scheduler: kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard))}
	a.Orchestrator = orchestrator.NewPlugin(append(opts, orchestrator.UseScheduler(a.Scheduler))...)
	a.GRPC = grpc.NewPlugin(grpc.UseDeps(func(d *grpc.Deps) { d.Cfg = config.Text("grpc", "endpoint: 127.0.0.1:0") }))
	a.descriptors = descriptors{Scheduler: a.Scheduler, list: list}
	a.descriptors.SetName("descriptors")
	return a
}

// Start starts the agent with the plugins of the test, and connects to it. It is stopped when the
// test ends, if not before.
func (a *Agent) Start(plugins ...infra.Plugin) {
	a.t.Helper()
	a.running = agenttest.Start(a.t, append([]infra.Plugin{&a.descriptors}, plugins...)...)
	conn, err := rpc.NewClient(a.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = conn.Close() })
	a.Conn = conn
}

// Stop stops the agent.
func (a *Agent) Stop() {
	if err := a.running.Stop(); err != nil {
		a.t.Error(err)
	}
}

// Context returns the context of one call.
func (a *Agent) Context() context.Context {
	ctx, cancel := context.WithTimeout(a.t.Context(), Patience)
	a.t.Cleanup(cancel)
	return ctx
}

// descriptors is the plugin that registers descriptors.
type descriptors struct {
	infra.PluginDeps
	Scheduler *kvscheduler.Scheduler
	list      []*api.KVDescriptor
}

func (d *descriptors) Init() error {
	d.Scheduler.SouthboundUp("mock", 1)
	return d.Scheduler.RegisterKVDescriptor(d.list...)
}

// Describe returns the descriptor of a model in the mock southbound. deps may be nil.
func Describe[V proto.Message](sb *kvstest.MockSB, name string, m models.Model[V], deps func(V) []api.Dependency) *api.KVDescriptor {
	d := api.Descriptor[V, *kvstest.Meta]{
		Name: name, WithMetadata: true, Partial: true, Southbound: "mock", Timeout: Patience,
		Validate: func(_ string, v V) error {
			if i, ok := proto.Message(v).(*interfaces.Interface); ok && i.Mtu > 9000 {
				return api.NewInvalidValueError(errors.New("the largest is 9000"), "mtu")
			}
			return nil
		},
		Create: func(key string, v V) (*kvstest.Meta, error) { return sb.Create(key, v) },
		Update: func(key string, _, v V, meta *kvstest.Meta) (*kvstest.Meta, error) { return sb.Update(key, v, meta) },
		Delete: func(key string, _ V, meta *kvstest.Meta) error { return sb.Delete(key, meta) },
		Retrieve: func([]api.KV[V, *kvstest.Meta]) (kvs []api.KV[V, *kvstest.Meta], err error) {
			all, err := sb.Retrieve(name, m.Matches)
			for _, kv := range all {
				kvs = append(kvs, api.KV[V, *kvstest.Meta]{
					Key: kv.Key, Value: kv.Value.(V), Metadata: kv.Metadata.(*kvstest.Meta), Origin: api.FromNB,
				})
			}
			return kvs, err
		},
	}
	if deps != nil {
		d.Dependencies = func(_ string, v V) []api.Dependency { return deps(v) }
	}
	return api.Adapt(api.Describe(m, d))
}
