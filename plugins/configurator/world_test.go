package configurator_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	*orchtest.Agent
	t      *testing.T
	states *states
	linux  *linuxStates
	stats  *stats

	linuxStats *linuxStats
	config     pb.ConfiguratorServiceClient
	manager    generic.ManagerServiceClient
	meta       generic.MetaServiceClient
}

func start(t *testing.T, opts ...orchestrator.Option) *world {
	t.Helper()
	return startWith(t, orchtest.New(t, opts...))
}

func startWith(t *testing.T, a *orchtest.Agent) *world {
	t.Helper()
	w := &world{t: t, Agent: a, states: &states{}, linux: &linuxStates{}, stats: &stats{}, linuxStats: &linuxStats{}}
	w.Start(configurator.NewPlugin(configurator.UseDeps(func(d *configurator.Deps) {
		d.GRPC, d.Orchestrator, d.Scheduler, d.Interfaces, d.Stats = w.GRPC, w.Orchestrator, w.Scheduler, w.states, w.stats
		d.LinuxInterfaces, d.LinuxStats = w.linux, w.linuxStats
	})))
	w.config, w.manager, w.meta = pb.NewConfiguratorServiceClient(w.Conn), generic.NewManagerServiceClient(w.Conn), generic.NewMetaServiceClient(w.Conn)
	return w
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
	if _, err := w.config.Update(w.Context(), req, opts...); err != nil {
		w.t.Fatal(err)
	}
}

// mtu returns the MTU of the interface in the southbound; -1: no such
// interface.
func (w *world) mtu(name string) int {
	i, ok := w.SB.Get(key(name)).(*interfaces.Interface)
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
