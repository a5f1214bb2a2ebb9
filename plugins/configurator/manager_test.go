package configurator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// put is an update of an item; without a message it removes one.
func put(t *testing.T, model, name string, m proto.Message) *generic.UpdateItem {
	t.Helper()
	u := &generic.UpdateItem{Item: &generic.Item{Id: &generic.Item_ID{Model: model, Name: name}}}
	if m == nil {
		return u
	}
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	u.Item.Data = &generic.Data{Union: &generic.Data_Any{Any: &anypb.Any{
		TypeUrl: "models.ligato.io/" + string(m.ProtoReflect().Descriptor().FullName()), Value: wire,
	}}}
	return u
}

const ifModel = "vpp.interfaces"

func describeResults(rs []*generic.UpdateResult) string {
	var all []string
	for _, r := range rs {
		all = append(all, strings.Join([]string{r.GetId().GetModel(), r.GetId().GetName(), r.Op.String(), r.Status.GetStatus(), r.Status.GetMessage()}, " "))
	}
	return strings.Join(all, "|")
}

func (w *world) set(req *generic.SetConfigRequest) string {
	w.t.Helper()
	resp, err := w.manager.SetConfig(w.announced(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return describeResults(resp.Results)
}

func TestSetConfig(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("b"), Err: errors.New("no room")})
	// The order of the updates is kept; the name may be left to the data, and so
	// may the model.
	got := w.set(&generic.SetConfigRequest{Updates: []*generic.UpdateItem{
		put(t, "vpp.route", "", route("10.0.0.0/8", "late")), put(t, ifModel, "b", iface("b", 2)), put(t, "", "", iface("a", 1)),
		put(t, ifModel, "never", nil),
	}})
	want := "vpp.route if/late/vrf/0/dst/10.0.0.0/8/ CREATE PENDING interface|vpp.interfaces b CREATE RETRYING no room|" +
		"vpp.interfaces a CREATE CONFIGURED |vpp.interfaces never UNSPECIFIED NONEXISTENT "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	w.wantMTU("a", 1)
	w.SB.Heal()
	got = w.set(&generic.SetConfigRequest{Updates: []*generic.UpdateItem{put(t, ifModel, "b", nil), put(t, ifModel, "a", iface("a", 3))}})
	if got != "vpp.interfaces b DELETE NONEXISTENT |vpp.interfaces a UPDATE CONFIGURED " {
		t.Errorf("got %s", got)
	}
	got = w.set(&generic.SetConfigRequest{OverwriteAll: true, Updates: []*generic.UpdateItem{put(t, ifModel, "c", iface("c", 4))}})
	if got != "vpp.interfaces c CREATE CONFIGURED " || !slices.Equal(w.SB.Keys(), []string{key("c")}) {
		t.Errorf("got %s, the southbound has %v", got, w.SB.Keys())
	}
}

func TestSetConfigRefuses(t *testing.T) {
	t.Parallel()
	w := start(t)
	good := put(t, ifModel, "a", iface("a", 1))
	garbage := put(t, ifModel, "a", iface("a", 1))
	garbage.Item.Data.GetAny().Value = []byte{0xff}
	other := put(t, "vpp.route", "", iface("a", 1))
	unknown := put(t, ifModel, "", iface("a", 1))
	unknown.Item.Data.GetAny().TypeUrl = "models.ligato.io/no.Such"
	for _, test := range []struct {
		bad  *generic.UpdateItem
		want string
	}{
		{nil, "id.model: expected the name of a model, for example vpp.interfaces"},
		{&generic.UpdateItem{}, "id.model: expected the name of a model, for example vpp.interfaces"},
		{put(t, "no.such", "a", nil), `id.model: "no.such": no such model; MetaService.KnownModels lists them`},
		{put(t, ifModel, "", nil), "id.name: expected the name of the item to remove, of model vpp.interfaces"},
		{put(t, ifModel, "b", iface("c", 1)), `id.name: "b" is not the name of the item, which is "c"`},
		{put(t, ifModel, "", iface("", 1)), "the item has no name; expected the fields that make up its key config/vpp/v2/interfaces/<name>"},
		{unknown, `data.any.type_url: "models.ligato.io/no.Such": no model has such messages`},
		{other, `data.any.type_url: "models.ligato.io/ligato.vpp.interfaces.Interface": expected models.ligato.io/ligato.vpp.l3.Route, as the model is vpp.route`},
		{put(t, ifModel, "b", iface("b", 9001)), "mtu: the largest is 9000"},
		{put(t, ifModel, "a", iface("a", 2)), "the same item as updates[0].item"},
	} {
		_, err := w.manager.SetConfig(w.Context(), &generic.SetConfigRequest{Updates: []*generic.UpdateItem{good, test.bad}})
		wantError(t, err, codes.InvalidArgument, "nothing was changed; updates[1].item: "+test.want)
	}
	_, err := w.manager.SetConfig(w.Context(), &generic.SetConfigRequest{Updates: []*generic.UpdateItem{garbage}})
	if rpcCode(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "updates[0].item: data.any.value: expected a message ligato.vpp.interfaces.Interface") {
		t.Errorf("got %v", err)
	}
	if len(w.SB.Keys()) > 0 {
		t.Errorf("the southbound has %v", w.SB.Keys())
	}
}

