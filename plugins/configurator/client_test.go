package configurator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	stn "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
)

// announced is the context of a client that knows our schema.
func (w *world) announced() context.Context {
	return metadata.AppendToOutgoingContext(w.Context(), configurator.ClientMetadata, "1")
}

// formerSchema returns the descriptors of the predecessor: ours, as far as its table
// of messages and fields has them.
func formerSchema(t *testing.T) *protoregistry.Files {
	t.Helper()
	table, err := os.ReadFile("../../proto/testdata/schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	had, scope := map[string]bool{}, make([]string, 10) // the message at each depth
	line := regexp.MustCompile(`^( *)(?:message (\S+)|\d+ (\w+): .*|enum (\S+) \{ (.*) \})\n$`)
	for text := range strings.Lines(string(table)) {
		m := line.FindStringSubmatch(text)
		switch {
		case m == nil:
		case m[4] != "":
			for value := range strings.SplitSeq(m[5], ", ") {
				had[m[4]+":"+value] = true
			}
		case m[2] != "":
			scope[len(m[1])/2] = m[2]
			had[m[2]] = true
		default:
			had[scope[len(m[1])/2-1]+"."+m[3]] = true
		}
	}
	if len(had) < 500 {
		t.Fatalf("the table has only %d messages and fields", len(had))
	}
	set := &descriptorpb.FileDescriptorSet{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		file := protodesc.ToFileDescriptorProto(f)
		if strings.HasPrefix(f.Path(), "ligato/") {
			file.MessageType = prune(string(f.Package()), file.MessageType, had)
			file.EnumType = pruneEnums(string(f.Package()), file.EnumType, had)
			file.Extension = slices.DeleteFunc(file.Extension, func(x *descriptorpb.FieldDescriptorProto) bool {
				return x.GetTypeName() != "" && !had[strings.TrimPrefix(x.GetTypeName(), ".")]
			})
		}
		set.File = append(set.File, file)
		return true
	})
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func prune(scope string, messages []*descriptorpb.DescriptorProto, had map[string]bool) (left []*descriptorpb.DescriptorProto) {
	for _, m := range messages {
		name := scope + "." + m.GetName()
		if !had[name] && !m.GetOptions().GetMapEntry() {
			continue
		}
		m.NestedType = prune(name, m.NestedType, had)
		m.EnumType = pruneEnums(name, m.EnumType, had)
		if !m.GetOptions().GetMapEntry() {
			m.Field = slices.DeleteFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return !had[name+"."+f.GetName()] })
		}
		left = append(left, m)
	}
	return left
}

func pruneEnums(scope string, enums []*descriptorpb.EnumDescriptorProto, had map[string]bool) []*descriptorpb.EnumDescriptorProto {
	return slices.DeleteFunc(enums, func(e *descriptorpb.EnumDescriptorProto) bool {
		e.Value = slices.DeleteFunc(e.Value, func(v *descriptorpb.EnumValueDescriptorProto) bool {
			return !had[fmt.Sprintf("%s.%s:%s=%d", scope, e.GetName(), v.GetName(), v.GetNumber())]
		})
		return len(e.Value) == 0
	})
}

// unknownTo returns the full name of a message within m that has fields which the
// former schema lacks; "" if there is none.
func unknownTo(t *testing.T, schema *protoregistry.Files, m proto.Message) string {
	t.Helper()
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	d, err := schema.FindDescriptorByName(m.ProtoReflect().Descriptor().FullName())
	if err != nil {
		return err.Error()
	}
	old := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
	if err := proto.Unmarshal(wire, old); err != nil {
		t.Fatal(err)
	}
	return unknownIn(old)
}

func unknownIn(m protoreflect.Message) (where string) {
	if len(m.GetUnknown()) > 0 {
		return string(m.Descriptor().FullName())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := 0; i < v.List().Len() && where == ""; i++ {
				where = unknownIn(v.List().Get(i).Message())
			}
		default:
			where = unknownIn(v.Message())
		}
		return where == ""
	})
	return where
}

