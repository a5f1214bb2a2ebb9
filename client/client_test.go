package client_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/client/linuxconfig"
	"github.com/tenuto-dev/tenuto/client/vppconfig"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	linuxinterfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	mpls "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient starts an agent without descriptors: every value is UNIMPLEMENTED.
func newClient(t *testing.T) (client.Client, *orchestrator.Plugin) {
	t.Helper()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(discard{}))
	o := orchestrator.NewPlugin(orchestrator.UseScheduler(s))
	agenttest.Start(t, o)
	return client.NewLocal(o), o
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func keys(t *testing.T, c client.Client) string {
	t.Helper()
	items, err := c.GetItems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ks []string
	for _, it := range items {
		ks = append(ks, it.Key)
	}
	return strings.Join(ks, " ")
}

func TestChangesAndResync(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	a, b := &interfaces.Interface{Name: "a"}, &interfaces.Interface{Name: "b"}
	results, err := c.ChangeRequest().Update(a, b).UpdateLabeled(map[string]string{"x": "y"}, &linuxinterfaces.Interface{Name: "c"}).Send(t.Context())
	if err != nil || len(results) != 3 || results[0].State() != pb.ValueState_UNIMPLEMENTED || results[0].Source != orchestrator.LocalClient {
		t.Fatalf("results %v, error %v", results, err)
	}
	if _, err := c.ChangeRequest().Delete(a).Update(a).Delete(a, &interfaces.Interface{Name: "unknown"}).Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, c); got != "config/linux/interfaces/v2/interface/c config/vpp/v2/interfaces/b" {
		t.Errorf("items %s", got)
	}
	items, err := c.GetItems(t.Context())
	if err != nil || items[0].Labels["x"] != "y" || !proto.Equal(items[1].Value, b) || items[1].Status.GetValue().GetState() != pb.ValueState_UNIMPLEMENTED {
		t.Errorf("items %v, %v", items, err)
	}
	if _, err := c.ResyncConfig(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, c); got != "config/vpp/v2/interfaces/a" {
		t.Errorf("items after the resync: %s", got)
	}
	if n := len(c.KnownModels("config")); n < 44 || len(c.KnownModels("metrics")) != 0 {
		t.Errorf("%d models", n)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	for _, bad := range []proto.Message{nil, (*interfaces.Interface)(nil), &vpp.ConfigData{}} {
		if _, err := c.ChangeRequest().Update(bad).Send(t.Context()); err == nil {
			t.Errorf("update of %T was accepted", bad)
		}
	}
	results, err := c.ChangeRequest().Update(&interfaces.Interface{}, &interfaces.Interface{Name: "a"}).Send(t.Context())
	if !errors.Is(err, orchestrator.ErrInvalidItems) || len(results) != 2 || results[0].Err == nil || results[1].Err != nil {
		t.Errorf("an item without a name: %v, %v", results, err)
	}
	if err := c.GetConfig(t.Context(), nil); err == nil {
		t.Error("nil was filled")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ChangeRequest().Update(&interfaces.Interface{Name: "a"}).Send(ctx); err == nil {
		t.Error("a request with an ended context was made")
	}
}

func TestGetConfig(t *testing.T) {
	t.Parallel()
	c, o := newClient(t)
	if _, err := c.ChangeRequest().Update(&interfaces.Interface{Name: "a", Mtu: 7}, &interfaces.Interface{Name: "b"},
		&nat.Nat44Global{Forwarding: true}).Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := o.PushData(t.Context(), orchestrator.GRPC, []orchestrator.KeyVal{{
		Key: "config/vpp/l2/v2/bridge-domain/bd", Val: &l2.BridgeDomain{Name: "bd"},
	}}); err != nil {
		t.Fatal(err)
	}
	var whole configurator.Config
	var data vpp.ConfigData
	one, none := interfaces.Interface{Name: "a"}, interfaces.Interface{Name: "z", Mtu: 1}
	if err := c.GetConfig(t.Context(), &whole, &data, &one, &none); err != nil {
		t.Fatal(err)
	}
	want := &vpp.ConfigData{
		Interfaces: []*interfaces.Interface{{Name: "a", Mtu: 7}, {Name: "b"}}, BridgeDomains: []*l2.BridgeDomain{{Name: "bd"}},
		Nat44Global: &nat.Nat44Global{Forwarding: true},
	}
	if !proto.Equal(&data, want) || !proto.Equal(&whole, &configurator.Config{VppConfig: want}) || one.Mtu != 7 || none.Name != "" {
		t.Errorf("got %v\n%v\n%v\n%v", &whole, &data, &one, &none)
	}
}

func TestTypedRequests(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	v, l := vppconfig.New(t.Context(), c), linuxconfig.New(t.Context(), c)
	reply := v.DataChangeRequest("test").
		Put().Interface(&interfaces.Interface{Name: "a"}).BD(&l2.BridgeDomain{Name: "bd"}).
		StaticRoute(&l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "a"}).
		Delete().BD("bd").
		Put().NAT44Global(&nat.Nat44Global{}).Send()
	if err := reply.ReceiveReply(); err != nil || len(reply.Results) != 4 {
		t.Fatalf("reply %v, %v", reply.Results, err)
	}
	if err := l.DataChangeRequest("test").Put().Interface(&linuxinterfaces.Interface{Name: "c"}).Send().ReceiveReply(); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(t, c), "config/linux/interfaces/v2/interface/c config/vpp/nat/v2/nat44-global config/vpp/v2/interfaces/a "+
		"config/vpp/v2/route/if/a/vrf/0/dst/10.0.0.0/8/"; got != want {
		t.Errorf("items %s, want %s", got, want)
	}
	if err := v.DataChangeRequest("test").Delete().StaticRoute("a", 0, "10.0.0.0/8", "").Interface("a").Send().ReceiveReply(); err != nil {
		t.Fatal(err)
	}
	table := &mpls.Table{Id: 7}
	if err := v.DataChangeRequest("test").Put().Item(table).Send().ReceiveReply(); err != nil {
		t.Fatal(err)
	}
	if err := v.DataChangeRequest("test").Delete().Item(table).Send().ReceiveReply(); err != nil || strings.Contains(keys(t, c), "mpls") {
		t.Fatalf("items %s, %v", keys(t, c), err)
	}
	if err := v.DataResyncRequest("test").Item(table).Interface(&interfaces.Interface{Name: "r"}).Send().ReceiveReply(); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, c); got != "config/vpp/mpls/v1/table/7 config/vpp/v2/interfaces/r" {
		t.Errorf("items after the resync: %s", got)
	}
}

