package configurator_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; it is no measure.
const patience = 2 * time.Minute

// descriptors is the plugin that lets the scheduler handle interfaces, and
// routes that need them, in a mock southbound.
type descriptors struct {
	infra.PluginDeps
	Scheduler *kvscheduler.Scheduler
	sb        *kvstest.MockSB
}

func (d *descriptors) Init() error {
	d.Scheduler.SouthboundUp("mock", 1)
	return d.Scheduler.RegisterKVDescriptor(
		describe(d.sb, "interface", ifmodel.InterfaceModel, nil),
		describe(d.sb, "route", l3model.RouteModel, func(r *l3.Route) []api.Dependency {
			return []api.Dependency{{Label: "interface", Key: ifmodel.InterfaceModel.KeyFor(r.OutgoingInterface)}}
		}))
}

var errMTU = errors.New("the largest is 9000")

func describe[V proto.Message](sb *kvstest.MockSB, name string, m models.Model[V], deps func(V) []api.Dependency) *api.KVDescriptor {
	d := api.Descriptor[V, *kvstest.Meta]{
		Name: name, WithMetadata: true, Southbound: "mock", Timeout: patience,
		Validate: func(_ string, v V) error {
			if i, ok := proto.Message(v).(*interfaces.Interface); ok && i.Mtu > 9000 {
				return api.NewInvalidValueError(errMTU, "mtu")
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

// states is a source of states of interfaces.
type states struct {
	tell func(*interfaces.InterfaceNotification)
}

func (s *states) Watch(f func(*interfaces.InterfaceNotification)) (cancel func()) {
	s.tell = f
	return func() {}
}

// linuxStates is a source of states of interfaces of Linux.
type linuxStates struct {
	tell func(*linuxif.InterfaceNotification)
}

func (s *linuxStates) Watch(f func(*linuxif.InterfaceNotification)) (cancel func()) {
	s.tell = f
	return func() {}
}

// world is an agent with a mock southbound, and a client of it.
type world struct {
	t            *testing.T
	sb           *kvstest.MockSB
	scheduler    *kvscheduler.Scheduler
	orchestrator *orchestrator.Plugin
	states       *states
	linux        *linuxStates
	stats        *stats
	config       pb.ConfiguratorServiceClient
	manager      generic.ManagerServiceClient
	meta         generic.MetaServiceClient
	conn         *rpc.ClientConn
	stop         func()
}

func start(t *testing.T, opts ...orchestrator.Option) *world {
	t.Helper()
	w := &world{t: t, sb: kvstest.NewMockSB(), states: &states{}, linux: &linuxStates{}, stats: &stats{}}
	w.scheduler = kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard))
	d := &descriptors{Scheduler: w.scheduler, sb: w.sb}
	d.SetName("descriptors")
	w.orchestrator = orchestrator.NewPlugin(append(opts, orchestrator.UseScheduler(w.scheduler))...)
	server := grpc.NewPlugin(grpc.UseDeps(func(d *grpc.Deps) { d.Cfg = config.Text("grpc", "endpoint: 127.0.0.1:0") }))
	p := configurator.NewPlugin(configurator.UseDeps(func(d *configurator.Deps) {
		d.GRPC, d.Orchestrator, d.Scheduler, d.Interfaces, d.Stats = server, w.orchestrator, w.scheduler, w.states, w.stats
		d.LinuxInterfaces = w.linux
	}))
	a := agenttest.Start(t, d, p)
	w.stop = func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	}
	conn, err := rpc.NewClient(server.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	w.conn = conn
	w.config, w.manager, w.meta = pb.NewConfiguratorServiceClient(conn), generic.NewManagerServiceClient(conn), generic.NewMetaServiceClient(conn)
	return w
}

// ctx is for one call.
func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

func iface(name string, mtu uint32) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Mtu: mtu}
}

func key(name string) string { return ifmodel.InterfaceModel.KeyFor(name) }

func route(dst, via string) *l3.Route { return &l3.Route{DstNetwork: dst, OutgoingInterface: via} }

func withInterfaces(all ...*interfaces.Interface) *pb.Config {
	return &pb.Config{VppConfig: &vpp.ConfigData{Interfaces: all}}
}

func (w *world) update(req *pb.UpdateRequest, opts ...rpc.CallOption) {
	w.t.Helper()
	if _, err := w.config.Update(w.ctx(), req, opts...); err != nil {
		w.t.Fatal(err)
	}
}

// mtu is that of the interface in the southbound; -1: there is none.
func (w *world) mtu(name string) int {
	i, ok := w.sb.Get(key(name)).(*interfaces.Interface)
	if !ok {
		return -1
	}
	return int(i.Mtu)
}

func (w *world) wantMTU(name string, want int) {
	w.t.Helper()
	if got := w.mtu(name); got != want {
		w.t.Errorf("MTU of %s in the southbound is %d, want %d", name, got, want)
	}
}

// wantError checks the code and the text of a status, and returns the results
// among its details.
func wantError(t *testing.T, err error, code codes.Code, text string) []*generic.UpdateResult {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code || st.Message() != text {
		t.Errorf("got %v %q, want %v %q", st.Code(), st.Message(), code, text)
	}
	for _, d := range st.Details() {
		if r, ok := d.(*generic.SetConfigResponse); ok {
			return r.Results
		}
	}
	return nil
}

var zero time.Time

func rpcCode(err error) codes.Code { return status.Code(err) }