func TestGetConfigByIDsAndLabels(t *testing.T) {
	t.Parallel()
	w := start(t)
	var updates []*generic.UpdateItem
	for name, labels := range map[string]map[string]string{"a": {"x": "1"}, "b": {"x": "2", "y": ""}, "c": nil} {
		u := put(t, ifModel, name, iface(name, 1))
		u.Labels = labels
		updates = append(updates, u)
	}
	w.set(&generic.SetConfigRequest{Updates: append(updates, put(t, "vpp.route", "", route("10.0.0.0/8", "a")))})
	get := func(labels map[string]string, ids ...*generic.Item_ID) string {
		t.Helper()
		resp, err := w.manager.GetConfig(w.Context(), &generic.GetConfigRequest{Ids: ids, Labels: labels})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, it := range resp.Items {
			if it.Status.Status != "CONFIGURED" {
				t.Errorf("%v", it)
			}
			names = append(names, it.Item.Id.Name)
		}
		return strings.Join(names, " ")
	}
	const theRoute = "if/a/vrf/0/dst/10.0.0.0/8/"
	for _, test := range []struct {
		labels map[string]string
		ids    []*generic.Item_ID
		want   string
	}{
		{nil, nil, "a b c " + theRoute},
		{nil, []*generic.Item_ID{{Model: ifModel}}, "a b c"},
		{nil, []*generic.Item_ID{{Model: ifModel, Name: "b"}, {Model: "vpp.route"}, {Model: ifModel, Name: "never"}}, "b " + theRoute},
		{map[string]string{"x": ""}, nil, "a b"},
		{map[string]string{"x": "1"}, nil, "a"},
		{map[string]string{"!x": ""}, nil, "c " + theRoute},
		{map[string]string{"!x": "1"}, nil, "b c " + theRoute},
		{map[string]string{"x": "", "!y": ""}, nil, "a"},
		{map[string]string{"y": ""}, []*generic.Item_ID{{Model: ifModel, Name: "a"}}, ""},
	} {
		if got := get(test.labels, test.ids...); got != test.want {
			t.Errorf("%v %v: got %q, want %q", test.labels, test.ids, got, test.want)
		}
	}
	_, err := w.manager.GetConfig(w.Context(), &generic.GetConfigRequest{Ids: []*generic.Item_ID{{Model: "no.such"}}})
	wantError(t, err, codes.InvalidArgument, `ids[0].model: "no.such": no such model; MetaService.KnownModels lists them`)
}

func TestDumpState(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.set(&generic.SetConfigRequest{Updates: []*generic.UpdateItem{put(t, ifModel, "", iface("a", 1)), put(t, "vpp.route", "", route("10.0.0.0/8", "a"))}})
	resp, err := w.manager.DumpState(w.Context(), &generic.DumpStateRequest{Ids: []*generic.Item_ID{{Model: ifModel}}})
	if err != nil || len(resp.Items) != 1 || resp.Items[0].Item.Id.Name != "a" || resp.Items[0].Metadata["Handle"] == "" {
		t.Errorf("got %v, %v", resp, err)
	}
	all, err := w.manager.DumpState(w.Context(), &generic.DumpStateRequest{})
	if err != nil || len(all.Items) != 2 {
		t.Errorf("got %v, %v", all, err)
	}
	w.SB.Inject(kvstest.Fault{Op: kvstest.Retrieve, Key: "interface", Err: errors.New("out of order")})
	_, err = w.manager.DumpState(w.Context(), &generic.DumpStateRequest{Ids: []*generic.Item_ID{{Model: ifModel}}})
	wantError(t, err, codes.Unavailable, "vpp.interfaces: out of order")
	all, err = w.manager.DumpState(w.Context(), &generic.DumpStateRequest{})
	if err != nil || len(all.Items) != 1 {
		t.Errorf("what can be read: got %v, %v", all, err)
	}
}

