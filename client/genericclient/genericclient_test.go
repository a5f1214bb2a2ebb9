package genericclient_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	client "github.com/tenuto-dev/tenuto/client/genericclient"
	"github.com/tenuto-dev/tenuto/client/localclient"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	linuxinterfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	mpls "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
)

// The agent of this process has DefaultPlugin, and no descriptors: every value is
// UNIMPLEMENTED. The calls are the same as in programs for the predecessor.
func TestLocalClient(t *testing.T) {
	agenttest.Start(t, &orchestrator.DefaultPlugin)
	t.Run("Requests", requests)
	t.Run("Labels", labels)
	t.Run("DynamicConfig", dynamicConfig)
	t.Run("DSL", dsl)
}

func keys(t *testing.T) (all []string) {
	t.Helper()
	items, err := client.LocalClient.GetItems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		all = append(all, strings.TrimSuffix(it.GetItem().GetId().GetModel()+" "+it.GetItem().GetId().GetName(), " "))
		if it.GetStatus().GetStatus() != "UNIMPLEMENTED" {
			t.Errorf("%v: expected UNIMPLEMENTED", it)
		}
	}
	return all
}

func expectKeys(t *testing.T, want ...string) {
	t.Helper()
	if got := keys(t); !slices.Equal(got, want) {
		t.Errorf("items %q, expected %q", got, want)
	}
}

func requests(t *testing.T) {
	c := client.LocalClient
	a, b := &interfaces.Interface{Name: "a", Mtu: 1400}, &linuxinterfaces.Interface{Name: "b"}
	if err := c.ResyncConfig(a, b); err != nil {
		t.Fatal(err)
	}
	req := c.ChangeRequest()
	req.Update(&l2.BridgeDomain{Name: "bd"})
	req.Delete(b)
	if err := req.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectKeys(t, "vpp.l2.bridge-domain bd", "vpp.interfaces a")
	if err := c.NewItemChange().Update(&interfaces.Interface{}).Send(t.Context()); err == nil {
		t.Error("no error for an interface without a name")
	}
	var whole configurator.Config
	if err := c.GetConfig(&whole); err != nil {
		t.Fatal(err)
	}
	want := &configurator.Config{VppConfig: &vpp.ConfigData{Interfaces: []*interfaces.Interface{a}, BridgeDomains: []*l2.BridgeDomain{{Name: "bd"}}}}
	if !proto.Equal(&whole, want) {
		t.Errorf("got %v, expected %v", &whole, want)
	}
	if err := c.GetConfig(7); fmt.Sprint(err) != "get configuration: destination 0 is int, expected a proto.Message" {
		t.Errorf("got error %v", err)
	}
	if state, err := c.DumpState(); err != nil || len(state) != 0 {
		t.Errorf("state %v, %v, expected none without descriptors", state, err)
	}
}

func labels(t *testing.T) {
	c := client.LocalClient
	items := []client.UpdateItem{
		{Message: &interfaces.Interface{Name: "blue"}, Labels: map[string]string{"team": "blue"}},
		{Message: &interfaces.Interface{Name: "red"}, Labels: map[string]string{"team": "red"}},
		{Message: &linuxinterfaces.Interface{Name: "red"}, Labels: map[string]string{"team": "red"}},
	}
	results, err := c.UpdateItems(t.Context(), items, true)
	if err != nil || len(results) != 3 || results[0].Key != "config/vpp/v2/interfaces/blue" || results[0].Status.GetStatus() != "UNIMPLEMENTED" {
		t.Fatalf("results %v, %v", results, err)
	}
	for _, test := range []struct {
		filter client.Filter
		want   string
	}{
		{client.Filter{}, "blue red linux:red"},
		{client.Filter{Labels: map[string]string{"team": "red"}}, "red linux:red"},
		{client.Filter{Labels: map[string]string{"!team": "red"}}, "blue"},
		{client.Filter{Ids: []*generic.Item_ID{{Model: "vpp.interfaces", Name: "red"}, {Model: "vpp.interfaces", Name: "none"}}}, "red"},
		{client.Filter{Ids: []*generic.Item_ID{{Model: "vpp.interfaces", Name: "red"}}, Labels: map[string]string{"team": "blue"}}, ""},
	} {
		var whole configurator.Config
		if err := c.GetFilteredConfig(test.filter, &whole); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range whole.GetVppConfig().GetInterfaces() {
			got = append(got, i.GetName())
		}
		for _, i := range whole.GetLinuxConfig().GetInterfaces() {
			got = append(got, "linux:"+i.GetName())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%v: got %q, expected %q", test.filter, got, test.want)
		}
	}
	if _, err := c.DeleteItems(t.Context(), items[1:]); err != nil {
		t.Fatal(err)
	}
	expectKeys(t, "vpp.interfaces blue")
}