// TestRepliesToFormerClients checks that fields and models that the predecessor lacks do
// not reach its clients, which fail on them, and that the trailer names them.
func TestRepliesToFormerClients(t *testing.T) {
	t.Parallel()
	w, schema := start(t), formerSchema(t)
	cfg := withInterfaces(iface("a", 1))
	cfg.VppConfig.Vrrps = []*l3.VRRPEntry{{Interface: "a", VrId: 1, IpAddresses: []string{"10.0.0.1"}, UnicastPeers: []string{"10.0.0.2"}}}
	cfg.VppConfig.Nat44Global = &nat.Nat44Global{Timeouts: &nat.Nat44Global_Timeouts{Udp: 7}}
	cfg.VppConfig.StnRules = []*stn.Rule{{Interface: "a", IpAddress: "10.0.0.1"}}
	if unknownTo(t, schema, cfg) == "" {
		t.Fatal("the former schema has all fields: the test is useless")
	}
	if _, err := w.config.Update(w.Context(), &pb.UpdateRequest{Update: cfg}); rpcCode(err) != codes.FailedPrecondition {
		t.Fatalf("got %v: expected an error because of UNIMPLEMENTED items", err)
	}
	var trailer metadata.MD
	got, err := w.config.Get(w.Context(), &pb.GetRequest{}, rpc.Trailer(&trailer))
	if err != nil {
		t.Fatal(err)
	}
	if where := unknownTo(t, schema, got); where != "" {
		t.Errorf("Get: a client of the predecessor does not know all fields of %s", where)
	}
	for _, name := range []string{"ligato.vpp.ConfigData.vrrps", "ligato.vpp.nat.Nat44Global.timeouts", "ligato.vpp.ConfigData.stn_rules"} {
		if !slices.Contains(trailer.Get(configurator.OmittedTrailer), name) {
			t.Errorf("the trailer %v lacks %s", trailer, name)
		}
	}
	items, err := w.manager.GetConfig(w.Context(), &generic.GetConfigRequest{})
	if err != nil || len(items.Items) != 4 {
		t.Fatalf("got %v, %v", items, err)
	}
	for _, it := range items.Items {
		m, err := it.Item.Data.GetAny().UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		if where := unknownTo(t, schema, m); where != "" {
			t.Errorf("GetConfig: a client of the predecessor does not know all fields of %s", where)
		}
	}
	models, err := w.meta.KnownModels(w.Context(), &generic.KnownModelsRequest{Class: "config"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models.KnownModels {
		d, err := schema.FindDescriptorByName(protoreflect.FullName(m.ProtoName))
		if err != nil {
			t.Errorf("KnownModels: a client of the predecessor does not know %s", m.ProtoName)
			continue
		}
		for _, o := range m.Options {
			if o.Key == "nameTemplate" {
				wantFields(t, d.(protoreflect.MessageDescriptor), o.Values[0])
			}
		}
	}
	if got, err = w.config.Get(w.announced(), &pb.GetRequest{}); err != nil || len(got.Config.VppConfig.Vrrps[0].UnicastPeers) != 1 {
		t.Errorf("a client that announces itself gets %v, %v", got, err)
	}
}

// wantFields checks that a message has the fields that the template of its names uses.
func wantFields(t *testing.T, d protoreflect.MessageDescriptor, template string) {
	t.Helper()
	had := map[string]bool{"IP": true, "MaskSize": true} // of the result of the function ipnet
	for i := range d.Fields().Len() {
		had[strings.ReplaceAll(string(d.Fields().Get(i).Name()), "_", "")] = true
	}
	for _, m := range regexp.MustCompile(`\.([A-Z]\w*)`).FindAllStringSubmatch(template, -1) {
		if !had[m[1]] && !had[strings.ToLower(m[1])] {
			t.Errorf("the name template %s of %s has the field %s, which the predecessor lacks", template, d.FullName(), m[1])
		}
	}
}

// TestFormerClientsLackItemsOfOtherKeys checks that clients of the predecessor do not get a
// route of another table as a second route of the main table: they could not send back what
// they read.
func TestFormerClientsLackItemsOfOtherKeys(t *testing.T) {
	t.Parallel()
	w := start(t)
	cfg := &pb.Config{LinuxConfig: &linux.ConfigData{}}
	for _, table := range []uint32{0, 77} {
		cfg.LinuxConfig.Routes = append(cfg.LinuxConfig.Routes, &linuxl3.Route{DstNetwork: "10.7.0.0/16", OutgoingInterface: "a", Table: table})
	}
	if _, err := w.config.Update(w.Context(), &pb.UpdateRequest{Update: cfg}); rpcCode(err) != codes.FailedPrecondition {
		t.Fatalf("got %v: expected an error because of UNIMPLEMENTED items", err)
	}
	var trailer metadata.MD
	got, err := w.config.Get(w.Context(), &pb.GetRequest{}, rpc.Trailer(&trailer))
	if routes := got.GetConfig().GetLinuxConfig().GetRoutes(); err != nil || len(routes) != 1 || !proto.Equal(routes[0], cfg.LinuxConfig.Routes[0]) {
		t.Errorf("got %v, %v; want the route of the main table", routes, err)
	}
	if !slices.Contains(trailer.Get(configurator.OmittedTrailer), "ligato.linux.l3.Route.table") {
		t.Errorf("the trailer %v does not say what is left out", trailer)
	}
	items, err := w.manager.GetConfig(w.Context(), &generic.GetConfigRequest{})
	if err != nil || len(items.Items) != 1 {
		t.Errorf("got %v, %v; want one item", items, err)
	}
	if items, err = w.manager.GetConfig(w.announced(), &generic.GetConfigRequest{}); err != nil || len(items.Items) != 2 {
		t.Errorf("a client that announces itself gets %v, %v", items, err)
	}
}

// TestFormerClientsGetErrors checks that SetConfig fails for clients of the predecessor if
// an item does, although the other items take effect.
func TestFormerClientsGetErrors(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("b"), Times: 1, Err: errors.New("no room")})
	updates := []*generic.UpdateItem{put(t, ifModel, "a", iface("a", 1)), put(t, ifModel, "b", iface("b", 2))}
	_, err := w.manager.SetConfig(w.Context(), &generic.SetConfigRequest{Updates: updates})
	results := wantError(t, err, codes.FailedPrecondition, "KeyErrors: ["+key("b")+" (CREATE): no room]")
	if len(results) != 1 || results[0].Key != key("b") {
		t.Errorf("details %v", results)
	}
	w.wantMTU("a", 1)
	_, err = w.manager.SetConfig(w.Context(), &generic.SetConfigRequest{Updates: []*generic.UpdateItem{put(t, "vpp.vrf-table", "", &l3.VrfTable{Id: 7})}})
	wantError(t, err, codes.FailedPrecondition, "accepted, but 1 value is UNIMPLEMENTED: config/vpp/v2/vrf-table/id/7/protocol/IPV4: no plugin of this agent handles it")

	// The number of the transaction is the last result.
	for ctx, want := range map[context.Context]int{w.Context(): 2, w.announced(): 1} {
		resp, err := w.manager.SetConfig(ctx, &generic.SetConfigRequest{Updates: []*generic.UpdateItem{put(t, ifModel, "c", iface("c", 3))}})
		if err != nil || len(resp.Results) != want {
			t.Fatalf("%v, %v", resp, err)
		}
		if last := resp.Results[want-1]; want == 2 && (last.Key != "seqnum" || last.Status.Status != "NONEXISTENT" || last.Status.Message == "") {
			t.Errorf("the last result is %v", last)
		}
	}
}