// A subscription begins with the present state, and continues with changes.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.set(&generic.SetConfigRequest{Updates: []*generic.UpdateItem{put(t, ifModel, "", iface("a", 1)), put(t, "vpp.route", "", route("10.0.0.0/8", "b"))}})
	stream, err := w.manager.Subscribe(w.Context(), &generic.SubscribeRequest{Subscriptions: []*generic.Subscription{
		{Id: &generic.Item_ID{Model: "vpp.route"}}, {Id: &generic.Item_ID{Model: ifModel, Name: "b"}}}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	until := func(name, state string) {
		t.Helper()
		for seen[name] != state {
			resp, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range resp.Notifications {
				seen[n.Item.Id.Name] = n.Status.Status
			}
		}
	}
	const theRoute = "if/b/vrf/0/dst/10.0.0.0/8/"
	until(theRoute, "PENDING")
	w.set(&generic.SetConfigRequest{Updates: []*generic.UpdateItem{put(t, ifModel, "", iface("b", 1)), put(t, ifModel, "", iface("a", 2))}})
	until("b", "CONFIGURED")
	until(theRoute, "CONFIGURED")
	w.set(&generic.SetConfigRequest{Updates: []*generic.UpdateItem{put(t, ifModel, "b", nil)}})
	until("b", "NONEXISTENT")
	if seen["a"] != "" {
		t.Error("it told of what was not asked for")
	}
	bad, err := w.manager.Subscribe(w.Context(), &generic.SubscribeRequest{Subscriptions: []*generic.Subscription{{}}})
	if err == nil {
		_, err = bad.Recv()
	}
	wantError(t, err, codes.InvalidArgument, `ids[0].model: "": no such model; MetaService.KnownModels lists them`)
	w.Stop()
	for err = nil; err == nil; {
		_, err = stream.Recv()
	}
	if c := rpcCode(err); c != codes.Unavailable && c != codes.Canceled {
		t.Errorf("the agent has stopped: %v", err)
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	w := start(t)
	resp, err := w.meta.KnownModels(w.announced(), &generic.KnownModelsRequest{Class: "config"})
	if err != nil || len(resp.KnownModels) != len(w.Orchestrator.Models().All()) || strings.Join(resp.ActiveModules, " ") != "vpp" {
		t.Fatalf("%d models, active modules %v, %v", len(resp.GetKnownModels()), resp.GetActiveModules(), err)
	}
	options := map[string]string{}
	for _, m := range resp.KnownModels {
		if m.ProtoName == "ligato.vpp.interfaces.Interface" {
			for _, o := range m.Options {
				options[o.Key] = strings.Join(o.Values, " ")
			}
		}
	}
	if options["nameTemplate"] != "{{.Name}}" || options["protoFile"] != "ligato/vpp/interfaces/interface.proto" {
		t.Errorf("options %v", options)
	}
	metrics, err := w.meta.KnownModels(w.Context(), &generic.KnownModelsRequest{Class: "metrics"})
	if err != nil || len(metrics.KnownModels) != 1 || metrics.KnownModels[0].ProtoName != "ligato.govppmux.Metrics" || metrics.KnownModels[0].Spec.Type != "stats" {
		t.Errorf("got %v, %v", metrics, err)
	}
	file, err := w.meta.ProtoFileDescriptor(w.Context(), &generic.ProtoFileDescriptorRequest{FullProtoFileName: options["protoFile"]})
	if err != nil || file.FileDescriptor.GetPackage() != "ligato.vpp.interfaces" || len(file.FileImportDescriptors.File) == 0 {
		t.Errorf("got %v, %v", file, err)
	}
	_, err = w.meta.ProtoFileDescriptor(w.Context(), &generic.ProtoFileDescriptorRequest{FullProtoFileName: "no.proto"})
	wantError(t, err, codes.NotFound, `full_proto_file_name: "no.proto": no such file`)
}

// FuzzSetConfig shows that no request makes the conversion panic, and that what
// it accepts has the key of its model.
func FuzzSetConfig(f *testing.F) {
	for _, m := range []proto.Message{iface("a", 1), route("10.0.0.0/8", "a")} {
		wire, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("vpp.interfaces", "a", "models.ligato.io/"+string(m.ProtoReflect().Descriptor().FullName()), wire)
	}
	f.Add("vpp.nat.nat44-global", "", "", []byte{})
	f.Add("", "", "/", []byte{0xff})
	convert := newConverter(f)
	f.Fuzz(func(t *testing.T, model, name, url string, value []byte) {
		u := &generic.UpdateItem{Item: &generic.Item{Id: &generic.Item_ID{Model: model, Name: name}}}
		if url != "" {
			u.Item.Data = &generic.Data{Union: &generic.Data_Any{Any: &anypb.Any{TypeUrl: url, Value: value}}}
		}
		convert(t, u)
	})
}
