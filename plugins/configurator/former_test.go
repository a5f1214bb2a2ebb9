//lint:file-ignore SA1019 clients of the predecessor use the deprecated reflection

package configurator_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

// ofModel returns a descriptor of a model in the mock southbound.
func ofModel(sb *kvstest.MockSB, m models.Known) *api.KVDescriptor {
	name := m.Spec().ModelName()
	return &api.KVDescriptor{
		Name: name, NBKeyPrefix: m.KeyPrefix(), KeySelector: m.Matches, ValueTypeName: string(m.ProtoName()),
		Southbound: "mock", Timeout: orchtest.Patience,
		Create: func(key string, v proto.Message) (api.Metadata, error) { _, err := sb.Create(key, v); return nil, err },
		Delete: func(key string, _ proto.Message, _ api.Metadata) error { return sb.Delete(key, nil) },
		Retrieve: func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) {
			all, err := sb.Retrieve(name, m.Matches)
			for i := range all {
				all[i].Metadata, all[i].Origin = nil, api.FromNB
			}
			return all, err
		},
	}
}

// formerClient does what the generic client of the predecessor does.
type formerClient struct {
	*world
	compiled *protoregistry.Files // the types that the client was compiled with
	models   []*generic.ModelDetail
}

// startOfAllModels starts an agent that handles all models, with a client of the predecessor.
func startOfAllModels(t *testing.T) *formerClient {
	t.Helper()
	sb := kvstest.NewMockSB()
	var list []*api.KVDescriptor
	for _, m := range allmodels.MustSet().All() {
		list = append(list, ofModel(sb, m))
	}
	c := &formerClient{world: startWith(t, orchtest.NewWith(t, sb, list)), compiled: formerSchema(t)}
	resp, err := c.meta.KnownModels(c.Context(), &generic.KnownModelsRequest{Class: "config"})
	if err != nil {
		t.Fatal(err)
	}
	c.models = resp.KnownModels
	return c
}

// withSecrets is the context of a call that gets the secrets of values.
func (c *formerClient) withSecrets() context.Context {
	return metadata.AppendToOutgoingContext(c.Context(), grpc.ShowSecretsMetadata, "true")
}

func option(m *generic.ModelDetail, key string) string {
	for _, o := range m.Options {
		if o.Key == key {
			return o.Values[0]
		}
	}
	return ""
}

// message returns an empty message of a model, of the descriptor that the agent sends.
func (c *formerClient) message(m *generic.ModelDetail) *dynamicpb.Message {
	c.t.Helper()
	resp, err := c.meta.ProtoFileDescriptor(c.Context(), &generic.ProtoFileDescriptorRequest{FullProtoFileName: option(m, "protoFile")})
	if err != nil {
		c.t.Fatal(err)
	}
	files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: append(resp.FileImportDescriptors.File, resp.FileDescriptor)})
	if err != nil {
		c.t.Fatalf("%s: %v", m.ProtoName, err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(m.ProtoName))
	if err != nil {
		c.t.Fatal(err)
	}
	return dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
}

// typed returns a message as a message of the type that the client was compiled with.
func (c *formerClient) typed(m proto.Message) (*dynamicpb.Message, error) {
	d, err := c.compiled.FindDescriptorByName(m.ProtoReflect().Descriptor().FullName())
	if err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	typed := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
	return typed, protojson.Unmarshal(text, typed)
}

// nameFuncs are the functions of name templates.
var nameFuncs = template.FuncMap{
	"protoip": func(string) string { return "IPv4" }, // of the only address that fill sets
	"ipnet":   func(string) map[string]any { return map[string]any{"IP": "<invalid>", "MaskSize": 0} },
}

