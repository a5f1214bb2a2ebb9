package remote_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/client/remote"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const prefix = "config/vpp/v2/interfaces/"

// things lets the scheduler handle interfaces in a mock southbound.
type things struct {
	infra.PluginDeps
	Scheduler *kvscheduler.Scheduler
	sb        *kvstest.MockSB
}

func (d *things) Init() error {
	m := ifmodel.InterfaceModel
	return d.Scheduler.RegisterKVDescriptor(api.Adapt(api.Describe(m, api.Descriptor[*interfaces.Interface, *kvstest.Meta]{
		Name: "interface", WithMetadata: true, Partial: true,
		Create: func(key string, v *interfaces.Interface) (*kvstest.Meta, error) { return d.sb.Create(key, v) },
		Update: func(key string, _, v *interfaces.Interface, meta *kvstest.Meta) (*kvstest.Meta, error) {
			return d.sb.Update(key, v, meta)
		},
		Delete: func(key string, _ *interfaces.Interface, meta *kvstest.Meta) error { return d.sb.Delete(key, meta) },
		Retrieve: func([]api.KV[*interfaces.Interface, *kvstest.Meta]) (kvs []api.KV[*interfaces.Interface, *kvstest.Meta], err error) {
			all, err := d.sb.Retrieve("interface", m.Matches)
			for _, kv := range all {
				kvs = append(kvs, api.KV[*interfaces.Interface, *kvstest.Meta]{
					Key: kv.Key, Value: kv.Value.(*interfaces.Interface), Metadata: kv.Metadata.(*kvstest.Meta), Origin: api.FromNB,
				})
			}
			return kvs, err
		},
	})))
}

// newClients starts an agent and returns a client from afar and one from within,
// which are to behave alike.
func newClients(t *testing.T, opts ...remote.Option) (far, near client.Client, sb *kvstest.MockSB) {
	t.Helper()
	sb = kvstest.NewMockSB()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard))
	d := &things{Scheduler: s, sb: sb}
	d.SetName("things")
	o := orchestrator.NewPlugin(orchestrator.UseScheduler(s))
	server := grpc.NewPlugin(grpc.UseDeps(func(d *grpc.Deps) { d.Cfg = config.Text("grpc", "endpoint: 127.0.0.1:0") }))
	agenttest.Start(t, d, configurator.NewPlugin(configurator.UseDeps(func(d *configurator.Deps) {
		d.GRPC, d.Orchestrator, d.Scheduler = server, o, s
	})))
	conn, err := rpc.NewClient(server.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	far, err = remote.New(t.Context(), conn, set, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return far, client.NewLocal(o, client.WithScheduler(s)), sb
}

func TestChangesFromAfar(t *testing.T) {
	t.Parallel()
	far, near, sb := newClients(t)
	if got, want := len(far.KnownModels("config")), len(near.KnownModels("config")); got != want || len(far.KnownModels("other")) > 0 {
		t.Errorf("%d models, want %d", got, want)
	}
	a, b := &interfaces.Interface{Name: "a", Mtu: 1}, &interfaces.Interface{Name: "b"}
	results, err := far.ChangeRequest().Update(a).UpdateLabeled(map[string]string{"x": "y"}, b).Delete(&interfaces.Interface{Name: "c"}).Describe("test").Send(t.Context())
	if err != nil || len(results) != 3 || results[0].Key != prefix+"a" || results[0].State() != kvspb.ValueState_CONFIGURED || results[2].State() != kvspb.ValueState_NONEXISTENT {
		t.Fatalf("got %v, %v", results, err)
	}
	items, err := far.GetItems(t.Context())
	if err != nil || len(items) != 2 || !proto.Equal(items[0].Value, a) || items[1].Labels["x"] != "y" || items[1].Status.GetValue().GetState() != kvspb.ValueState_CONFIGURED {
		t.Errorf("got %v, %v", items, err)
	}
	var cfg, same pb.Config
	one := interfaces.Interface{Name: "a"}
	if err := errors.Join(far.GetConfig(t.Context(), &cfg, &one), near.GetConfig(t.Context(), &same)); err != nil || !proto.Equal(&cfg, &same) || !proto.Equal(&one, a) {
		t.Errorf("from afar %v, from within %v, one %v; %v", &cfg, &same, &one, err)
	}
	if _, err := far.ResyncConfig(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(sb.Keys(), " "); got != prefix+"b" {
		t.Errorf("the southbound has %s", got)
	}
}

func TestFailuresFromAfar(t *testing.T) {
	t.Parallel()
	far, _, sb := newClients(t, remote.AsSource("controller"))
	sb.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: prefix + "b", Err: errors.New("no room")})
	a, b := &interfaces.Interface{Name: "a"}, &interfaces.Interface{Name: "b"}
	results, err := far.ChangeRequest().Update(a, b).Send(t.Context())
	if err == nil || err.Error() != "1 of 2 items failed: "+prefix+"b: no room" || results[0].Err != nil || results[1].Err == nil {
		t.Errorf("got %v, %v", results, err)
	}
	if _, err = far.ChangeRequest().Update(&interfaces.Interface{Name: "c"}, &interfaces.Interface{Name: "b", Mtu: 2}).WithRevert().Send(t.Context()); err == nil {
		t.Error("a request that is reverted is no success")
	}
	if sb.Get(prefix+"c") != nil {
		t.Errorf("it was not reverted: the southbound has %v", sb.Keys())
	}
	if _, err = far.ChangeRequest().Update(&interfaces.Interface{}).Send(t.Context()); err == nil || !strings.Contains(err.Error(), prefix) {
		t.Errorf("got %v", err)
	}
	if _, err = far.ChangeRequest().Update(nil).Send(t.Context()); err == nil {
		t.Error("nil is no item")
	}
}