func dynamicConfig(t *testing.T) {
	c := client.LocalClient
	if err := c.ResyncConfig(&interfaces.Interface{Name: "a"}, &mpls.Table{Id: 7}, &linuxl3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "b"}); err != nil {
		t.Fatal(err)
	}
	known, err := c.KnownModels("config")
	if err != nil {
		t.Fatal(err)
	}
	// A model of another agent has no field in configurator.Config.
	own := &client.ModelInfo{
		ModelDetail:       &generic.ModelDetail{Spec: &generic.ModelSpec{Module: "custom.part", Version: "v1", Type: "thing"}, ProtoName: "google.protobuf.Struct"},
		MessageDescriptor: (&structpb.Struct{}).ProtoReflect().Descriptor(),
	}
	config, err := client.NewDynamicConfig(append(known, own))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.GetConfig(config); err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	// It has the JSON of configurator.Config, so each reads what the other writes.
	var whole configurator.Config
	if err := protojson.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	want := &configurator.Config{
		VppConfig:   &vpp.ConfigData{Interfaces: []*interfaces.Interface{{Name: "a"}}, MplsTables: []*mpls.Table{{Id: 7}}},
		LinuxConfig: &linux.ConfigData{Routes: []*linuxl3.Route{{DstNetwork: "10.0.0.0/8", OutgoingInterface: "b"}}},
	}
	if !proto.Equal(&whole, want) {
		t.Errorf("got %s, expected %v", text, want)
	}
	group := config.Descriptor().Fields().ByName("custom_config")
	if group == nil || group.JSONName() != "customConfig" {
		t.Fatalf("got group %v, expected custom_config", group)
	}
	if fd := group.Message().Fields().ByName("Struct_list"); fd == nil || !fd.IsList() || fd.JSONName() != "StructList" {
		t.Errorf("got field %v, expected the list Struct_list", fd)
	}
	again, err := client.NewDynamicConfig(append([]*client.ModelInfo{own}, known...))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := numbers(config), numbers(again); !slices.Equal(a, b) {
		t.Errorf("numbers of fields depend on the order of models: %q and %q", a, b)
	}
	if _, err := client.NewDynamicConfig([]*client.ModelInfo{own, own}); !strings.Contains(fmt.Sprint(err), "field Struct_list of custom_config belongs to google.protobuf.Struct") {
		t.Errorf("two equal models: got error %v", err)
	}
	if _, err := client.NewDynamicConfig([]*client.ModelInfo{{ModelDetail: own.ModelDetail}}); !strings.Contains(fmt.Sprint(err), "model of google.protobuf.Struct: the message is unknown") {
		t.Errorf("a model without a message: got error %v", err)
	}
}

// numbers lists the fields of a message and of its groups.
func numbers(m proto.Message) (all []string) {
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		group := fields.Get(i)
		all = append(all, field(group))
		below := group.Message().Fields()
		for j := range below.Len() {
			all = append(all, field(below.Get(j)))
		}
	}
	slices.Sort(all)
	return all
}

func field(fd protoreflect.FieldDescriptor) string {
	return fmt.Sprintf("%s = %d", fd.FullName(), fd.Number())
}

// Requests have items of VPP and of Linux together.
func dsl(t *testing.T) {
	err := localclient.DataResyncRequest("test").
		VppInterface(&interfaces.Interface{Name: "tap1"}).
		LinuxInterface(&linuxinterfaces.Interface{Name: "tap1-host"}).
		BD(&l2.BridgeDomain{Name: "bd"}).
		Send().ReceiveReply()
	if err != nil {
		t.Fatal(err)
	}
	expectKeys(t, "linux.interfaces.interface tap1-host", "vpp.l2.bridge-domain bd", "vpp.interfaces tap1")
	err = localclient.DataChangeRequest("test").
		Put().
		LinuxRoute(&linuxl3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "tap1-host"}).
		LinuxArpEntry(&linuxl3.ARPEntry{Interface: "tap1-host", IpAddress: "10.0.0.1"}).
		Delete().
		LinuxInterface("tap1-host").
		VppInterface("tap1").
		Send().ReceiveReply()
	if err != nil {
		t.Fatal(err)
	}
	expectKeys(t, "linux.l3.arp tap1-host/10.0.0.1", "linux.l3.route 10.0.0.0/8/tap1-host", "vpp.l2.bridge-domain bd")
	err = localclient.DataChangeRequest("test").Delete().
		LinuxRoute("10.0.0.0/8", "tap1-host").LinuxArpEntry("tap1-host", "10.0.0.1").IptablesRuleChain("none").BD("bd").Send().ReceiveReply()
	if err != nil {
		t.Fatal(err)
	}
	expectKeys(t)
}