// name computes the name of an item by the template of its model.
func (c *formerClient) name(m *generic.ModelDetail, item *dynamicpb.Message) string {
	c.t.Helper()
	tmpl, err := template.New("name").Option("missingkey=error").Funcs(nameFuncs).Parse(option(m, "nameTemplate"))
	if err != nil {
		c.t.Fatal(err)
	}
	fields, list := map[string]any{}, item.Descriptor().Fields()
	for i := range list.Len() {
		f := list.Get(i)
		name := ""
		for part := range strings.SplitSeq(string(f.Name()), "_") {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
		fields[name] = item.Get(f).Interface()
		if f.Kind() == protoreflect.EnumKind && !f.IsList() {
			fields[name] = string(f.Enum().Values().ByNumber(item.Get(f).Enum()).Name())
		}
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, fields); err != nil {
		c.t.Errorf("%s: name: %v", m.ProtoName, err)
	}
	return b.String()
}

// fill sets all fields of a message, of each oneof the field of the given number, at any depth.
func fill(m protoreflect.Message, variant, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Fields().Get(variant%o.Fields().Len()) != f {
			continue
		}
		if f.Message() != nil && !f.IsMap() && depth == 0 {
			continue
		}
		switch {
		case f.IsMap():
			v := m.NewField(f)
			v.Map().Set(protoreflect.ValueOfString("k").MapKey(), sampleOf(f.MapValue(), v.Map().NewValue, variant, depth))
			m.Set(f, v)
		case f.IsList():
			v := m.NewField(f)
			v.List().Append(sampleOf(f, v.List().NewElement, variant, depth))
			m.Set(f, v)
		default:
			m.Set(f, sampleOf(f, func() protoreflect.Value { return m.NewField(f) }, variant, depth))
		}
	}
}

func sampleOf(f protoreflect.FieldDescriptor, empty func() protoreflect.Value, variant, depth int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.MessageKind:
		v := empty()
		fill(v.Message(), variant, depth-1)
		return v
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("10.0.0.1")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("b"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get((variant + 1) % values.Len()).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(7)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(7)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(7)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(7)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(7)
	}
	return protoreflect.ValueOfFloat64(7)
}

const depth = 6

// variants returns how many variants of fill set all fields.
func variants(d protoreflect.MessageDescriptor, depth int) int {
	n := 1
	for i := range d.Oneofs().Len() {
		n = max(n, d.Oneofs().Get(i).Fields().Len())
	}
	for i := range d.Fields().Len() {
		if m := d.Fields().Get(i).Message(); m != nil && depth > 0 {
			n = max(n, variants(m, depth-1))
		}
	}
	return n
}