// Every model of the predecessor has a method of the same name in each kind of request;
// the method Item takes the others.
func TestTypedRequestsAreComplete(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	covered := map[reflect.Type]bool{}
	v, l := vppconfig.New(t.Context(), c), linuxconfig.New(t.Context(), c)
	kinds := [][3]any{
		{v.DataChangeRequest("").Put(), v.DataResyncRequest(""), v.DataChangeRequest("").Delete()},
		{l.DataChangeRequest("").Put(), l.DataResyncRequest(""), l.DataChangeRequest("").Delete()},
	}
	for _, k := range kinds {
		put, resync, del := reflect.TypeOf(k[0]), reflect.TypeOf(k[1]), reflect.TypeOf(k[2])
		for i := range put.NumMethod() {
			m := put.Method(i)
			if m.Name == "Delete" || m.Name == "Send" || m.Name == "Item" {
				continue
			}
			covered[m.Type.In(1)] = true
			r, ok := resync.MethodByName(m.Name)
			if !ok || r.Type.In(1) != m.Type.In(1) {
				t.Errorf("Resync has no %s like Put", m.Name)
			}
			if _, ok := del.MethodByName(m.Name); !ok {
				t.Errorf("Delete has no %s", m.Name)
			}
		}
	}
	predecessor, err := os.ReadFile("../proto/testdata/schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.KnownModels("") {
		if !strings.Contains(string(predecessor), "\nmessage "+string(m.ProtoName())+"\n") {
			continue
		}
		if !covered[reflect.TypeOf(m.NewInstance())] {
			t.Errorf("no method for model %s", m.Spec().ModelName())
		}
	}
}