func TestDumpStateFromAfarAndFromWithin(t *testing.T) {
	t.Parallel()
	far, near, sb := newClients(t)
	sb.Put(prefix+"foreign", &interfaces.Interface{Name: "foreign"})
	for name, c := range map[string]client.Client{"far": far, "near": near} {
		items, err := c.DumpState(t.Context())
		if err != nil || len(items) != 1 || items[0].Key != prefix+"foreign" || items[0].Metadata["Handle"] == "" {
			t.Errorf("%s: got %v, %v", name, items, err)
		}
	}
	sb.Inject(kvstest.Fault{Op: kvstest.Retrieve, Key: "interface", Err: errors.New("out of order")})
	_, err := far.DumpState(t.Context())
	var unread *client.UnreadError
	if _, nearErr := near.DumpState(t.Context()); status.Code(errors.Unwrap(err)) != codes.Unavailable || !errors.As(nearErr, &unread) ||
		unread.Error() != "not read from the southbound: vpp.interfaces: out of order" {
		t.Errorf("got %v and %v", err, nearErr)
	}
}

func TestNoAgent(t *testing.T) {
	t.Parallel()
	conn, err := rpc.NewClient("unix:/does/not/exist", rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := remote.New(t.Context(), conn, nil); status.Code(errors.Unwrap(err)) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
}

// Secrets are hidden from who does not ask for them, and what was read without
// them cannot be given back.
func TestSecretsFromAfar(t *testing.T) {
	t.Parallel()
	const secret = "Sesam-oeffne-dich"
	for _, opts := range [][]remote.Option{nil, {remote.WithSecrets()}} {
		far, _, sb := newClients(t, opts...)
		m := &interfaces.Interface{Name: "m", Type: interfaces.Interface_MEMIF, Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Secret: secret}}}
		if _, err := far.ChangeRequest().Update(m).Send(t.Context()); err != nil {
			t.Fatal(err)
		}
		items, err := far.GetItems(t.Context())
		if err != nil || len(items) != 1 {
			t.Fatalf("got %v, %v", items, err)
		}
		state, err := far.DumpState(t.Context())
		if err != nil || len(state) != 1 {
			t.Fatalf("got %v, %v", state, err)
		}
		want := "***"
		if opts != nil {
			want = secret
		}
		for _, val := range []proto.Message{items[0].Value, state[0].Value} {
			if got := val.(*interfaces.Interface).GetMemif().GetSecret(); got != want {
				t.Errorf("the secret is %q, want %q", got, want)
			}
		}
		again := proto.CloneOf(items[0].Value.(*interfaces.Interface))
		again.Mtu = 1400
		if _, err := far.ChangeRequest().Update(again).Send(t.Context()); err != nil {
			t.Errorf("given back: %v", err)
		}
		if has, ok := sb.Get(prefix + "m").(*interfaces.Interface); !ok || has.GetMemif().GetSecret() != secret || has.GetMtu() != 1400 {
			t.Errorf("given back: the southbound has %v", has)
		}
		again.Name = "other"
		_, err = far.ChangeRequest().Update(again).Send(t.Context())
		if given := opts != nil; given != (err == nil) || !given && !strings.Contains(err.Error(), "memif.secret: *** is the placeholder of a hidden secret") {
			t.Errorf("given to another item: %v", err)
		}
	}
}

// TestFailuresAreErrors checks that Send returns an error with the code of the
// predecessor for an item that fails, and for one that no plugin handles.
func TestFailuresAreErrors(t *testing.T) {
	t.Parallel()
	far, _, sb := newClients(t)
	sb.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: prefix + "b", Times: 1, Err: errors.New("no room")})
	for want, item := range map[string]proto.Message{
		"1 of 1 items failed: " + prefix + "b: no room": &interfaces.Interface{Name: "b"},
		"accepted, but 1 value is UNIMPLEMENTED: config/vpp/v2/vrf-table/id/7/protocol/IPV4: no plugin of this agent handles it": &l3.VrfTable{Id: 7},
	} {
		results, err := far.ChangeRequest().Update(item).Send(t.Context())
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) || len(results) != 1 || results[0].Err == nil {
			t.Errorf("got %v, %v; want an error with %q", results, err, want)
		}
	}
}