// TestFormerClientsKnowTheirModels compares KnownModels with the table of the predecessor.
func TestFormerClientsKnowTheirModels(t *testing.T) {
	t.Parallel()
	c := startOfAllModels(t)
	table, err := os.ReadFile("testdata/former-models.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i, line := range strings.Split(strings.TrimRight(string(table), "\n"), "\n") {
		if column := strings.Split(line+"\t", "\t"); i > 0 && column[5] == "config" {
			want = append(want, strings.Join([]string{column[1], column[2], column[3], column[4], column[7]}, " "))
		}
	}
	for _, m := range c.models {
		got = append(got, strings.Join([]string{m.ProtoName, m.Spec.Module, m.Spec.Version, m.Spec.Type, option(m, "nameTemplate")}, " "))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) != 44 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFormerClientsConfigureAllModels sends items of all models, with all fields, as the generic
// client of the predecessor does, and reads them back by all calls.
func TestFormerClientsConfigureAllModels(t *testing.T) {
	t.Parallel()
	c := startOfAllModels(t)
	for _, m := range c.models {
		item := c.message(m)
		if _, err := c.typed(item); err != nil {
			t.Errorf("%s: the client cannot read what it wrote itself: %v", m.ProtoName, err)
			continue
		}
		for variant := range variants(item.Descriptor(), depth) {
			fill(item, variant, depth)
			typed, err := c.typed(item)
			if err != nil {
				t.Fatalf("%s: the client cannot read what it wrote itself: %v", m.ProtoName, err)
			}
			c.put(m, c.name(m, typed), item)
			c.wantItem(m, typed)
		}
	}
}

// put sends an item as UpdateItems does.
func (c *formerClient) put(m *generic.ModelDetail, name string, item proto.Message) {
	c.t.Helper()
	wire, err := proto.Marshal(item)
	if err != nil {
		c.t.Fatal(err)
	}
	id := &generic.Item_ID{Model: m.Spec.Module + "." + m.Spec.Type, Name: name}
	_, err = c.manager.SetConfig(c.Context(), &generic.SetConfigRequest{OverwriteAll: true, Updates: []*generic.UpdateItem{{Item: &generic.Item{
		Id: id, Data: &generic.Data{Union: &generic.Data_Any{Any: &anypb.Any{TypeUrl: "models.ligato.io/" + m.ProtoName, Value: wire}}}}}}})
	if err != nil {
		c.t.Errorf("%s %q: %v", m.ProtoName, name, err)
	}
}

// wantItem checks that the only item is want, as all calls return it.
func (c *formerClient) wantItem(m *generic.ModelDetail, want *dynamicpb.Message) {
	c.t.Helper()
	config, err := c.manager.GetConfig(c.withSecrets(), &generic.GetConfigRequest{})
	if err != nil || len(config.Items) != 1 {
		c.t.Errorf("%s: GetConfig: %v, %v", m.ProtoName, config, err)
		return
	}
	state, err := c.manager.DumpState(c.withSecrets(), &generic.DumpStateRequest{})
	if err != nil || len(state.Items) != 1 {
		c.t.Errorf("%s: DumpState: %v, %v", m.ProtoName, state, err)
		return
	}
	for call, it := range map[string]*generic.Item{"GetConfig": config.Items[0].Item, "DumpState": state.Items[0].Item} {
		got := want.New().Interface()
		if err := proto.Unmarshal(it.Data.GetAny().Value, got); err != nil || !proto.Equal(got, want) {
			c.t.Errorf("%s of %s: %v\ngot  %v\nwant %v", call, m.ProtoName, err, got, want)
		}
	}
}

// TestFormerClientsReadAllModels sets all fields that the agent knows, of all models, and checks
// that a client of the predecessor gets nothing that it does not know.
func TestFormerClientsReadAllModels(t *testing.T) {
	t.Parallel()
	c := startOfAllModels(t)
	known := map[string]bool{}
	for _, m := range c.models {
		known[m.Spec.Module+"."+m.Spec.Type] = true
	}
	all := 0
	for _, m := range allmodels.MustSet().All() {
		all = max(all, variants(m.NewInstance().ProtoReflect().Descriptor(), depth))
	}
	for variant := range all {
		items := map[string]*generic.UpdateItem{} // by key
		for _, m := range allmodels.MustSet().All() {
			item := m.NewInstance()
			fill(item.ProtoReflect(), variant, depth)
			key, err := m.KeyOf(item)
			if err != nil {
				t.Fatal(err)
			}
			items[key] = put(t, m.Spec().ModelName(), "", item)
		}
		if _, err := c.manager.SetConfig(c.announced(), &generic.SetConfigRequest{OverwriteAll: true, Updates: slices.Collect(maps.Values(items))}); err != nil {
			t.Fatal(err)
		}
		c.readAll(known)
	}
}

// readAll makes all calls that return items.
func (c *formerClient) readAll(known map[string]bool) {
	c.t.Helper()
	check := func(call string, m proto.Message) {
		c.t.Helper()
		if where := unknownTo(c.t, c.compiled, m); where != "" {
			c.t.Errorf("%s: a client of the predecessor does not know all fields of %s", call, where)
		}
	}
	cfg, err := c.config.Get(c.Context(), &pb.GetRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	check("Get", cfg)
	dump, err := c.config.Dump(c.Context(), &pb.DumpRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	check("Dump", dump)
	checkItem := func(call string, it *generic.Item) {
		c.t.Helper()
		if !known[it.Id.Model] {
			c.t.Errorf("%s: a client of the predecessor does not know %s", call, it.Id.Model)
			return
		}
		if m, err := it.GetData().GetAny().UnmarshalNew(); it.Data != nil && err != nil {
			c.t.Errorf("%s: %v", call, err)
		} else if it.Data != nil {
			check(call, m)
		}
	}
	config, err := c.manager.GetConfig(c.Context(), &generic.GetConfigRequest{})
	if err != nil || len(config.Items) < 30 {
		c.t.Fatalf("%d items, %v", len(config.GetItems()), err)
	}
	for _, it := range config.Items {
		checkItem("GetConfig", it.Item)
	}
	state, err := c.manager.DumpState(c.Context(), &generic.DumpStateRequest{})
	if err != nil || len(state.Items) != len(config.Items) {
		c.t.Fatalf("DumpState has %d items, GetConfig %d, %v", len(state.GetItems()), len(config.Items), err)
	}
	for _, it := range state.Items {
		checkItem("DumpState", it.Item)
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	stream, err := c.manager.Subscribe(ctx, &generic.SubscribeRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil || len(resp.Notifications) < len(config.Items) {
		c.t.Fatalf("Subscribe: %d items, %v", len(resp.GetNotifications()), err)
	}
	for _, n := range resp.Notifications {
		checkItem("Subscribe", n.Item)
	}
}

// reflected returns the file of a message by both versions of the reflection service.
func reflected(ctx context.Context, t *testing.T, conn *rpc.ClientConn, name string) (found []*descriptorpb.FileDescriptorProto) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v1, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = v1.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}) // Recv reports it
	resp, err := v1.Recv()
	if err != nil {
		t.Fatal(err)
	}
	alpha, err := grpc_reflection_v1alpha.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = alpha.Send(&grpc_reflection_v1alpha.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1alpha.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}) // Recv reports it
	other, err := alpha.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for _, wire := range append(resp.GetFileDescriptorResponse().GetFileDescriptorProto(), other.GetFileDescriptorResponse().GetFileDescriptorProto()...) {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(wire, file); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, file.GetPackage()+".") {
			found = append(found, file)
		}
	}
	return found
}

// TestReflectionForFormerClients checks that reflection shows a client of the predecessor its
// schema, and other clients the whole schema.
func TestReflectionForFormerClients(t *testing.T) {
	t.Parallel()
	w := start(t)
	has := func(ctx context.Context, message, field string) (n int) {
		for _, f := range reflected(ctx, t, w.Conn, message) {
			for _, m := range f.MessageType {
				if f.GetPackage()+"."+m.GetName() == message &&
					slices.ContainsFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == field }) {
					n++
				}
			}
		}
		return n
	}
	for _, test := range []struct {
		ctx   context.Context
		field string
		want  int
	}{
		{w.Context(), "next_hop_addr", 2}, {w.Context(), "bfd", 0},
		{w.announced(), "next_hop_addr", 2}, {w.announced(), "bfd", 2},
	} {
		if got := has(test.ctx, "ligato.vpp.l3.Route", test.field); got != test.want {
			t.Errorf("%d descriptors of a route have the field %s, want %d", got, test.field, test.want)
		}
	}
	// What the predecessor lacks is complete.
	if got := has(w.Context(), "ligato.vpp.bfd.Session", "peer_address"); got != 2 {
		t.Errorf("%d descriptors of a BFD session, want 2", got)
	}
	file, err := w.meta.ProtoFileDescriptor(w.announced(), &generic.ProtoFileDescriptorRequest{FullProtoFileName: "ligato/vpp/l3/route.proto"})
	if err != nil || !strings.Contains(protojson.Format(file.FileDescriptor), `"bfd"`) {
		t.Errorf("a client that announces itself gets %v, %v", file, err)
	}
}
